"""Starts and stops the one Spark session of a process.

PySpark allows one Spark context at a time, so this module holds it: `start_session` provides what Spark needs, starts Java and
connects, `stop_session` ends both and removes what they left. Everything that Spark prints goes to its log file.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.spark.gateway import Gateway, start_gateway
from headrace.spark.runtime.cache import Progress, silent
from headrace.spark.runtime.class_data import archive_options
from headrace.spark.runtime.errors import RuntimeUnavailable
from headrace.spark.runtime.installation import Installation, prepare
from headrace.spark.scratch import Scratch
from headrace.spark.settings import SessionSettings, spark_configuration

if TYPE_CHECKING:
    import subprocess

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

__all__ = ["SessionSettings", "java_process", "log_file", "start_session", "stop_session"]

_LOG_FILE_BYTES = "20MB"
_LOG_FILES = 3

# A few hundred megabytes of which a hundred live: the heap starts small and grows when it must.
JAVA_TUNING = (
    "-Xms64m",
    # Or a start would stop several times to look for classes that nobody needs any more.
    "-XX:MetaspaceSize=256m",
    # On a small heap G1 marks nearly all the time; bench/README.md has what a windowed count cost with both.
    "-XX:+UseParallelGC",
    # A process that has run out of memory must end, or its queries would hang with it; whoever supervises it starts another.
    "-XX:+ExitOnOutOfMemoryError",
)


@dataclass(frozen=True)
class _Running:
    gateway: Gateway
    scratch: Scratch
    log_file: Path


_running: _Running | None = None
_lock = threading.Lock()


def start_session(
    settings: SessionSettings | None = None,
    progress: Progress | None = None,
    installation: Installation | None = None,
) -> SparkSession:
    """Start Spark as the settings say. Without an installation this provides one: the first time on a machine it fetches and compiles."""
    global _running
    settings = settings or SessionSettings()
    say = progress or silent
    with _lock:
        _refuse_a_second()
        installation = installation or prepare(say)
        say("starting Spark")
        scratch = Scratch()
        try:
            _running, session = _start(installation, settings, scratch)
        except BaseException:
            scratch.remove()
            raise
    atexit.register(stop_session)
    return session


def stop_session(timeout_s: float = 20.0) -> None:
    """Stop queries, context and Java, which is killed when that takes longer. Does nothing when no session runs."""
    global _running
    with _lock:
        if _running is None:
            return
        running, _running = _running, None
        try:
            _disconnect(running.gateway)
        finally:
            running.gateway.stop(timeout_s)
            running.scratch.remove()
    atexit.unregister(stop_session)


def java_process() -> subprocess.Popen[bytes] | None:
    """The process behind the session, to see whether it lives."""
    return _running.gateway.process if _running else None


def log_file() -> Path | None:
    """Where the running session's Spark writes what it has to say."""
    return _running.log_file if _running else None


def _refuse_a_second() -> None:
    from pyspark import SparkContext

    if _running is not None or SparkContext._active_spark_context is not None:
        raise RuntimeUnavailable(
            "This process has a Spark session already, and PySpark allows one",
            "Use that one, or end it first with `headrace.spark.session.stop_session()`",
        )


def _start(installation: Installation, settings: SessionSettings, scratch: Scratch) -> tuple[_Running, SparkSession]:
    log = settings.log_file or scratch.path / "spark.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    configuration = spark_configuration(settings, scratch.path, installation.sent, sys.executable)
    gateway = start_gateway(
        installation,
        configuration,
        _java_options(installation, settings, scratch.path, _logging(settings, scratch.path, log)),
        scratch=scratch.path,
        output=log.with_suffix(".out"),
    )
    try:
        session = _connect(gateway, configuration)
    except BaseException:
        _disconnect(gateway)
        gateway.stop()
        raise
    return _Running(gateway, scratch, log), session


def _java_options(installation: Installation, settings: SessionSettings, scratch: Path, logging: Path) -> list[str]:
    return [
        *JAVA_TUNING,
        f"-Xmx{settings.driver_memory}",
        f"-Dlog4j2.configurationFile={logging.as_uri()}",
        f"-Djava.io.tmpdir={scratch / 'java'}",
        *(archive_options(installation) if settings.fast_start else ()),
        *settings.java_options,
    ]


def _logging(settings: SessionSettings, scratch: Path, log: Path) -> Path:
    """Log4j's configuration: all into one file that is rolled when it is large, nothing onto the terminal."""
    lines = {
        "rootLogger.level": settings.log_level.lower(),
        "rootLogger.appenderRef.file.ref": "file",
        "appender.file.type": "RollingFile",
        "appender.file.name": "file",
        "appender.file.fileName": str(log.absolute()),
        "appender.file.filePattern": f"{log.absolute()}.%i",
        "appender.file.layout.type": "PatternLayout",
        "appender.file.layout.pattern": "%d{yyyy-MM-dd HH:mm:ss.SSS} %p %c{1}: %m%n%ex",
        "appender.file.policies.type": "SizeBasedTriggeringPolicy",
        "appender.file.policies.size": _LOG_FILE_BYTES,
        "appender.file.strategy.type": "DefaultRolloverStrategy",
        "appender.file.strategy.max": str(_LOG_FILES),
    }
    path = scratch / "log4j2.properties"
    path.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
    return path


def _connect(gateway: Gateway, configuration: dict[str, str]) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    _keep_pyspark_off_the_terminal()
    with _own_interrupts():
        bridge = _bridge(gateway)
        SparkContext._ensure_initialized(gateway=bridge)
        chosen = SparkConf(loadDefaults=True, _jvm=SparkContext._jvm).setAll(list(configuration.items()))
        context: SparkContext = SparkContext(conf=chosen, gateway=bridge)
    # PySpark would ask the environment.
    context.pythonExec = configuration.get("spark.pyspark.python", "python3")
    return SparkSession(context)


def _bridge(gateway: Gateway) -> Any:
    """PySpark's end of the connection. It takes port and secret only from the environment, where they shall not stay."""
    from pyspark.java_gateway import launch_gateway

    place = {"PYSPARK_GATEWAY_PORT": str(gateway.port), "PYSPARK_GATEWAY_SECRET": gateway.secret}
    os.environ.update(place)
    try:
        return launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        for name in place:
            os.environ.pop(name, None)


def _keep_pyspark_off_the_terminal() -> None:
    """PySpark prints errors that it also raises, as JSON with Java's stack trace. Raising is enough."""
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """A Spark context takes Ctrl-C for itself. What Ctrl-C means is the program's to say."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _disconnect(gateway: Gateway) -> None:
    """Stop the context, if Java still lives, and make PySpark forget the gateway, so that the next session gets a new one."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    try:
        if context is not None:
            if gateway.process.poll() is not None:
                # There is nobody left to be told.
                context._jsc = None
            context.stop()
    finally:
        bridge = SparkContext._gateway
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        SparkContext._gateway = SparkContext._jvm = None
        if bridge is not None:
            bridge.shutdown()
