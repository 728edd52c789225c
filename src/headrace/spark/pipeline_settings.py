"""What can be chosen about a pipeline that runs. Pure; the engine reads it without Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from headrace.plan.engine import Guarantee

MIN_REAL_TIME_BATCH_MS = 1_000
DEFAULT_STAGE_PARTITIONS = 2


@dataclass(frozen=True)
class PipelineSettings:
    """How one plan is run. Lengths are milliseconds."""

    bootstrap_servers: str
    checkpoint_dir: str
    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE
    kafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Kafka's own client settings by their own names, authentication included."""
    real_time_batch_ms: int = 300_000
    """After a crash or a stop in real-time mode, output of at most this time is written again. Input waits for some tenths of a second while one batch
    ends and the next begins, which costs as much processor time: short ones are for tests."""
    trigger_ms: int = 100
    fetch_max_wait_ms: int = 20
    """How long a micro-batch waits for a partition that has nothing; with Kafka's 500 it would be felt."""
    shuffle_partitions: int = DEFAULT_STAGE_PARTITIONS
    """Partitions of the state of each stage. Fixed once a stage has a checkpoint."""
    max_records_per_batch: int = 500_000
    """Most records that a micro-batch takes from each topic, so that a backlog fits into memory."""
    fail_on_data_loss: bool = True
    every_update: bool = True
    """In micro-batches: whether each record's update of an aggregate leaves, as in real-time mode, or one per key and batch."""
    python_modules: Collection[str] | None = ()
    """Modules that plans may import functions from. None: any, for an app that holds its own engine."""
    replication_factor: int = -1
    """Of topics that the pipeline creates; -1: the broker's default."""
    processing_log: str = "_headrace_processing_log"
    real_time: bool = True
    """False runs every stage in micro-batches."""

    def __post_init__(self) -> None:
        if self.real_time_batch_ms < MIN_REAL_TIME_BATCH_MS:
            raise ValueError(f"real_time_batch_ms={self.real_time_batch_ms}: at least {MIN_REAL_TIME_BATCH_MS}")
        for name in ("trigger_ms", "fetch_max_wait_ms"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)}: a time cannot be negative")
        for name in ("shuffle_partitions", "max_records_per_batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: at least 1")
