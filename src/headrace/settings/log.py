"""Broker settings for log directories, segments, retention, flushing and topic creation; most are defaults of topic settings."""

from __future__ import annotations

from headrace.settings.definition import LONG_MAX, AtLeast, Between, Items, OneOf, Setting, Type, Update
from headrace.settings.topic import COMPRESSION_TYPES, DAY_MS, HOUR_MS, MAX_MESSAGE_BYTES, MIB, TIMESTAMP_TYPES

_LIVE = Update.CLUSTER_WIDE


def _default_of(topic_setting: str, more: str = "") -> str:
    return f"Default of the topic setting {topic_setting}.{' ' + more if more else ''}"


SETTINGS = (
    Setting(
        "log.dirs",
        Type.LIST,
        ["./headrace-data"],
        "The directories that hold the data, with commas. Partitions go to the one with the fewest; one that fails takes only its own partitions offline.",
        Items(may_be_empty=False),
        "high",
    ),
    Setting("log.dir", Type.LIST, None, "Used when log.dirs is not set.", Items(may_be_empty=False), "high"),
    Setting("num.partitions", Type.INT, 1, "Partitions of a topic created without saying how many.", AtLeast(1)),
    Setting(
        "auto.create.topics.enable",
        Type.BOOLEAN,
        True,
        "Whether a topic comes into being when a client asks for its metadata.",
        importance="high",
    ),
    Setting("delete.topic.enable", Type.BOOLEAN, True, "Whether topics can be deleted.", importance="high"),
    Setting(
        "log.retention.ms",
        Type.LONG,
        None,
        _default_of("retention.ms", "Comes before log.retention.minutes and log.retention.hours."),
        importance="high",
        update=_LIVE,
    ),
    Setting(
        "log.retention.minutes",
        Type.INT,
        None,
        "log.retention.ms in minutes; comes before log.retention.hours.",
        importance="high",
    ),
    Setting(
        "log.retention.hours",
        Type.INT,
        168,
        "log.retention.ms in hours, when neither of the finer ones is set.",
        importance="high",
    ),
    Setting("log.retention.bytes", Type.LONG, -1, _default_of("retention.bytes"), importance="high", update=_LIVE),
    Setting(
        "log.retention.check.interval.ms",
        Type.LONG,
        5 * 60 * 1000,
        "How often the broker looks for segments to delete.",
        AtLeast(1),
    ),
    Setting(
        "log.cleanup.policy",
        Type.LIST,
        ["delete"],
        _default_of("cleanup.policy"),
        Items(("compact", "delete")),
        update=_LIVE,
    ),
    Setting("log.segment.bytes", Type.INT, 1024 * MIB, _default_of("segment.bytes"), AtLeast(MIB), "high", _LIVE),
    Setting(
        "log.segment.delete.delay.ms", Type.LONG, 60000, _default_of("file.delete.delay.ms"), AtLeast(0), "high", _LIVE
    ),
    Setting(
        "log.roll.ms",
        Type.LONG,
        None,
        _default_of("segment.ms", "Comes before log.roll.hours."),
        AtLeast(1),
        "high",
        _LIVE,
    ),
    Setting("log.roll.hours", Type.INT, 168, "log.roll.ms in hours.", AtLeast(1), "high"),
    Setting(
        "log.roll.jitter.ms",
        Type.LONG,
        None,
        _default_of("segment.jitter.ms", "Comes before log.roll.jitter.hours."),
        AtLeast(0),
        "high",
        _LIVE,
    ),
    Setting("log.roll.jitter.hours", Type.INT, 0, "log.roll.jitter.ms in hours.", AtLeast(0), "high"),
    Setting(
        "log.index.size.max.bytes", Type.INT, 10 * MIB, _default_of("segment.index.bytes"), AtLeast(4), update=_LIVE
    ),
    Setting("log.index.interval.bytes", Type.INT, 4096, _default_of("index.interval.bytes"), AtLeast(0), update=_LIVE),
    Setting(
        "log.flush.interval.messages", Type.LONG, LONG_MAX, _default_of("flush.messages"), AtLeast(1), "high", _LIVE
    ),
    Setting(
        "log.flush.interval.ms",
        Type.LONG,
        None,
        _default_of("flush.ms", "When unset, log.flush.scheduler.interval.ms counts."),
        AtLeast(0),
        "high",
        _LIVE,
    ),
    Setting(
        "log.flush.scheduler.interval.ms",
        Type.LONG,
        LONG_MAX,
        "How often the broker looks for logs that are due to be forced to disk.",
        AtLeast(1),
        "high",
    ),
    Setting(
        "log.flush.offset.checkpoint.interval.ms",
        Type.INT,
        60000,
        "How often the recovery points are written down; recovery after a crash starts there.",
        AtLeast(0),
        "high",
    ),
    Setting(
        "log.flush.start.offset.checkpoint.interval.ms",
        Type.INT,
        60000,
        "How often the log start offsets are written down. They share a run with the recovery points, which the shorter interval decides.",
        AtLeast(0),
        "high",
    ),
    Setting("log.preallocate", Type.BOOLEAN, False, _default_of("preallocate"), update=_LIVE),
    Setting(
        "message.max.bytes", Type.INT, MAX_MESSAGE_BYTES, _default_of("max.message.bytes"), AtLeast(0), "high", _LIVE
    ),
    Setting(
        "log.message.timestamp.type",
        Type.STRING,
        "CreateTime",
        _default_of("message.timestamp.type"),
        OneOf(TIMESTAMP_TYPES),
        update=_LIVE,
    ),
    Setting(
        "log.message.timestamp.before.max.ms",
        Type.LONG,
        LONG_MAX,
        _default_of("message.timestamp.before.max.ms"),
        AtLeast(0),
        update=_LIVE,
    ),
    Setting(
        "log.message.timestamp.after.max.ms",
        Type.LONG,
        HOUR_MS,
        _default_of("message.timestamp.after.max.ms"),
        AtLeast(0),
        update=_LIVE,
    ),
    Setting(
        "compression.type",
        Type.STRING,
        "producer",
        _default_of("compression.type"),
        OneOf(COMPRESSION_TYPES),
        "high",
        _LIVE,
    ),
    Setting(
        "compression.gzip.level",
        Type.INT,
        -1,
        _default_of("compression.gzip.level"),
        Between(1, 9, also=-1),
        update=_LIVE,
    ),
    Setting("compression.lz4.level", Type.INT, 9, _default_of("compression.lz4.level"), Between(1, 17), update=_LIVE),
    Setting(
        "compression.zstd.level", Type.INT, 3, _default_of("compression.zstd.level"), Between(-131072, 22), update=_LIVE
    ),
    Setting("min.insync.replicas", Type.INT, 1, _default_of("min.insync.replicas"), AtLeast(1), "high", _LIVE),
    Setting(
        "unclean.leader.election.enable",
        Type.BOOLEAN,
        False,
        _default_of("unclean.leader.election.enable"),
        importance="high",
        update=_LIVE,
    ),
    Setting(
        "log.cleaner.delete.retention.ms",
        Type.LONG,
        DAY_MS,
        _default_of("delete.retention.ms"),
        AtLeast(0),
        update=_LIVE,
    ),
    Setting(
        "log.cleaner.min.compaction.lag.ms",
        Type.LONG,
        0,
        _default_of("min.compaction.lag.ms"),
        AtLeast(0),
        update=_LIVE,
    ),
    Setting(
        "log.cleaner.max.compaction.lag.ms",
        Type.LONG,
        LONG_MAX,
        _default_of("max.compaction.lag.ms"),
        AtLeast(1),
        update=_LIVE,
    ),
    Setting(
        "log.cleaner.min.cleanable.ratio",
        Type.DOUBLE,
        0.5,
        _default_of("min.cleanable.dirty.ratio"),
        Between(0, 1),
        update=_LIVE,
    ),
    Setting("log.local.retention.ms", Type.LONG, -2, _default_of("local.retention.ms"), AtLeast(-2), update=_LIVE),
    Setting(
        "log.local.retention.bytes", Type.LONG, -2, _default_of("local.retention.bytes"), AtLeast(-2), update=_LIVE
    ),
    Setting(
        "headrace.delete.consumed.groups",
        Type.LIST,
        [],
        _default_of(
            "headrace.delete.consumed.groups", "Carried out with retention, every log.retention.check.interval.ms."
        ),
        Items(),
        update=_LIVE,
    ),
    Setting("headrace.validate.records", Type.BOOLEAN, False, _default_of("headrace.validate.records"), update=_LIVE),
    Setting(
        "producer.id.expiration.ms",
        Type.INT,
        DAY_MS,
        "How long a partition remembers an idempotent producer that is silent.",
        AtLeast(1),
        "low",
        _LIVE,
    ),
    Setting(
        "producer.id.expiration.check.interval.ms",
        Type.INT,
        600000,
        "How often partitions forget silent producers.",
        AtLeast(1),
        "low",
        internal=True,
    ),
    Setting(
        "headrace.slow.append.ms",
        Type.INT,
        5,
        "Once a write has taken longer than this, appends of that directory go through a writer thread until it is fast again.",
        AtLeast(1),
        "low",
    ),
    Setting(
        "headrace.max.open.files",
        Type.INT,
        0,
        "How many inactive segment and index files stay open between reads. 0 takes what the descriptor limit leaves.",
        AtLeast(0),
        "low",
    ),
)
