"""Task slots: in real-time mode every partition of every query holds one for as long as it runs, so they are counted before anything starts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from headrace.plan import steps as s
from headrace.plan.plan import Plan
from headrace.plan.stage_modes import Mode
from headrace.plan.stages import Stage
from headrace.spark.pipeline_errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXECUTOR_TIMEOUT_S = 60.0
_lock = threading.Lock()
# By application of Spark: how many slots its pipelines hold.
_held: dict[str, int] = {}


def slots_needed(plan: Plan, stage: Stage, partitions: Mapping[str, int], shuffle_partitions: int) -> int:
    """The slots that a stage holds at once: none for long in micro-batches, in real-time mode one per partition of sources and shuffle."""
    if stage.mode is not Mode.REAL_TIME:
        return 0
    topics = {_topic(plan, name) for name in stage.sources} | {channel.topic for channel in stage.channels}
    return sum(partitions.get(topic, 1) for topic in topics) + (shuffle_partitions if stage.operator else 0)


def reserve(
    spark: SparkSession, plan: Plan, stages: tuple[Stage, ...], partitions: Mapping[str, int], shuffle_partitions: int
) -> Callable[[], None]:
    """Hold the slots of a pipeline; returns what gives them back. One slot stays free, for micro-batches."""
    needed = sum(slots_needed(plan, stage, partitions, shuffle_partitions) for stage in stages)
    application = spark.sparkContext.applicationId
    total = _registered_slots(spark, plan.name) if needed else 0
    with _lock:
        held = _held.get(application, 0)
        if needed and held + needed > total - 1:
            raise PipelineError(
                plan.name,
                "",
                f"real-time mode needs {needed} task slots (one per partition of its topics and of its state), and of the session's "
                f"{total} slots {held} are taken. Give the session more ({_how_to_get(held + needed, spark)}; waiting tasks cost next to nothing), "
                "or run the pipeline with fewer shuffle partitions",
            )
        _held[application] = held + needed
    released = threading.Event()

    def release() -> None:
        with _lock:
            if not released.is_set():
                released.set()
                _held[application] -= needed

    return release


def total_slots(spark: SparkSession) -> int:
    """How many tasks can run at the same time."""
    context = spark.sparkContext._jsc.sc()
    profile = context.resourceProfileManager().defaultResourceProfile()
    return int(context.maxNumConcurrentTasks(profile))


def _registered_slots(spark: SparkSession, pipeline: str) -> int:
    """On a cluster the first executor registers some seconds after the session is there."""
    deadline = time.monotonic() + EXECUTOR_TIMEOUT_S
    while not (total := total_slots(spark)):
        if time.monotonic() > deadline:
            raise PipelineError(
                pipeline,
                "",
                f"no executor has registered with Spark within {EXECUTOR_TIMEOUT_S:.0f} s: has the cluster at {spark.sparkContext.master} a worker "
                "with enough free cores and memory (`--spark spark.executor.memory=1g`)?",
            )
        time.sleep(0.2)
    return total


def _how_to_get(needed: int, spark: SparkSession) -> str:
    if str(spark.sparkContext.master).startswith("local"):
        return f"`--master local[{1 << (needed + 1).bit_length()},4]`"
    return "more workers, or workers with more `--cores`"


def _topic(plan: Plan, source: str) -> str:
    step = plan.step(source)
    assert isinstance(step, s.SOURCES)
    return step.topic
