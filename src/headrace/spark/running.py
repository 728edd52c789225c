"""A pipeline that runs: its queries together, their progress as one report, their end as one error."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headrace import client
from headrace.plan.plan import Plan
from headrace.plan.stages import Stage
from headrace.spark import meters
from headrace.spark.pipeline_errors import PipelineError, explained
from headrace.spark.pipeline_settings import PipelineSettings
from headrace.spark.progress import Offsets, covered, late_warnings, stage_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger(__name__)
POLL_S = 0.02


class RunningPipeline:
    """The queries of one plan. Any thread may call any method; `stop` may be called at any time, and again."""

    def __init__(
        self,
        spark: SparkSession,
        plan: Plan,
        stages: tuple[Stage, ...],
        settings: PipelineSettings,
        release: Callable[[], None],
    ) -> None:
        self.plan = plan
        self.stages = stages
        self._spark = spark
        self._settings = settings
        self._release = release
        self._queries: dict[str, StreamingQuery] = {}
        self._failure: PipelineError | None = None
        self._stopped = False
        self._lock = threading.RLock()

    def add(self, stage: Stage, query: StreamingQuery) -> None:
        self._queries[stage.id] = query

    def stop(self) -> None:
        """End all queries. What they have written stays; a new start goes on from their checkpoints."""
        with self._lock:
            self._stopped = True
            self._stop_queries()
            self._release()

    def exception(self) -> PipelineError | None:
        """Why the pipeline has ended by itself, if it has. One query that fails ends the others."""
        with self._lock:
            if self._failure is None and not self._stopped:
                self._failure = self._find_failure()
                if self._failure is not None:
                    self._stop_queries()
                    self._release()
            return self._failure

    def progress(self) -> dict[str, Any]:
        """Rows, latency, late and bad records of the whole, and of each stage mode, lag, watermark and state."""
        counts = meters.snapshot(self._spark, self.plan.name)
        ends = self._ends_if_known()
        each = [stage_progress(stage, self._queries.get(stage.id), ends) for stage in self.stages]
        failure = self.exception()
        return {
            "pipeline": self.plan.name,
            "guarantee": str(self._settings.guarantee),
            "running": failure is None and not self._stopped,
            "error": str(failure) if failure else None,
            "rows_in": counts["rows_in"],
            "rows_out": counts["rows_out"],
            "bad": counts["bad"],
            "late": counts["late"],
            "dropped": counts["dropped"],
            "latency_ms": counts["latency_ms"],
            "last_output_ms": counts["last_output_ms"],
            "lag": sum(stage["lag"] for stage in each) if ends is not None else None,
            "state_rows": sum(stage["state_rows"] for stage in each),
            "state_bytes": sum(stage["state_bytes"] for stage in each),
            "partitions": counts["partitions"],
            "late_partitions": counts["late_partitions"],
            "warnings": list(late_warnings(counts["late_partitions"]).values()),
            "stages": each,
        }

    def warnings(self) -> dict[str, str]:
        """What its owner should know, by what it is about."""
        return late_warnings(meters.snapshot(self._spark, self.plan.name)["late_partitions"])

    def await_processed(self, offsets: Mapping[str, Mapping[int, int]] | None = None, timeout_s: float = 60.0) -> None:
        """Wait until all records before these offsets, and all that came of them in internal topics, are processed and written.

        `offsets`: by topic and partition, the offset after the last record; None: the ends of all source topics now.
        """
        deadline = time.monotonic() + timeout_s
        wanted = dict(offsets) if offsets is not None else None
        if wanted is None:
            ends = self._end_offsets()
            wanted = {topic: ends.get(topic, {}) for topic in self._source_topics()}
        while not self._all_processed(wanted):
            failure = self.exception()
            if failure is not None:
                raise failure
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"pipeline {self.plan.name!r} has not processed {json.dumps(wanted)} within {timeout_s:g} s: {self._positions()}"
                )
            time.sleep(POLL_S)

    # What follows is the pipeline's own.

    def _all_processed(self, wanted: Offsets) -> bool:
        """Whether each stage has read its sources as far as wanted, and its channels to their ends as they were before it was asked."""
        channels = {channel.topic for stage in self.stages for channel in stage.channels}
        before = self._end_offsets(channels) if channels else {}
        positions = self._positions()
        for stage in self.stages:
            own = {topic: wanted[topic] for topic in self._stage_topics(stage) if topic in wanted}
            own |= {channel.topic: before.get(channel.topic, {}) for channel in stage.channels}
            if not covered(own, positions[stage.id]):
                return False
        # A stage that was looked at early may have written more for one that was looked at before it.
        return not channels or self._end_offsets(channels) == before

    def _positions(self) -> dict[str, Offsets]:
        """How far each stage has come: the offsets that its last finished batch ended with."""
        from headrace.spark.progress import end_positions

        return {stage_id: end_positions(query) for stage_id, query in list(self._queries.items())}

    def _source_topics(self) -> set[str]:
        return {topic for stage in self.stages for topic in self._stage_topics(stage)}

    def _stage_topics(self, stage: Stage) -> list[str]:
        return [self.plan.step(name).topic for name in stage.sources]  # type: ignore[attr-defined]

    def _end_offsets(self, topics: set[str] | None = None) -> dict[str, dict[int, int]]:
        from headrace.spark.progress import end_offsets

        if topics is None:
            topics = self._source_topics() | {channel.topic for stage in self.stages for channel in stage.channels}
        consumer = client.consumer(
            self._settings.bootstrap_servers, overrides={**self._settings.kafka, "isolation.level": "read_committed"}
        )
        try:
            return end_offsets(consumer, topics)
        finally:
            consumer.close()

    def _ends_if_known(self) -> dict[str, dict[int, int]] | None:
        """None while a broker does not answer: the rest of a report is worth having all the more then."""
        from confluent_kafka import KafkaException

        try:
            return self._end_offsets()
        except KafkaException as error:
            log.warning("the lag of %r is not known: %s", self.plan.name, error)
            return None

    def _find_failure(self) -> PipelineError | None:
        for stage_id, query in self._queries.items():
            if query.isActive:
                continue
            error = query.exception()
            if error is None:
                return PipelineError(
                    self.plan.name, stage_id, "its query was stopped by someone else; start the pipeline again"
                )
            return explained(self.plan.name, stage_id, error)
        return None

    def _stop_queries(self) -> None:
        """All at once: each waits for its running batch to be interrupted."""
        threads = [
            threading.Thread(target=self._stop_query, args=(stage_id, query), name=f"stop-{stage_id}", daemon=True)
            for stage_id, query in self._queries.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _stop_query(self, stage_id: str, query: StreamingQuery) -> None:
        try:
            query.stop()
        except Exception as error:
            # A query that does not stop cleanly has ended all the same; whoever starts it again finds its checkpoint.
            log.warning("stage %r of %r did not stop cleanly: %s", stage_id, self.plan.name, error)
