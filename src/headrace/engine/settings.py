"""The engine's settings, and what they are for Spark and for one pipeline."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.plan.engine import EngineError

if TYPE_CHECKING:
    from headrace.engine.record import PipelineRecord

DEFAULT_PORT = 8084
DEFAULT_DATA_DIR = "headrace-engine"

# What a submission may set for its own pipeline: name → (what it is, least, most).
PIPELINE_SETTINGS: Mapping[str, tuple[str, int, int]] = {
    "trigger.ms": ("time between micro-batches", 0, 3_600_000),
    "real.time.batch.ms": ("length of a batch in real-time mode, after which positions are kept", 5_000, 3_600_000),
    "shuffle.partitions": ("partitions of the pipeline's state; fixed once it has state", 1, 1_000),
    "max.records.per.batch": ("most records that a micro-batch takes from each source", 1, 1_000_000_000),
}


@dataclass(frozen=True)
class EngineSettings:
    """`data_dir` is on this machine (log files, tables, the engine's id); `checkpoint_dir` may be a shared file system's URL."""

    bootstrap_servers: str
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    data_dir: str = DEFAULT_DATA_DIR
    checkpoint_dir: str | None = None
    master: str | None = None
    memory: str | None = None
    python_modules: tuple[str, ...] | None = ()
    """Modules whose functions plans may name; None: any, for an app that holds its own engine."""
    embedded: bool = False
    """Held by an app: runs what the app submits and nothing else, and remembers nothing beyond the process."""
    kafka: Mapping[str, str] = field(default_factory=dict)
    spark: Mapping[str, str] = field(default_factory=dict)

    @property
    def checkpoints(self) -> str:
        return self.checkpoint_dir or str(Path(self.data_dir).absolute() / "checkpoints")

    @property
    def spark_log(self) -> Path:
        return Path(self.data_dir) / "spark.log"

    def engine_id(self) -> str:
        """Stays the same as long as the data directory does, so that a restarted engine is known as the same one."""
        path = Path(self.data_dir) / "engine.id"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_text(f"engine-{uuid.uuid4()}\n")
            return path.read_text().strip()
        except OSError as error:
            raise EngineError(f"the data directory {self.data_dir!r} cannot be used: {error}") from error

    def session(self) -> Any:
        """What Spark is started with."""
        from headrace.spark.settings import SessionSettings

        given: dict[str, Any] = {"checkpoint_dir": self.checkpoints, "log_file": self.spark_log}
        if self.master:
            given["master"] = self.master
        if self.memory:
            given["driver_memory"] = self.memory
        return SessionSettings(**given, extra=dict(self.spark))

    def pipeline(self, record: PipelineRecord) -> Any:
        """What a pipeline is started with."""
        from headrace.engine.runner import checkpoint_dir
        from headrace.spark.pipeline_settings import PipelineSettings

        chosen: dict[str, Any] = {
            name.replace(".", "_"): value for name, value in pipeline_numbers(record.settings).items()
        }
        return PipelineSettings(
            bootstrap_servers=self.bootstrap_servers,
            guarantee=record.guarantee,
            checkpoint_dir=checkpoint_dir(self.checkpoints, record),
            kafka=dict(self.kafka),
            python_modules=self.python_modules,
            **chosen,
        )


def pipeline_numbers(settings: Mapping[str, str]) -> dict[str, int]:
    """A submission's own settings, checked; `EngineError` names what is wrong and what there is."""
    numbers: dict[str, int] = {}
    for name, text in settings.items():
        if name not in PIPELINE_SETTINGS:
            raise EngineError(f"there is no pipeline setting {name!r}; there are {', '.join(PIPELINE_SETTINGS)}")
        meaning, least, most = PIPELINE_SETTINGS[name]
        if not text.isdecimal() or not least <= int(text) <= most:
            raise EngineError(f"{name}={text!r}: {meaning}, a number from {least} to {most}")
        numbers[name] = int(text)
    return numbers
