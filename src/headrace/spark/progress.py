"""What Spark says of a query's progress, read into plain figures: offsets, lag, watermark, state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from headrace.plan.stages import Stage

if TYPE_CHECKING:
    from confluent_kafka import Consumer
    from pyspark.sql.streaming.query import StreamingQuery

Offsets = Mapping[str, Mapping[int, int]]
TIMEOUT_S = 10.0


def stage_progress(stage: Stage, query: StreamingQuery | None, ends: Offsets | None) -> dict[str, Any]:
    """One stage's part of a pipeline's report. `ends` None: nobody can tell, and so the lag is None."""
    last = _last(query)
    operators = last.get("stateOperators", [])
    durations = last.get("durationMs", {})
    positions = _offsets(source.get("endOffset") for source in last.get("sources", []))
    lags = lag(ends, positions) if ends is not None else {}
    return {
        "stage": stage.id,
        "mode": stage.mode.value,
        "reasons": list(stage.reasons),
        "steps": list(stage.steps),
        "batch": last.get("batchId"),
        "batch_ms": durations.get("triggerExecution"),
        "watermark": last.get("eventTime", {}).get("watermark"),
        "lag": sum(lags.values()) if ends is not None else None,
        "lags": lags,
        "state_rows": sum(one.get("numRowsTotal", 0) for one in operators),
        "state_bytes": sum(one.get("memoryUsedBytes", 0) for one in operators),
    }


def late_warnings(late: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What came too late, by step and partition, in words with the way out."""
    return {
        f"late {one['step']} {one['partition']}": f"late: {one['records']:,} records of {one['partition']} came too late for step {one['step']!r}, up to "
        f"{_about(one['behind_ms'])} behind the newest time of all partitions; a grace of {_about(one['behind_ms'])} lets such records in"
        for one in late
    }


def _about(ms: int) -> str:
    """At least so long, in a unit that people read at a glance."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if ms >= 10 * size:
            return f"{-(-ms // size)} {unit}"
    return f"{ms} ms"


def lag(ends: Offsets, positions: Offsets) -> dict[str, int]:
    """How many records wait in each partition that a stage reads, as far as its last finished batch tells."""
    return {
        f"{topic}-{partition}": max(0, ends.get(topic, {}).get(partition, 0) - offset)
        for topic, partitions in positions.items()
        for partition, offset in partitions.items()
    }


def end_positions(query: StreamingQuery) -> dict[str, dict[int, int]]:
    """The offsets that a query's last finished batch ended with."""
    return _offsets(source.get("endOffset") for source in _last(query).get("sources", []))


def covered(wanted: Offsets, reached: Offsets) -> bool:
    """Whether every wanted offset is reached; an empty partition needs nothing."""
    return all(
        offset <= reached.get(topic, {}).get(partition, 0)
        for topic, partitions in wanted.items()
        for partition, offset in partitions.items()
    )


def end_offsets(consumer: Consumer, topics: Iterable[str]) -> dict[str, dict[int, int]]:
    """The ends of topics now. A topic that is not there has none."""
    from confluent_kafka import TopicPartition

    known = consumer.list_topics(timeout=TIMEOUT_S).topics
    found: dict[str, dict[int, int]] = {}
    for topic in topics:
        if topic not in known:
            continue
        found[topic] = {}
        for partition in known[topic].partitions:
            _, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=TIMEOUT_S)
            found[topic][partition] = high
    return found


def _last(query: StreamingQuery | None) -> dict[str, Any]:
    if query is None:
        return {}
    progress = query._jsq.lastProgress() if hasattr(query, "_jsq") else None
    if progress is None:
        return {}
    parsed: dict[str, Any] = json.loads(progress.json())
    return parsed


def _offsets(texts: Iterable[Any]) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for text in texts:
        content = json.loads(text) if isinstance(text, str) else text
        for topic, partitions in (content or {}).items():
            found.setdefault(topic, {}).update({int(number): int(offset) for number, offset in partitions.items()})
    return found
