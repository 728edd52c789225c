"""What becomes of a topic's old records: retention, compaction and deletion once consumed, as `headrace topic describe` shows it.

The rules come from the topic's settings, which every Kafka tells. What was done and what is next only Headrace tells, over
a plaintext connection; elsewhere that part is missing.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from typing import Any

from headrace.admin import direct
from headrace.admin.cluster import Cluster
from headrace.admin.times import duration, local, now_ms, number, size

_ENTRY = "headrace.cleaning"
_VERSION = 4
_TIMEOUT_S = 5.0
_TOPIC = 2
_NEVER = 1 << 62


def cleaning(cluster: Cluster, topic: str, settings: Iterable[Any]) -> dict[str, Any]:
    """Rules and progress of one topic, as --json prints them."""
    values = {entry.name: entry.value for entry in settings}
    return {
        "policy": _items(values.get("cleanup.policy")),
        "retention_ms": _number(values.get("retention.ms")),
        "retention_bytes": _number(values.get("retention.bytes")),
        "min_dirty_ratio": float(values.get("min.cleanable.dirty.ratio") or 0),
        "max_compaction_lag_ms": _number(values.get("max.compaction.lag.ms")),
        "tombstones_kept_ms": _number(values.get("delete.retention.ms")),
        "consumed_by": _items(values.get("headrace.delete.consumed.groups")),
        "partitions": _progress(cluster, topic),
    }


def _items(text: str | None) -> list[str]:
    return [item for item in (text or "").split(",") if item]


def _number(text: str | None) -> int | None:
    """None for what has no limit."""
    value = int(text) if text else -1
    return value if 0 <= value < _NEVER else None


def _progress(cluster: Cluster, topic: str) -> list[dict[str, Any]] | None:
    """What the brokers tell of the partitions; None if they do not."""
    from headrace.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

    if not direct.is_possible(cluster):
        return None
    resource = DescribeConfigsResource(resource_type=_TOPIC, resource_name=topic, configuration_keys=[_ENTRY])
    request = DescribeConfigsRequest(resources=[resource])
    found: dict[int, dict[str, Any]] = {}
    for address in direct.brokers(cluster, "DescribeConfigs"):
        with contextlib.suppress(OSError, ValueError):
            for result in direct.ask(address, request, _VERSION, _TIMEOUT_S).results:
                for entry in result.configs:
                    found |= {row["partition"]: row for row in json.loads(entry.value)}
    return [found[index] for index in sorted(found)] or None


def rules(document: dict[str, Any]) -> list[str]:
    """What happens to old records, a sentence each."""
    lines = []
    if "delete" in document["policy"]:
        lines.append(_retention(document["retention_ms"], document["retention_bytes"]))
    if "compact" in document["policy"]:
        lag = document["max_compaction_lag_ms"]
        soon = "" if lag is None else f", or something dirty is {duration(lag)} old"
        lines.append(
            f"compacted: the last value of each key stays; runs when over {document['min_dirty_ratio']:.0%} is dirty{soon}"
        )
    if groups := document["consumed_by"]:
        who = "every group that commits" if groups == ["*"] else ", ".join(groups)
        lines.append(f"deleted once consumed by {who}")
    return lines or ["kept for ever"]


def _retention(retention_ms: int | None, retention_bytes: int | None) -> str:
    limits = []
    if retention_ms is not None:
        limits.append(f"older than {duration(retention_ms)}")
    if retention_bytes is not None:
        limits.append(f"beyond {size(retention_bytes)} per partition")
    return f"deleted: what is {' or '.join(limits)}, by segments" if limits else "deleted by nothing: no limit is set"


def table(document: dict[str, Any]) -> tuple[list[str], list[list[str]]] | None:
    """The columns that say something about this topic, and a row per partition."""
    partitions = document["partitions"]
    if not partitions:
        return None
    columns, cells = [">PARTITION"], [[str(row["partition"])] for row in partitions]

    def add(column: str, texts: list[str]) -> None:
        columns.append(column)
        for cell, text in zip(cells, texts):
            cell.append(text)

    if "delete" in document["policy"]:
        add("OLDEST SEGMENT GOES", [_expiry(row) for row in partitions])
    if "compact" in document["policy"]:
        compaction = [row.get("compaction", {}) for row in partitions]
        add(">COMPACTED TO", [number(each.get("cleaned_to")) for each in compaction])
        add(">CLEAN", [size(each.get("clean_bytes", 0)) for each in compaction])
        add(">DIRTY", [_dirty(each) for each in compaction])
    if document["consumed_by"]:
        consumed = [row.get("consumed", {}) for row in partitions]
        add(">STARTS NEXT AT", [number(each.get("log_will_start_at")) for each in consumed])
        add("HELD BY", [_holders(each.get("groups", [])) for each in consumed])
    return (columns, cells) if len(columns) > 1 else None


def _expiry(row: dict[str, Any]) -> str:
    if row.get("bytes_over_limit"):
        return f"soon, {size(row['bytes_over_limit'])} too many"
    expires_ms = row.get("oldest_expires_ms")
    if expires_ms is None:
        return "-"
    return "soon" if expires_ms <= now_ms() else local(expires_ms)[:16]


def _dirty(compaction: dict[str, Any]) -> str:
    if not compaction:
        return "-"
    due = ", due" if compaction["is_due"] else ""
    return f"{size(compaction['dirty_bytes'])} ({compaction['dirty_ratio']:.0%}{due})"


def _holders(groups: list[dict[str, Any]]) -> str:
    """Those that are furthest behind; the others hold nothing."""
    if not groups:
        return "nobody"
    lowest = min(-1 if each["offset"] is None else each["offset"] for each in groups)
    behind = [each["group"] for each in groups if (-1 if each["offset"] is None else each["offset"]) == lowest]
    where = "has committed nothing" if lowest < 0 else f"at {lowest:,}"
    return f"{', '.join(behind)} ({where})"
