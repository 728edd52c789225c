"""What can be chosen about a Spark session, and the configuration that follows from it. Pure; starts nothing.

The tuning is for many small streaming queries in one process: a handful of tasks each, most of them waiting for input. Spark's own
defaults are for large batch jobs, and make the first result of a query take half a minute.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_STREAMING = "spark.sql.streaming"
_ROCKSDB = f"{_STREAMING}.stateStore.rocksdb"

# Decisions that no setting changes; `extra` of the settings can still overrule each.
TUNING = {
    # Overflow, a bad cast or a division by zero gives NULL: a record must not stop a pipeline.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Columns are named exactly, the last of equal keys of a map stays, and `${…}` in a text is a text.
    "spark.sql.caseSensitive": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.variable.substitute": "false",
    "spark.sql.extensions": "headrace.SqlFunctions,headrace.StreamingRules",
    # A streaming plan is made once; adapting it again for each batch costs more than the batch.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.scheduler.mode": "FAIR",
    "spark.locality.wait": "0",
    # Checkpoints: one small file at a time, written in this process.
    "spark.hadoop.fs.file.impl": "headrace.NoForkFileSystem",
    "spark.hadoop.fs.file.impl.disable.cache": "false",
    f"{_STREAMING}.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    f"{_STREAMING}.checkpoint.fileChecksum.enabled": "false",
    f"{_STREAMING}.stateStore.commitValidation.enabled": "false",
    f"{_STREAMING}.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{_ROCKSDB}.changelogCheckpointing.enabled": "true",
    # Real-time mode hands rows through a shuffle when a buffer is full, or after this time; Spark's 50 ms would be most of an aggregate's latency.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "10",
    # The pages that Spark draws for people are off, and what it would remember for them is short.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.worker.ui.retainedExecutors": "10",
}


@dataclass(frozen=True)
class SessionSettings:
    """A session as someone wants it. Every field has a default that suits a laptop."""

    app_name: str = "headrace"
    master: str = "local[64,4]"
    """Real-time mode keeps a slot for every partition of every query; most of them wait, so 64 suit two cores. 4 is tries per task."""
    driver_memory: str = "512m"
    shuffle_partitions: int = 1
    """Of queries that say nothing themselves. Fixed in a query's checkpoint once it has started."""
    checkpoint_dir: Path | str | None = None
    """Where queries keep offsets and state; a path or a URL that all executors reach. None: a temporary directory."""
    log_file: Path | None = None
    """Takes what Spark has to say. None: a file in the session's temporary directory."""
    log_level: str = "WARN"
    no_data_batches: bool = False
    """Whether a micro-batch runs when only the watermark has moved: final results come sooner, at the price of one more batch each."""
    state_memory_mb: int = 256
    """What all state stores of a process together may keep in memory outside Java's heap."""
    java_options: tuple[str, ...] = ()
    """For the driver's Java, after ours."""
    fast_start: bool = True
    """Whether to use the archive of class data that `headrace setup` makes."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Spark's own settings; they have the last word."""

    @property
    def is_local(self) -> bool:
        """Whether the tasks run in the driver's own process."""
        return self.master.startswith("local")


def spark_configuration(
    settings: SessionSettings, scratch: Path, jars: tuple[Path, ...], python: str
) -> dict[str, str]:
    """The whole configuration of a session whose temporary files go to `scratch`."""
    checkpoints = settings.checkpoint_dir or scratch / "checkpoints"
    chosen = {
        "spark.app.name": settings.app_name,
        "spark.master": settings.master,
        "spark.driver.memory": settings.driver_memory,
        "spark.default.parallelism": str(os.cpu_count() or 1),
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        f"{_STREAMING}.checkpointLocation": str(checkpoints),
        f"{_STREAMING}.noDataMicroBatches.enabled": _word(settings.no_data_batches),
        f"{_ROCKSDB}.boundedMemoryUsage": "true",
        f"{_ROCKSDB}.maxMemoryUsageMB": str(settings.state_memory_mb),
    }
    place = _local(scratch, python) if settings.is_local else _cluster(jars)
    return {**TUNING, **chosen, **place, **settings.extra}


def _local(scratch: Path, python: str) -> dict[str, str]:
    """Everything in one process: nothing listens beyond this machine, and the jars are on the class path already."""
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch / "local"),
        "spark.pyspark.python": python,
        "spark.pyspark.driver.python": python,
    }


def _cluster(jars: tuple[Path, ...]) -> dict[str, str]:
    """Executors elsewhere: they are sent the jars, and run the Python that they have."""
    return {"spark.jars": ",".join(path.as_uri() for path in jars)}


def _word(value: bool) -> str:
    return "true" if value else "false"
