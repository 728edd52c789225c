"""Whether a run did its work: what is in its output topic against what must come out of the backlog. Nobody is fast by doing less."""

from __future__ import annotations

import json
import random
from typing import Any

from bench.pipelines import records
from bench.pipelines.records import BASE_MS, TAX, Backlog
from headrace import client
from headrace.spark.progress import end_offsets

SAMPLE = 2_000
TIMEOUT_S = 120.0


class WrongOutput(Exception):
    """The output is not that of the job."""


def check(job: str, bootstrap_servers: str, topic: str, backlog: Backlog) -> int:
    """The number of output records; `WrongOutput` says what is wrong with them."""
    consumer = client.consumer(bootstrap_servers, overrides={"fetch.min.bytes": 1})
    try:
        ends = end_offsets(consumer, [topic])[topic]
        total = sum(ends.values())
        if job in ("map", "join"):
            wanted = backlog.passing() if job == "map" else backlog.count
            if total != wanted:
                raise WrongOutput(f"{job}: {total} records instead of {wanted}")
            _check_rows(job, _read(consumer, topic, ends, SAMPLE))
        else:
            _check_counts(job, _last_counts(_read(consumer, topic, ends)), backlog)
        return total
    finally:
        consumer.close()


def _check_rows(job: str, sample: list[tuple[bytes, bytes]]) -> None:
    for key, value in sample:
        row = json.loads(value)
        number, user = row["id"], records.user_of(row["id"])
        amount = records.amount_of(number)
        if job == "map":
            wanted: dict[str, Any] = {"id": number, "name": records.key(user), "kind": f"kind-{number % 7}"}
            right = abs(row.pop("gross") - amount * TAX) < 1e-9 and row == wanted
        else:
            right = row == {"id": number, "amount": amount, **json.loads(records.user_row(user))}
        if not right or key.decode() != records.key(user):
            raise WrongOutput(f"{job}: {key!r} {value!r}")


def _check_counts(job: str, last: dict[tuple[bytes, int], int], backlog: Backlog) -> None:
    if job in ("count", "count-json"):
        wanted = backlog.count if job == "count" else backlog.passing()
        windows = backlog.windows(10_000) * records.USERS
        if sum(last.values()) != wanted or len(last) != windows:
            raise WrongOutput(
                f"{job}: {len(last)} windows with {sum(last.values())} records, not {windows} with {wanted}"
            )
        return
    # Sliding windows: those that ended within the backlog, each with the records of its part of the backlog.
    size_ms = int(job.partition("-")[2]) * 1000
    ended = {
        window: n for window, n in last.items() if window[1] + size_ms <= backlog.time_ms(backlog.count - 1) - 2_000
    }
    if not ended:
        raise WrongOutput(f"{job}: no window came out")
    for key, start in random.Random(1).sample(sorted(ended), min(len(ended), SAMPLE)):
        wanted = _count_within(backlog, int(key[-4:]), start, start + size_ms)
        if ended[key, start] != wanted:
            raise WrongOutput(f"{job}: {key!r} has {ended[key, start]} records from {start} on, not {wanted}")


def _count_within(backlog: Backlog, user: int, start_ms: int, end_ms: int) -> int:
    """How many records of a user lie in [start, end): one in every thousand numbers, at the same place in each thousand."""
    place = next(number for number in range(records.USERS) if records.user_of(number) == user)
    low = max(0, (start_ms - BASE_MS) * backlog.per_ms)
    high = min(backlog.count, (end_ms - BASE_MS) * backlog.per_ms)
    return max(0, _up_to(high, place) - _up_to(low, place))


def _up_to(number: int, place: int) -> int:
    """How many of `place`, `place` + 1000, … are below `number`."""
    return max(0, -(-(number - place) // records.USERS))


def _read(consumer: Any, topic: str, ends: dict[int, int], most: int | None = None) -> list[tuple[bytes, bytes]]:
    """The first records of each partition, or all of them."""
    from confluent_kafka import TopicPartition

    found: list[tuple[bytes, bytes]] = []
    for partition, end in ends.items():
        left = end if most is None else min(end, most // len(ends))
        consumer.assign([TopicPartition(topic, partition, 0)])
        while left > 0:
            batch = consumer.consume(min(left, 10_000), timeout=TIMEOUT_S)
            if not batch:
                raise WrongOutput(f"{topic}-{partition} ends {left} records too early")
            for message in batch:
                if message.error():
                    raise WrongOutput(str(message.error()))
                found.append((message.key(), message.value()))
            left -= len(batch)
    return found


def _last_counts(rows: list[tuple[bytes, bytes]]) -> dict[tuple[bytes, int], int]:
    """The last count of each key and window. All updates of one are in one partition, in order, and begin with the window's start."""
    last: dict[tuple[bytes, bytes], bytes] = {}
    for key, value in rows:
        last[key, value[: value.index(b",")]] = value
    parsed = [(key, json.loads(value)) for (key, _), value in last.items()]
    return {(key, row["start"]): row["n"] for key, row in parsed}
