"""What the cases measure: each number's name, what it is, its unit, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass

Measured = dict[str, float]


@dataclass(frozen=True)
class Metric:
    """`own` means that the goal is set for Headrace's figure itself, not for its ratio to Apache Kafka's."""

    title: str
    unit: str
    higher_is_better: bool
    own: bool = False


METRICS = {
    "produce": Metric("produce", "records/s", True),
    "consume": Metric("consume", "records/s", True),
    "transactions": Metric("transactions", "1/s", True),
    "cleaned": Metric("compacted per CPU second of the cleaner", "MB", True),
    "produce_cpu": Metric("broker CPU, produce", "s/GB", False),
    "consume_cpu": Metric("broker CPU, consume", "s/GB", False),
    "request_cpu": Metric("broker CPU", "µs/request", False),
    "transaction_cpu": Metric("broker CPU", "µs/transaction", False),
    "plain_cpu": Metric("broker CPU without idempotence", "s/million records", False),
    "idempotent_cpu": Metric("broker CPU with idempotence", "s/million records", False),
    "idempotence": Metric("broker CPU with idempotence ÷ without", "", False, own=True),
    "clean_cpu": Metric("CPU of the whole broker, compaction", "s/GB", False),
    "rss_mb": Metric("memory after the run", "MB", False),
    "peak_rss_mb": Metric("memory, peak", "MB", False),
    "p50_ms": Metric("end to end, p50", "ms", False),
    "p99_ms": Metric("end to end, p99", "ms", False),
    "start": Metric("start until a topic can be created", "s", False),
    "recovery": Metric("start after kill -9", "s", False),
    "create": Metric("create the topic", "s", False),
}
