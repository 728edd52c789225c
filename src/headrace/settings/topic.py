"""Topic settings: all of Kafka 4.3's, with the broker settings that give their defaults, and our own `headrace.*` ones.

A topic stores only what was set on it. Everything else comes from the broker, through `synonyms`: the first one that has a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.settings.definition import (
    LONG_MAX,
    Allowed,
    AtLeast,
    Between,
    Items,
    Matching,
    OneOf,
    Setting,
    SettingError,
    Synonym,
    Type,
    near_miss,
)

DAY_MS = 24 * 60 * 60 * 1000
HOUR_MS = 60 * 60 * 1000
MINUTE_MS = 60 * 1000
MIB = 1024 * 1024
MAX_MESSAGE_BYTES = MIB + 12  # one MiB of records and the overhead of the old log entry around it

COMPRESSION_TYPES = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")

_THROTTLED = Matching(r"([0-9]+:[0-9]+)?", "partition:broker pairs")


def _topic(
    name: str,
    type: Type,
    default: Any,
    allowed: Allowed | None,
    doc: str,
    *synonyms: str | Synonym,
    internal: bool = False,
) -> Setting:
    stand_ins = tuple(Synonym(s) if isinstance(s, str) else s for s in synonyms)
    return Setting(name, type, default, doc, allowed, synonyms=stand_ins, internal=internal)


_DECLARED = (
    _topic(
        "cleanup.policy",
        Type.LIST,
        ["delete"],
        Items(("compact", "delete")),
        "What happens to old segments: `delete` drops them by time and size, `compact` keeps the last value of each key, both do both. "
        "Empty keeps everything. Compaction refuses records without a key.",
        "log.cleanup.policy",
    ),
    _topic(
        "compression.gzip.level",
        Type.INT,
        -1,
        Between(1, 9, also=-1),
        "Level used when batches of this topic are rewritten with gzip.",
        "compression.gzip.level",
    ),
    _topic(
        "compression.lz4.level",
        Type.INT,
        9,
        Between(1, 17),
        "Level used when batches of this topic are rewritten with lz4.",
        "compression.lz4.level",
    ),
    _topic(
        "compression.type",
        Type.STRING,
        "producer",
        OneOf(COMPRESSION_TYPES),
        "The codec batches are kept in. `producer` keeps them as they were sent, which costs nothing.",
        "compression.type",
    ),
    _topic(
        "compression.zstd.level",
        Type.INT,
        3,
        Between(-131072, 22),
        "Level used when batches of this topic are rewritten with zstd.",
        "compression.zstd.level",
    ),
    _topic(
        "delete.retention.ms",
        Type.LONG,
        DAY_MS,
        AtLeast(0),
        "How long a compacted topic keeps tombstones, so that a slow reader still learns of a deletion.",
        "log.cleaner.delete.retention.ms",
    ),
    _topic(
        "file.delete.delay.ms",
        Type.LONG,
        MINUTE_MS,
        AtLeast(0),
        "How long a deleted segment file stays on disk under its `.deleted` name.",
        "log.segment.delete.delay.ms",
    ),
    _topic(
        "flush.messages",
        Type.LONG,
        LONG_MAX,
        AtLeast(1),
        "Force the log to disk after this many records. 1 means after every batch; the default leaves it to the operating system.",
        "log.flush.interval.messages",
    ),
    _topic(
        "flush.ms",
        Type.LONG,
        LONG_MAX,
        AtLeast(0),
        "Force the log to disk when records have waited this long. The default leaves it to the operating system.",
        "log.flush.interval.ms",
        "log.flush.scheduler.interval.ms",
    ),
    _topic(
        "follower.replication.throttled.replicas",
        Type.LIST,
        [],
        _THROTTLED,
        "Replicas whose copying is slowed down on the follower's side. Stored; a single node copies nothing.",
    ),
    _topic(
        "index.interval.bytes",
        Type.INT,
        4096,
        AtLeast(0),
        "How many bytes of log lie between two entries of the offset index.",
        "log.index.interval.bytes",
    ),
    _topic(
        "leader.replication.throttled.replicas",
        Type.LIST,
        [],
        _THROTTLED,
        "Replicas whose copying is slowed down on the leader's side. Stored; a single node copies nothing.",
    ),
    _topic(
        "local.retention.bytes",
        Type.LONG,
        -2,
        AtLeast(-2),
        "Bytes kept on local disk when a topic is tiered; -2 means retention.bytes. Stored; there is no tiered storage.",
        "log.local.retention.bytes",
    ),
    _topic(
        "local.retention.ms",
        Type.LONG,
        -2,
        AtLeast(-2),
        "Time kept on local disk when a topic is tiered; -2 means retention.ms. Stored; there is no tiered storage.",
        "log.local.retention.ms",
    ),
    _topic(
        "max.compaction.lag.ms",
        Type.LONG,
        LONG_MAX,
        AtLeast(1),
        "The longest a record may wait before compaction looks at it.",
        "log.cleaner.max.compaction.lag.ms",
    ),
    _topic(
        "max.message.bytes",
        Type.INT,
        MAX_MESSAGE_BYTES,
        AtLeast(0),
        "The largest record batch a producer may send, after compression. A larger one gets MESSAGE_TOO_LARGE.",
        "message.max.bytes",
    ),
    _topic(
        "message.timestamp.after.max.ms",
        Type.LONG,
        HOUR_MS,
        AtLeast(0),
        "How far a record's CreateTime may lie ahead of the broker's clock. Beyond that the batch gets INVALID_TIMESTAMP.",
        "log.message.timestamp.after.max.ms",
    ),
    _topic(
        "message.timestamp.before.max.ms",
        Type.LONG,
        LONG_MAX,
        AtLeast(0),
        "How far a record's CreateTime may lie behind the broker's clock. Beyond that the batch gets INVALID_TIMESTAMP.",
        "log.message.timestamp.before.max.ms",
    ),
    _topic(
        "message.timestamp.type",
        Type.STRING,
        "CreateTime",
        OneOf(TIMESTAMP_TYPES),
        "`CreateTime` keeps the producer's timestamps, `LogAppendTime` replaces them with the time of the append.",
        "log.message.timestamp.type",
    ),
    _topic(
        "min.cleanable.dirty.ratio",
        Type.DOUBLE,
        0.5,
        Between(0, 1),
        "The share of a log that must be uncompacted before compaction runs over it.",
        "log.cleaner.min.cleanable.ratio",
    ),
    _topic(
        "min.compaction.lag.ms",
        Type.LONG,
        0,
        AtLeast(0),
        "The shortest time a record stays uncompacted.",
        "log.cleaner.min.compaction.lag.ms",
    ),
    _topic(
        "min.insync.replicas",
        Type.INT,
        1,
        AtLeast(1),
        "How many replicas must have a record before acks=all is answered. Fewer in sync gives NOT_ENOUGH_REPLICAS.",
        "min.insync.replicas",
    ),
    _topic(
        "preallocate",
        Type.BOOLEAN,
        False,
        None,
        "Reserve a new segment's whole size on disk when it is created.",
        "log.preallocate",
    ),
    _topic(
        "remote.log.copy.disable",
        Type.BOOLEAN,
        False,
        None,
        "Make a tiered topic's remote part read-only. Stored; there is no tiered storage.",
    ),
    _topic(
        "remote.log.delete.on.disable",
        Type.BOOLEAN,
        False,
        None,
        "Delete a topic's remote data when tiering is switched off. Stored; there is no tiered storage.",
    ),
    _topic(
        "remote.storage.enable",
        Type.BOOLEAN,
        False,
        None,
        "Tiered storage for this topic. `true` is refused: Headrace keeps all data on its own disks.",
    ),
    _topic(
        "retention.bytes",
        Type.LONG,
        -1,
        None,
        "Oldest segments are deleted once a partition is larger than this. -1 sets no limit.",
        "log.retention.bytes",
    ),
    _topic(
        "retention.ms",
        Type.LONG,
        7 * DAY_MS,
        AtLeast(-1),
        "Segments are deleted once their newest record is older than this. -1 keeps records for ever.",
        "log.retention.ms",
        Synonym("log.retention.minutes", MINUTE_MS),
        Synonym("log.retention.hours", HOUR_MS),
    ),
    _topic(
        "segment.bytes",
        Type.INT,
        1024 * MIB,
        AtLeast(MIB),
        "The size at which the log starts a new segment file. Retention works on whole segments.",
        "log.segment.bytes",
    ),
    _topic(
        "segment.index.bytes",
        Type.INT,
        10 * MIB,
        AtLeast(4),
        "The largest offset index of a segment; a full index starts a new segment.",
        "log.index.size.max.bytes",
    ),
    _topic(
        "segment.jitter.ms",
        Type.LONG,
        0,
        AtLeast(0),
        "Up to this much is taken off segment.ms at random, so that segments do not all roll at once.",
        "log.roll.jitter.ms",
        Synonym("log.roll.jitter.hours", HOUR_MS),
    ),
    _topic(
        "segment.ms",
        Type.LONG,
        7 * DAY_MS,
        AtLeast(1),
        "The age at which the log starts a new segment even if the last one is small.",
        "log.roll.ms",
        Synonym("log.roll.hours", HOUR_MS),
    ),
    _topic(
        "unclean.leader.election.enable",
        Type.BOOLEAN,
        False,
        None,
        "Let a replica that is behind become leader when no other is left. Stored; a single node elects nobody.",
        "unclean.leader.election.enable",
    ),
    _topic(
        "headrace.delete.consumed.groups",
        Type.LIST,
        [],
        Items(),
        "Delete records once these groups have read them: the log start moves to the lowest offset that any of them has committed, never "
        "beyond the last stable offset. A group that has not committed yet holds everything; one that is deleted or expires "
        "holds nothing more. `*` stands for the groups that hold a committed offset of the topic now; while there are none, nothing goes. "
        "Time and size still apply. Topics that are compacted and not deleted from, and internal ones, are left alone.",
        "headrace.delete.consumed.groups",
    ),
    _topic(
        "headrace.validate.records",
        Type.BOOLEAN,
        False,
        None,
        "Decode every batch of this topic before it is appended, and refuse what does not decode. Off, Headrace checks what the batch "
        "header can tell and the checksum, which is several times cheaper.",
        "headrace.validate.records",
    ),
    _topic(
        "internal.segment.bytes",
        Type.INT,
        None,
        None,
        "A segment size without segment.bytes' lower bound, for tests of rolling and retention.",
        internal=True,
    ),
)

TOPIC_SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _DECLARED}


def check_topic_overrides(overrides: Mapping[str, str | None]) -> dict[str, Any]:
    """The typed values of what is set on a topic; SettingError on an unknown name or a value that is not allowed."""
    parsed: dict[str, Any] = {}
    for name, text in overrides.items():
        setting = TOPIC_SETTINGS.get(name)
        if setting is None:
            raise SettingError(name, f"no topic setting has this name{near_miss(name, TOPIC_SETTINGS)}")
        if text is None:
            raise SettingError(name, "a value must be given")
        parsed[name] = setting.parse(text)
    return parsed


def check_topic_values(values: Mapping[str, Any]) -> None:
    """What no single setting can check: the values a topic would run with, taken together."""
    low, high = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if low > high:
        raise SettingError("min.compaction.lag.ms", f"{low} is larger than max.compaction.lag.ms, which is {high}")
    if values["remote.storage.enable"]:
        raise SettingError("remote.storage.enable", "Headrace has no tiered storage, so it must be false")
