"""The driver process of the Spark kill test: starts a session and a workload's queries, and says on standard output how far they are.

    python -m tests.faults.spark_driver '{"workload": "…", …}'

It is told to end by the end of its standard input. It prints one JSON object a line: `session` with the process id of Java, `running`,
`caught_up` whenever every query has worked off its topics, `failed` with the reason.
"""

from __future__ import annotations

import json
import select
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException, TopicPartition

from headrace import client
from headrace.spark.session import SessionSettings, java_process, start_session, stop_session
from tests.faults.spark_workloads import Run, load, offsets_reached

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

POLL_S = 0.2


def say(event: str, **more: object) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def main() -> int:
    run = Run(**json.loads(sys.argv[1]))
    settings = SessionSettings(checkpoint_dir=run.checkpoint_dir, log_file=Path(run.log_file))
    spark = start_session(settings)
    try:
        java = java_process()
        assert java is not None
        say("session", java=java.pid)
        queries = load(run.workload).start(spark, run)
        say("running", at=time.time())
        return follow(queries, run)
    finally:
        stop_session()


def follow(queries: list[StreamingQuery], run: Run) -> int:
    """Report until the input ends or a query fails."""
    consumer = client.consumer(run.bootstrap_servers)
    try:
        while not select.select([sys.stdin], [], [], POLL_S)[0]:
            for query in queries:
                if not query.isActive:
                    say("failed", reason=str(query.exception())[:2000])
                    return 1
            if all(caught_up(consumer, query) for query in queries):
                say("caught_up", at=time.time(), batches=sum(query.lastProgress["batchId"] for query in queries))
        for query in queries:
            query.stop()
        return 0
    finally:
        consumer.close()


def caught_up(consumer: Consumer, query: StreamingQuery) -> bool:
    """Whether a query's last batch ended where its topics end now."""
    reached = offsets_reached(query.lastProgress)
    if not reached:
        return False
    try:
        return all(
            consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=5)[1] <= end
            for topic, partitions in reached.items()
            for partition, end in partitions.items()
        )
    except KafkaException:
        return False  # the broker is being killed at this moment


if __name__ == "__main__":
    sys.exit(main())
