"""Records sent to a topic and waited for, for whoever has a bounded number of them in hand. Blocking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem, from_kafka
from headrace.admin.records_in import NewRecord


@dataclass(frozen=True, slots=True)
class Sent:
    """How many were acknowledged, and where the last of them is."""

    records: int
    partition: int = -1
    offset: int = -1


def send(cluster: Cluster, topic: str, records: Iterable[NewRecord]) -> Sent:
    """All of them. When one is refused, the error says how many are there already."""
    from confluent_kafka import KafkaException

    # A broker that is gone is known before librdkafka's own patience ends.
    producer = cluster.producer({"delivery.timeout.ms": round(cluster.timeout_s * 1000), "linger.ms": 5})
    outcome: dict[str, Any] = {"sent": 0, "error": None, "place": (-1, -1)}

    def on_delivery(error: Any, message: Any) -> None:
        if error is not None:
            outcome["error"] = outcome["error"] or error
        else:
            outcome["sent"] += 1
            outcome["place"] = (message.partition(), message.offset())

    try:
        for each in records:
            _produce(producer, topic, each, on_delivery)
            if outcome["error"] is not None:
                break
    except KafkaException as error:
        raise from_kafka(error.args[0], "Cannot send") from None
    finally:
        left = producer.flush(cluster.timeout_s + 1)
    if outcome["error"] is not None or left:
        done = f"{outcome['sent']} were sent, then one was not" if outcome["sent"] else "Nothing was sent"
        raise from_kafka(outcome["error"], done) if outcome["error"] else Problem(f"{done}: no answer in time")
    return Sent(outcome["sent"], *outcome["place"])


def _produce(producer: Any, topic: str, record: NewRecord, on_delivery: Any) -> None:
    optional: dict[str, Any] = {} if record.partition is None else {"partition": record.partition}
    if record.timestamp_ms is not None:
        optional["timestamp"] = record.timestamp_ms
    while True:
        try:
            producer.produce(
                topic, record.value, record.key, headers=record.headers or None, on_delivery=on_delivery, **optional
            )
            producer.poll(0)
            return
        except BufferError:
            producer.poll(0.1)
