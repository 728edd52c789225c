"""What cleaning has done to the partitions of a topic and what it will do: for `headrace topic describe`.

Told as JSON in a read-only entry of DescribeConfigs that only those get who ask for it by name: no API of Kafka's has a place
for it, and a tool that asks for all configs of a topic shall see configs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headrace.coordinator.consumed import new_log_start
from headrace.replica.partition import Partition
from headrace.replica.topic_names import is_internal
from headrace.settings.definition import Type
from headrace.settings.describe import Described, Source

if TYPE_CHECKING:
    from headrace.broker.server import Broker

NAME = "headrace.cleaning"
_DOC = "What retention, compaction and deletion once consumed have done and will do, per partition, as JSON."


def described(broker: Broker, topic: str) -> Described:
    """The entry of DescribeConfigs."""
    partitions = broker.replicas.topics.get(topic, {})
    rows = [_partition(broker, each) for _, each in sorted(partitions.items()) if not each.offline]
    return Described(NAME, json.dumps(rows), Source.DEFAULT_CONFIG, False, True, [], Type.STRING, _DOC)


def _partition(broker: Broker, partition: Partition) -> dict[str, Any]:
    log, config = partition.log, partition.log.config
    row: dict[str, Any] = {
        "partition": partition.partition,
        "log_start_offset": log.log_start_offset,
        "segments": len(log.segments),
    }
    if config.delete:
        row |= _retention(partition)
    if config.compact:
        row["compaction"] = _compaction(broker, partition)
    if config.delete_consumed_groups and config.may_delete_records and not is_internal(partition.topic):
        row["consumed"] = _consumed(broker, partition)
    return row


def _retention(partition: Partition) -> dict[str, Any]:
    """When the oldest segment goes by its age, and how many bytes there are too many."""
    log, config = partition.log, partition.log.config
    first = log.segments[0]
    expires_ms = None
    if config.retention_ms >= 0 and first.size:
        expires_ms = first.largest_timestamp() + config.retention_ms
    surplus = max(0, log.size - config.retention_bytes) if config.retention_bytes >= 0 else None
    return {"oldest_expires_ms": expires_ms, "bytes_over_limit": surplus}


def _compaction(broker: Broker, partition: Partition) -> dict[str, Any]:
    cleaner, config = broker.cleaner, partition.log.config
    found = cleaner.assess(partition)
    return {
        "cleaned_to": cleaner.cleaned_to(partition),
        "cleanable_to": found.end,
        "clean_bytes": found.clean_bytes,
        "dirty_bytes": found.dirty_bytes,
        "dirty_ratio": round(found.dirty_ratio, 4),
        "min_dirty_ratio": config.min_cleanable_dirty_ratio,
        "is_due": found.is_due(config.min_cleanable_dirty_ratio),
    }


def _consumed(broker: Broker, partition: Partition) -> dict[str, Any]:
    """Who holds the records, and where the log will start when retention runs next."""
    holds = broker.consumed.holds(partition)
    start = new_log_start(holds, partition.last_stable_offset) if broker.groups.all_loaded else None
    return {
        "groups": [{"group": hold.group, "offset": hold.offset} for hold in holds],
        "log_will_start_at": max(partition.log_start_offset, start or 0),
    }
