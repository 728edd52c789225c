"""A process that runs a pipeline on Spark and says how far it is: `python -m bench.pipelines.spark_process SPECIFICATION`.

It prints a line for each mark (`ready`, `started`, and where a number of records is given `first N`, `done N`) and ends when its input does. Both kinds of pipeline, Headrace's and the
hand-written ones, have the same session, the same store, the same trigger and the same way of being watched.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.pipelines import hand_written, topologies
from headrace.plan.engine import Guarantee
from headrace.plan.stage_modes import Mode
from headrace.plan.steps import OffsetReset
from headrace.spark.pipeline import PipelineSettings, start
from headrace.spark.progress import end_positions
from headrace.spark.session import SessionSettings, start_session, stop_session
from headrace.spark.sources import source_options
from headrace.streams import App

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

POLL_S = 0.1
REHEARSAL_MS = 5_000


def main() -> None:
    where = json.loads(sys.argv[1])
    session = start_session(
        SessionSettings(checkpoint_dir=where["checkpoints"], java_options=java_options(where["name"]))
    )
    try:
        _mark("ready")
        chosen = {"real_time": False, **where["settings"]}
        guarantee = Guarantee(chosen.pop("guarantee", Guarantee.AT_LEAST_ONCE))
        settings = PipelineSettings(where["bootstrap_servers"], where["checkpoints"], guarantee, **chosen)
        begin = _headrace if where["system"] == "headrace" else _hand_written
        if where.get("rehearsal"):
            _rehearse(
                begin(session, {**where, **where["rehearsal"]}, replace(settings, real_time_batch_ms=REHEARSAL_MS))
            )
        queries = begin(session, where, settings)
        _mark("started")
        if where["count"]:
            _watch(queries, where["events"], where["count"])
        sys.stdin.readline()
        for query in queries:
            query.stop()
    finally:
        stop_session()


def _rehearse(queries: Sequence[StreamingQuery]) -> None:
    """Run on other topics in short batches until told to go on, so that Java has compiled what the end and the beginning of a batch need."""
    _mark("rehearsing")
    sys.stdin.readline()
    for query in queries:
        query.stop()


def java_options(name: str) -> tuple[str, ...]:
    """More options for Java from BENCH_JAVA_OPTIONS, in which {name} is the case and the system: for profilers."""
    return tuple(os.environ.get("BENCH_JAVA_OPTIONS", "").replace("{name}", name).split())


def _headrace(session: SparkSession, where: Mapping[str, Any], settings: PipelineSettings) -> Sequence[StreamingQuery]:
    app = App(where["name"], bootstrap_servers=settings.bootstrap_servers)
    topologies.JOBS[where["job"]](app, where["events"], where["users"], where["output"])
    running = start(session, app.plan(), settings)
    return list(running._queries.values())


def _hand_written(
    session: SparkSession, where: Mapping[str, Any], settings: PipelineSettings
) -> Sequence[StreamingQuery]:
    session.conf.set("spark.sql.shuffle.partitions", str(settings.shuffle_partitions))
    session.conf.set("spark.sql.streaming.useStreamlineAggregator", str(settings.every_update).lower())

    def read(topic: str) -> Any:
        options = source_options(topic, Mode.MICRO_BATCH, settings, OffsetReset.EARLIEST, headers=False)
        return session.readStream.format("kafka").options(**options).load()

    rows, output_mode = hand_written.JOBS[where["job"]](session, read, where)
    writer = rows.writeStream.format("kafka").outputMode(output_mode)
    writer = writer.option("kafka.bootstrap.servers", settings.bootstrap_servers).option("topic", where["output"])
    writer = writer.option("checkpointLocation", f"{where['checkpoints']}/{where['name']}")
    return [writer.trigger(processingTime=f"{settings.trigger_ms} milliseconds").start()]


def _watch(queries: Sequence[StreamingQuery], topic: str, count: int) -> None:
    first = 0
    while True:
        done = max(sum(end_positions(query).get(topic, {}).values()) for query in queries)
        if done and not first:
            first = done
            _mark(f"first {done}")
        if done >= count:
            break
        for query in queries:
            if not query.isActive:
                raise RuntimeError(f"the query has ended: {query.exception()}")
        time.sleep(POLL_S)
    if os.environ.get("BENCH_EXPLAIN"):
        for query in queries:
            print(query._jsq.explainInternal(False), file=sys.stderr, flush=True)  # type: ignore[attr-defined]
    _mark(f"done {done}")


def _mark(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
