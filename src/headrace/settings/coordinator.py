"""Broker settings for consumer groups, committed offsets, and transactions (declared for the directories of brokers that use them)."""

from __future__ import annotations

from headrace.settings.definition import INT_MAX, AtLeast, Between, Setting, Type

SETTINGS = (
    Setting(
        "group.initial.rebalance.delay.ms",
        Type.INT,
        3000,
        "How long a new, empty group waits for more members before its first assignment. 0 makes tests faster.",
        AtLeast(0),
    ),
    Setting(
        "group.min.session.timeout.ms", Type.INT, 6000, "The shortest session timeout a member may ask for.", AtLeast(1)
    ),
    Setting(
        "group.max.session.timeout.ms",
        Type.INT,
        1800000,
        "The longest session timeout a member may ask for.",
        AtLeast(1),
    ),
    Setting("group.max.size", Type.INT, INT_MAX, "The most members a group may have.", AtLeast(1)),
    Setting(
        "group.consumer.session.timeout.ms",
        Type.INT,
        45000,
        "Default of the group setting consumer.session.timeout.ms.",
        AtLeast(1),
    ),
    Setting(
        "group.consumer.heartbeat.interval.ms",
        Type.INT,
        5000,
        "Default of the group setting consumer.heartbeat.interval.ms.",
        AtLeast(1),
    ),
    Setting(
        "offsets.topic.num.partitions",
        Type.INT,
        50,
        "Partitions of __consumer_offsets. Counts only when the topic is created.",
        AtLeast(1),
        "high",
    ),
    Setting(
        "offsets.topic.replication.factor",
        Type.SHORT,
        1,
        "Replicas of __consumer_offsets. Counts only when the topic is created. (Apache Kafka's default is 3.)",
        AtLeast(1),
        "high",
    ),
    Setting(
        "offsets.topic.segment.bytes",
        Type.INT,
        100 * 1024 * 1024,
        "Segment size of __consumer_offsets.",
        AtLeast(1),
        "high",
    ),
    Setting(
        "offsets.topic.compression.codec",
        Type.INT,
        0,
        "Codec of the batches in __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
        Between(0, 4),
        "high",
    ),
    Setting(
        "offsets.retention.minutes",
        Type.INT,
        7 * 24 * 60,
        "How long a group's committed offsets are kept after it became empty.",
        AtLeast(1),
        "high",
    ),
    Setting(
        "offsets.retention.check.interval.ms",
        Type.LONG,
        600000,
        "How often the broker looks for committed offsets that have expired.",
        AtLeast(1),
        "high",
    ),
    Setting(
        "offset.metadata.max.bytes",
        Type.INT,
        4096,
        "The longest text a client may store with a committed offset. Longer gets OFFSET_METADATA_TOO_LARGE.",
        AtLeast(0),
        "high",
    ),
    Setting(
        "offsets.load.buffer.size",
        Type.INT,
        5 * 1024 * 1024,
        "Bytes read at once when groups are loaded.",
        AtLeast(1),
        "high",
    ),
    Setting(
        "transaction.state.log.num.partitions", Type.INT, 50, "Partitions of __transaction_state.", AtLeast(1), "high"
    ),
    Setting(
        "transaction.state.log.replication.factor",
        Type.SHORT,
        1,
        "Replicas of __transaction_state. (Apache Kafka's default is 3.)",
        AtLeast(1),
        "high",
    ),
    Setting(
        "transaction.state.log.min.isr",
        Type.INT,
        1,
        "min.insync.replicas of __transaction_state. (Apache Kafka's default is 2.)",
        AtLeast(1),
        "high",
    ),
    Setting(
        "transaction.state.log.segment.bytes",
        Type.INT,
        100 * 1024 * 1024,
        "Segment size of __transaction_state.",
        AtLeast(1),
        "high",
    ),
)
