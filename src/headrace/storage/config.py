"""The settings of one log, already parsed: what Kafka's topic configs say, with Kafka's defaults.

Immutable; a changed topic config is a new LogConfig put into `Log.config`. Limits such as Kafka's minimum segment size
are checked where a setting is parsed, not here.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_LONG = 2**63 - 1
MAX_INT = 2**31 - 1
WEEK_MS = 7 * 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class LogConfig:
    segment_bytes: int = 1024 * 1024 * 1024
    segment_ms: int = WEEK_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 * 1024 * 1024
    index_interval_bytes: int = 4096
    retention_ms: int = WEEK_MS
    retention_bytes: int = -1
    flush_messages: int = MAX_LONG
    flush_ms: int = MAX_LONG
    max_message_bytes: int = 1024 * 1024 + 12
    cleanup_policy: frozenset[str] = frozenset({"delete"})
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = MAX_LONG
    message_timestamp_after_max_ms: int = 60 * 60 * 1000
    file_delete_delay_ms: int = 60_000
    delete_retention_ms: int = 24 * 60 * 60 * 1000
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = MAX_LONG
    preallocate: bool = False
    # headrace.delete.consumed.groups: whose committed offsets move the log start; "*" for all that have committed.
    delete_consumed_groups: tuple[str, ...] = ()
    # headrace.validate.records: decode every batch, not only those whose topic's settings need it.
    validate_records: bool = False
    # producer.id.expiration.ms, a broker setting that every log carries so that it needs no other place.
    producer_id_expiration_ms: int = 24 * 60 * 60 * 1000

    @property
    def compact(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def may_delete_records(self) -> bool:
        """Whether records may go from the front: always, except where compaction alone decides what goes."""
        return self.delete or not self.cleanup_policy

    @property
    def log_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"

    @property
    def decodes_records(self) -> bool:
        """Whether the header alone cannot tell if a batch is acceptable to this topic."""
        return (
            self.validate_records
            or self.compact
            or (not self.log_append_time and self.message_timestamp_before_max_ms < MAX_LONG)
        )
