"""What the supervisor needs of Spark, and the Spark that fulfils it. Starting takes seconds, so nothing here is imported before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from headrace.engine.record import PipelineRecord
from headrace.engine.settings import EngineSettings


class Running(Protocol):
    """A pipeline whose queries run."""

    def stop(self) -> None: ...

    def progress(self) -> Mapping[str, Any]: ...

    def exception(self) -> Exception | None:
        """Why it ended by itself, if it did."""
        ...

    def warnings(self) -> Mapping[str, str]:
        """What its owner should know, by what it is about; asked now and then."""
        ...


class Runner(Protocol):
    """Runs plans."""

    def open(self) -> None:
        """Get ready; takes seconds and may raise."""
        ...

    def run(self, record: PipelineRecord) -> Running: ...

    def alive(self) -> bool:
        """False once no pipeline can run any more; `close` and `open` are the way back."""
        ...

    def forget(self, record: PipelineRecord) -> None:
        """Remove the pipeline's state: checkpoints and internal topics."""
        ...

    def close(self) -> None: ...


class SparkRunner:
    """One Spark session for all pipelines of the engine."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._spark: Any = None

    def open(self) -> None:
        from headrace.spark.session import start_session

        self._spark = start_session(self._settings.session())

    def run(self, record: PipelineRecord) -> Running:
        from headrace.spark import pipeline

        running: Running = pipeline.start(self._spark, record.plan, self._settings.pipeline(record))
        return running

    def alive(self) -> bool:
        from headrace.spark.session import java_process

        process = java_process()
        return self._spark is not None and process is not None and process.poll() is None

    def forget(self, record: PipelineRecord) -> None:
        from headrace.spark import pipeline

        pipeline.reset(record.plan, self._settings.pipeline(record))

    def close(self) -> None:
        from headrace.spark.session import stop_session

        if self._spark is not None:
            self._spark = None
            stop_session()


def checkpoint_dir(root: str, record: PipelineRecord) -> str:
    """Where a pipeline's checkpoints are: another place after each reset. `root` may be a URL of a shared file system."""
    below = f"epoch-{record.epoch}"
    return f"{root.rstrip('/')}/{below}" if "://" in root else str(Path(root) / below)
