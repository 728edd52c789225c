"""Runs a case through Headrace and says how it differs from what Kafka Streams made of it."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.streams.case import Case
from headrace.testing.streams import OutputRecord, StreamsDriver

MODES = ("micro_batch", "real_time", "exactly_once")
Row = tuple[str, Any, int]


def applies(case: Case, mode: str) -> bool:
    """In real-time mode time moves once per batch, so what hangs on lateness is not compared there."""
    return mode != "real_time" or not case.sequence.stepwise


def run(case: Case, mode: str, spark: Any, broker: Any) -> dict[str, list[OutputRecord]]:
    """What comes out of each sink, in order."""
    guarantee, drive = ("exactly_once", "micro_batch") if mode == "exactly_once" else ("at_least_once", mode)
    app = case.app()
    with StreamsDriver(app, spark=spark, broker=broker, guarantee=guarantee, mode=drive) as driver:
        for record in case.sequence.records:
            driver.pipe(record.topic, record.key, record.value, record.timestamp)
            if case.waits(mode):
                driver.process()
        return {topic: list(driver.read(topic)) for topic in case.question()["topics"]}


def differences(
    case: Case, expected: Mapping[str, Sequence[Mapping[str, Any]]], found: Mapping[str, Sequence[OutputRecord]]
) -> list[str]:
    """Sentences, empty when both agree: per key record by record, or only the last where the topology says so."""
    wrong: list[str] = []
    for topic, rows in expected.items():
        theirs = _by_key(_their_row(row) for row in rows)
        ours = _by_key(_our_row(record) for record in found[topic])
        for key in sorted({*theirs, *ours}):
            left, right = theirs.get(key, []), ours.get(key, [])
            if case.topology.final_only:
                left, right = left[-1:], right[-1:]
            if left != right:
                wrong.append(f"{topic}, key {key}: Kafka Streams {left}, Headrace {right}")
    return wrong


def _by_key(rows: Any) -> dict[str, list[tuple[Any, int]]]:
    found: dict[str, list[tuple[Any, int]]] = defaultdict(list)
    for key, value, timestamp in rows:
        found[key].append((value, timestamp))
    return found


def _their_row(row: Mapping[str, Any]) -> Row:
    key = dict(row["key"] or {})
    window = (key.pop("__window_start", None), key.pop("__window_end", None))
    key.pop("__window_kind", None)
    return _key(next(iter(key.values()), None), window), _flat(row["value"]), row["timestamp"]


def _our_row(record: OutputRecord) -> Row:
    value = dataclasses.asdict(record.value) if dataclasses.is_dataclass(record.value) else record.value
    return _key(record.key, record.window or (None, None)), _flat(value), record.timestamp_ms


def _key(key: Any, window: tuple[Any, Any]) -> str:
    return f"{key!r}" if window[0] is None else f"{key!r}@{window[0]}-{window[1]}"


def _flat(value: Any) -> Any:
    """A value of one column is bare on our side."""
    if isinstance(value, Mapping) and set(value) == {"value"}:
        return value["value"]
    return dict(value) if isinstance(value, Mapping) else value
