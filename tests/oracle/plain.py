"""Answers in a form that two brokers can share: fields at their defaults left out, what a broker makes up named by appearance.

Made up are ids, ports, paths, times, and the words of error messages and whether there are any. Two answers are the same when their plain forms are.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any

from headrace.wire.batch import HEADER_SIZE, iter_batches, read_header
from headrace.wire.schema import ZERO_UUID, Field, Struct

MEMBER_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
HOUR_MS = 3_600_000
OWN_CONFIG = "headrace."
# Sizes of disks and places in a directory or a log that is the broker's own; only whether there is one can be compared.
ANY_VALUE = {
    "port",
    "cluster_id",
    "log_dir",
    "total_bytes",
    "usable_bytes",
    "throttle_time_ms",
    "documentation",
    "finalized_features_epoch",
    "log_end_offset",
}
ANY_VALUE_IN_A_QUORUM = {"high_watermark", "leader_epoch"}
TEXTS = {"error_message", "batch_index_error_message"}


class Names:
    """Ids that brokers make up, by the order in which they appear."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, Any], str] = {}
        self.known = {ZERO_UUID: "no id"}
        """Topic ids by what a script calls them; all others are just new."""

    def name(self, kind: str, value: Any) -> str:
        count = sum(1 for known, _ in self._names if known == kind)
        return self._names.setdefault((kind, value), f"{kind}-{count}")


def plain(value: Any, names: Names, *, ordered: bool = False) -> Any:
    """A response as JSON values. Lists are sorted, because brokers keep an order of their own, unless they are `ordered`."""
    assert isinstance(value, Struct)
    return _struct(value, names, ordered)


def _struct(value: Struct, names: Names, ordered: bool) -> dict[str, Any]:
    shown = {}
    for name, field in value.FIELDS.items():
        content = getattr(value, name)
        if name not in TEXTS and (content != value.default_of(name) or name == "producer_id"):
            of_quorum = name in ANY_VALUE_IN_A_QUORUM and type(value).__module__.endswith("describe_quorum")
            shown[name] = "any" if of_quorum else _value(content, name, field, names, ordered)
    return shown


def _value(value: Any, name: str, field: Field, names: Names, ordered: bool) -> Any:
    if value is None:
        return None
    if field.kind == "records":
        return records(value, names)
    if name in ANY_VALUE:
        return "any"
    if field.kind == "array":
        assert field.element is not None
        # Settings that only Headrace has are nothing to compare.
        own = [each for each in value if name == "configs" and each.name.startswith(OWN_CONFIG)]
        rows = [_value(each, name, field.element, names, ordered) for each in value if each not in own]
        return rows if ordered or field.element.kind != "struct" else sorted(rows, key=json.dumps)
    if field.kind == "struct":
        return _struct(value, names, ordered)
    return _scalar(value, name, field, names)


def _scalar(value: Any, name: str, field: Field, names: Names) -> Any:
    if field.kind == "uuid":
        return names.known.get(value, "new id")
    if field.kind == "bytes":
        return bytes(value).hex()
    if isinstance(value, str):
        return MEMBER_ID.sub(lambda match: names.name("member", match.group()), value)
    if name == "session_id" and value:
        return names.name("session", value)
    if name == "producer_id" and value >= 0:
        return names.name("producer", value)
    return moment(value)


def moment(value: Any) -> Any:
    """A time of this hour is now, one a day later is tomorrow; any other number is itself."""
    if isinstance(value, bool):
        return value
    ahead = value - time.time() * 1000
    if abs(ahead) < HOUR_MS:
        return "now"
    return "tomorrow" if abs(ahead - 24 * HOUR_MS) < HOUR_MS else value


def records(data: Any, names: Names) -> Any:
    """Whole batches by what their headers say; Kafka may send the beginning of one more, which readers must ignore."""
    data = whole_batches(b"".join(data) if isinstance(data, list) else bytes(data))
    return [
        {
            "base_offset": header.base_offset,
            "size": header.size,
            "leader_epoch": header.partition_leader_epoch,
            "attributes": header.attributes,
            "last_offset_delta": header.last_offset_delta,
            "base_timestamp": moment(header.base_timestamp),
            "max_timestamp": moment(header.max_timestamp),
            "producer": names.name("producer", header.producer_id) if header.producer_id >= 0 else -1,
            "epoch": header.producer_epoch,
            "sequence": header.base_sequence,
            "count": header.record_count,
        }
        for _, header in iter_batches(data)
    ]


def whole_batches(data: bytes) -> bytes:
    end = 0
    while end + HEADER_SIZE <= len(data) and end + read_header(data, end).size <= len(data):
        end += read_header(data, end).size
    return data[:end]
