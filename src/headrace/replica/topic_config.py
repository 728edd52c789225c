"""What a topic's log runs with: the topic's own configs over the broker's, as the LogConfig that storage takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.replica.image import ClusterImage
from headrace.settings import BrokerSettings
from headrace.settings.describe import topic_values
from headrace.storage.config import LogConfig

# LogConfig's fields by the topic setting that gives them.
_FIELDS = {
    "segment_bytes": "segment.bytes",
    "segment_ms": "segment.ms",
    "segment_jitter_ms": "segment.jitter.ms",
    "segment_index_bytes": "segment.index.bytes",
    "index_interval_bytes": "index.interval.bytes",
    "retention_ms": "retention.ms",
    "retention_bytes": "retention.bytes",
    "flush_messages": "flush.messages",
    "flush_ms": "flush.ms",
    "max_message_bytes": "max.message.bytes",
    "compression_type": "compression.type",
    "compression_gzip_level": "compression.gzip.level",
    "compression_lz4_level": "compression.lz4.level",
    "compression_zstd_level": "compression.zstd.level",
    "message_timestamp_type": "message.timestamp.type",
    "message_timestamp_before_max_ms": "message.timestamp.before.max.ms",
    "message_timestamp_after_max_ms": "message.timestamp.after.max.ms",
    "file_delete_delay_ms": "file.delete.delay.ms",
    "delete_retention_ms": "delete.retention.ms",
    "min_cleanable_dirty_ratio": "min.cleanable.dirty.ratio",
    "min_compaction_lag_ms": "min.compaction.lag.ms",
    "max_compaction_lag_ms": "max.compaction.lag.ms",
    "preallocate": "preallocate",
    "validate_records": "headrace.validate.records",
}


def topic_config(overrides: Mapping[str, str], settings: BrokerSettings) -> LogConfig:
    """The LogConfig of a topic with `overrides` on this broker."""
    values = topic_values(overrides, settings)
    fields: dict[str, Any] = {field: values[name] for field, name in _FIELDS.items()}
    if values["internal.segment.bytes"] is not None:
        fields["segment_bytes"] = values["internal.segment.bytes"]
    policy = frozenset(values["cleanup.policy"])
    if "compact" in policy:
        # What is in the active segment cannot be compacted.
        fields["segment_ms"] = min(fields["segment_ms"], fields["max_compaction_lag_ms"])
    return LogConfig(
        **fields,
        cleanup_policy=policy,
        delete_consumed_groups=tuple(values["headrace.delete.consumed.groups"]),
        producer_id_expiration_ms=settings["producer.id.expiration.ms"],
    )


def log_config(image: ClusterImage, topic: str, settings: BrokerSettings) -> LogConfig:
    """The LogConfig of a topic of the image; topics without configs of their own share one object."""
    overrides = image.topic_config(topic)
    if overrides:
        return topic_config(overrides, settings)
    shared: LogConfig = settings.cached("replica.log_config", lambda: topic_config({}, settings))
    return shared


def min_insync_replicas(image: ClusterImage, topic: str, settings: BrokerSettings) -> int:
    value = image.topic_config(topic).get("min.insync.replicas")
    return int(value) if value is not None else int(settings["min.insync.replicas"])
