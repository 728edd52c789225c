"""Part one: bounded runs over a backlog, each system in a fresh process, in turn."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.pipelines import kafka_streams, verify
from bench.pipelines.backlog import Topics
from bench.pipelines.measured_process import Marks, run
from bench.pipelines.records import Backlog

HEADRACE, HAND_WRITTEN, STREAMS_1, STREAMS_2 = "headrace", "spark", "streams-1", "streams-2"
TITLES = {
    HEADRACE: "Headrace",
    HAND_WRITTEN: "PySpark by hand",
    STREAMS_1: "Kafka Streams, 1 thread",
    STREAMS_2: "Kafka Streams, 2 threads",
}


@dataclass(frozen=True)
class Throughput:
    """A job over a backlog. `settings` are those of the pipeline, for both Spark systems; `smaller` is a backlog for a system that is slower by far."""

    name: str
    job: str
    title: str
    backlog: Backlog
    systems: tuple[str, ...] = (HEADRACE, HAND_WRITTEN, STREAMS_1, STREAMS_2)
    settings: Mapping[str, Any] = field(default_factory=dict)
    smaller: Mapping[str, Backlog] = field(default_factory=dict)
    runs: int = 5

    def measure(self, topics: Topics, system: str) -> dict[str, float]:
        """One run of one system, its output checked."""
        backlog = self.smaller.get(system, self.backlog)
        events, users = topics.events(backlog), topics.users()
        output = topics.create(f"bench-out-{self.name}")
        checkpoints = tempfile.mkdtemp(prefix="bench-pipelines-")
        where = {
            "name": f"{self.name}-{system}",
            "system": system,
            "job": self.job,
            "bootstrap_servers": topics.bootstrap_servers,
            "checkpoints": checkpoints,
            "events": events,
            "users": users,
            "output": output,
            "count": backlog.count,
            "settings": dict(self.settings),
        }
        try:
            measured = _run(where).measured()
            measured["out"] = float(verify.check(self.job, topics.bootstrap_servers, output, backlog))
            return measured
        finally:
            topics.delete(output)
            shutil.rmtree(checkpoints, ignore_errors=True)


def _run(where: Mapping[str, Any]) -> Marks:
    if where["system"] in (STREAMS_1, STREAMS_2):
        return run(kafka_streams.command(where, threads=1 if where["system"] == STREAMS_1 else 2))
    return run([sys.executable, "-m", "bench.pipelines.spark_process", json.dumps(where)])


ONE_PER_BATCH = {"every_update": False}
"""One update of a key and window a batch, as hand-written Spark has it; Kafka Streams' record cache thins updates out as well."""

DENSE = 10  # records a millisecond of event time
SPARK_ONLY = (HEADRACE, HAND_WRITTEN)
SLIDING = Backlog(500_000, DENSE)
SLIDING_BATCH = {"max_records_per_batch": 100_000}
CASES = (
    Throughput("map", "map", "map and filter, JSON to JSON", Backlog(2_000_000, DENSE)),
    Throughput(
        "count", "count", "10 s windowed count of 1,000 keys", Backlog(4_000_000, DENSE), settings=ONE_PER_BATCH
    ),
    Throughput("join", "join", "stream-table join, 1,000 keys", Backlog(2_000_000, DENSE)),
    # Spark's own window makes a row of each record for every window that it is in, so it gets fewer records, in batches of the same size.
    Throughput(
        "sliding-60",
        "sliding-60",
        "sliding count, 60 s every 1 s, 1,000 keys",
        SLIDING,
        systems=SPARK_ONLY,
        settings=SLIDING_BATCH,
        smaller={HAND_WRITTEN: Backlog(300_000, DENSE)},
    ),
    Throughput(
        "sliding-600",
        "sliding-600",
        "sliding count, 600 s every 1 s, 1,000 keys",
        SLIDING,
        systems=SPARK_ONLY,
        settings=SLIDING_BATCH,
        smaller={HAND_WRITTEN: Backlog(200_000, DENSE)},
    ),
)
