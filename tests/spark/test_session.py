"""The session that all Spark tests share, and sessions of programs that end in every way."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from headrace.spark.runtime.errors import RuntimeUnavailable
from headrace.spark.scratch import Scratch, remove_abandoned
from headrace.spark.session import java_process, log_file, start_session
from headrace.testing import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_session_computes(spark: SparkSession) -> None:
    assert spark.range(10).selectExpr("sum(id)").collect()[0][0] == 45


def test_a_bad_value_gives_null_and_stops_nothing(spark: SparkSession) -> None:
    row = spark.sql("SELECT CAST('x' AS INT), 1 / 0, CAST(9223372036854775807 AS BIGINT) + 1 IS NOT NULL").collect()[0]
    assert tuple(row) == (None, None, True)


def test_python_functions_find_the_modules_of_the_program(spark: SparkSession) -> None:
    from pyspark.sql.functions import udf

    from tests.spark.session_functions import shout

    rows = (
        spark.createDataFrame([("a",), ("b",)], "word STRING")
        .select(udf(shout, "string", useArrow=False)("word"))
        .collect()
    )
    assert [row[0] for row in rows] == ["A!", "B!"]


def test_files_get_their_permissions_without_another_process(spark: SparkSession, tmp_path: Path) -> None:
    jvm = spark._jvm
    hadoop = jvm.org.apache.hadoop.fs
    path = hadoop.Path(str(tmp_path / "file"))
    files = path.getFileSystem(spark._jsc.hadoopConfiguration())
    assert files.getClass().getName() == "headrace.NoForkFileSystem"
    files.create(path).close()
    for mode in (0o640, 0o755, 0o001, 0o700):
        files.setPermission(path, hadoop.permission.FsPermission(f"{mode:04o}"))
        assert (tmp_path / "file").stat().st_mode & 0o777 == mode
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_streaming_query_keeps_its_checkpoint_where_it_was_told(spark: SparkSession, tmp_path: Path) -> None:
    counts = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load().groupBy().count()
    writer = counts.writeStream.format("memory").queryName("counted_rows").outputMode("update")
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(60)
    finally:
        query.stop()
    assert spark.table("counted_rows").collect()[0][0] == 10
    assert {"offsets", "commits", "state", "metadata"} <= {path.name for path in tmp_path.iterdir()}
    assert not list(tmp_path.rglob("*.crc"))


def test_what_spark_has_to_say_goes_to_its_log(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException):
        spark.range(1).select("nothing")
    spark._jvm.org.slf4j.LoggerFactory.getLogger("test").warn("a word of warning")
    log = log_file()
    assert log is not None
    wait_until(lambda: "a word of warning" in log.read_text())
    assert capfd.readouterr() == ("", "")
    # What Java and Python workers print. An archive of class data that does not fit would be named here.
    printed = log.with_suffix(".out").read_text()
    assert "[cds]" not in printed
    assert "archive" not in printed


def test_nothing_listens_beyond_this_machine(spark: SparkSession) -> None:
    process = java_process()
    assert process is not None
    listening = [one for one in psutil.Process(process.pid).net_connections("tcp") if one.status == psutil.CONN_LISTEN]
    assert listening
    assert {one.laddr.ip.removeprefix("::ffff:") for one in listening} <= {"127.0.0.1", "::1"}


def test_a_process_has_one_session(spark: SparkSession) -> None:
    with pytest.raises(RuntimeUnavailable, match="has a Spark session already"):
        start_session()


def test_the_secret_of_the_gateway_does_not_stay_in_the_environment(spark: SparkSession) -> None:
    assert not [name for name in os.environ if name.startswith("PYSPARK_GATEWAY")]


def test_ctrl_c_stays_the_programs_own(spark: SparkSession) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert logging.getLogger("DataFrameQueryContextLogger").disabled


PROGRAM = """
import sys
from headrace.spark.session import SessionSettings, java_process, start_session, stop_session
def start():
    return start_session(SessionSettings(extra={"spark.hadoop.secret": "hunter2"})).version
assert start() == "4.3.0"
java_process().kill()
java_process().wait()
stop_session()
assert java_process() is None
assert start() == "4.3.0"
print(java_process().pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.timeout(300)
def test_java_and_its_program_may_be_killed(tmp_path: Path) -> None:
    """A killed Java is replaced by another; a killed program leaves no Java, and its files go with the next session."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, **pipes)
    try:
        assert program.stdout is not None and program.stderr is not None
        line = program.stdout.readline()
        assert line, program.stderr.read().decode()
        java = psutil.Process(int(line))
        assert "hunter2" not in " ".join(java.cmdline())
    finally:
        program.kill()
        program.communicate()
    wait_until(lambda: not java.is_running() or java.status() == psutil.STATUS_ZOMBIE, timeout_s=30)
    assert len(list(tmp_path.glob("headrace-session-*"))) == 1


def test_directories_of_killed_sessions_are_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    living = Scratch()
    killed = tmp_path / "headrace-session-killed"
    killed.mkdir()
    (killed / ".lock").touch()
    remove_abandoned()
    assert living.path.exists() and not killed.exists()
    living.remove()
    assert not list(tmp_path.iterdir())
