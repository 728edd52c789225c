"""What follows from a session's settings, without starting one."""

from __future__ import annotations

from pathlib import Path

from headrace.spark.settings import SessionSettings, spark_configuration

JARS = (Path("/cache/a.jar"), Path("/cache/b.jar"))


def configuration(**chosen: object) -> dict[str, str]:
    return spark_configuration(SessionSettings(**chosen), Path("/scratch"), JARS, "/bin/python")  # type: ignore[arg-type]


def test_on_this_machine_nothing_is_sent_and_nothing_listens_elsewhere() -> None:
    local = configuration()
    assert local["spark.driver.bindAddress"] == "127.0.0.1"
    assert local["spark.local.dir"] == "/scratch/local"
    assert local["spark.pyspark.python"] == "/bin/python"
    assert local["spark.sql.streaming.checkpointLocation"] == "/scratch/checkpoints"
    assert "spark.jars" not in local


def test_a_cluster_is_sent_the_jars_and_has_its_own_addresses_and_python() -> None:
    cluster = configuration(master="spark://host:7077")
    assert cluster["spark.jars"] == "file:///cache/a.jar,file:///cache/b.jar"
    for name in ("spark.driver.bindAddress", "spark.driver.host", "spark.local.dir", "spark.pyspark.python"):
        assert name not in cluster


def test_settings_become_sparks_own() -> None:
    chosen = configuration(shuffle_partitions=3, checkpoint_dir="s3a://bucket/x", no_data_batches=True)
    assert chosen["spark.sql.shuffle.partitions"] == "3"
    assert chosen["spark.sql.streaming.checkpointLocation"] == "s3a://bucket/x"
    assert chosen["spark.sql.streaming.noDataMicroBatches.enabled"] == "true"


def test_extra_has_the_last_word() -> None:
    assert configuration(extra={"spark.ui.enabled": "true", "spark.x": "y"}).items() >= {
        ("spark.ui.enabled", "true"),
        ("spark.x", "y"),
    }
