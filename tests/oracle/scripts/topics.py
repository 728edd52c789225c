"""Topics: Metadata, DescribeTopicPartitions, CreateTopics, DeleteTopics, CreatePartitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from headrace.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.oracle.requests import UNKNOWN_ID, metadata, versions
from tests.oracle.script import Script

BAD_NAMES = ("", ".", "..", "a b", "a/b", "x" * 250, "ü", "a:b", "a\n")


def metadata_versions(s: Script) -> None:
    """Metadata without creation."""
    s.create("m", "n", partitions=3)
    for version in versions(MetadataRequest):
        s.call(metadata("m"), version, "one")
        s.call(metadata("m", "m", "n"), version, "one twice")
        s.call(metadata("nowhere"), version, "unknown")
        s.call(metadata("m", "nowhere", "bad/name"), version, "three kinds")
        s.call(metadata(), version, "empty list")
        if version >= 1:
            s.call(MetadataRequest(topics=None), version, "null list")
        for name in BAD_NAMES:
            s.call(metadata(name), version, f"name {name[:5]!r}")
        s.call(metadata("__consumer_offsets", "__transaction_state", "__cluster_metadata"), version, "internal")
    for version in range(8, 14):
        for cluster in (False, True):
            for topic in (False, True):
                flags = {"include_cluster_authorized_operations": cluster, "include_topic_authorized_operations": topic}
                s.call(metadata("m", "nowhere", **flags), version, f"operations {cluster} {topic}")
                s.call(MetadataRequest(topics=None, **flags), version, f"operations of all {cluster} {topic}")
    for version in range(10, 14):
        s.call(metadata(ids=[s.topics["m"]]), version, "by id")
        s.call(metadata(ids=[UNKNOWN_ID]), version, "unknown id")
        s.call(metadata(ids=[s.topics["m"], UNKNOWN_ID, s.topics["n"]]), version, "ids")
        s.call(metadata("n", ids=[s.topics["m"]]), version, "name and id")
        s.call(metadata(None), version, "null name, zero id")
        both = MetadataRequestTopic(name="m", topic_id=s.topics["m"])
        s.call(MetadataRequest(topics=[both], allow_auto_topic_creation=False), version, "both")
        other = MetadataRequestTopic(name="m", topic_id=s.topics["n"])
        s.call(MetadataRequest(topics=[other], allow_auto_topic_creation=False), version, "both, and they disagree")
        flags = {"include_topic_authorized_operations": True}
        s.call(metadata(ids=[s.topics["m"], UNKNOWN_ID], **flags), version, "operations by id")


def metadata_may_create(s: Script) -> None:
    """Asked to create, but the broker does not."""
    for version in versions(MetadataRequest):
        s.call(metadata("wished", "bad/name", create=True), version)


def described_partitions(s: Script) -> None:
    """DescribeTopicPartitions."""
    s.create("a", "b", "c", partitions=3)
    s.create("d")

    def ask(*names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> None:
        position = Cursor(topic_name=cursor[0], partition_index=cursor[1]) if cursor else None
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names], response_partition_limit=limit, cursor=position
        )
        s.call(request, 0, f"{names} {limit} {cursor}")

    ask()
    ask("a")
    ask("c", "a", "nowhere")
    ask("a", "a")
    ask("bad/name", "", "a")
    for limit in (0, 1, 2, 3, 4, 6, 7, 9, 10, 11, -1):
        ask(limit=limit)
        ask("a", "c", limit=limit)
        ask("a", "b", "nowhere", limit=limit)
    for cursor in (
        ("a", 0),
        ("a", 2),
        ("a", 3),
        ("a", 9),
        ("b", 1),
        ("d", 0),
        ("d", 1),
        ("zz", 0),
        ("aa", 1),
        ("a", -1),
    ):
        ask(cursor=cursor)
        ask(cursor=cursor, limit=2)
        ask("a", "b", "c", cursor=cursor)
        ask("a", "b", "c", cursor=cursor, limit=2)
        ask("c", "nowhere", cursor=cursor)
    ask("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")


def new_topic(name: str, partitions: int = 1, factor: int = 1, assign: Any = (), **configs: Any) -> CreatableTopic:
    """`assign` are lists of brokers, or (partition, brokers) where the numbers are not 0, 1, 2."""
    rows = [one if isinstance(one, tuple) else (index, one) for index, one in enumerate(assign)]
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in rows],
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


def create(*topics: CreatableTopic, validate: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=list(topics), timeout_ms=30_000, validate_only=validate)


def created_topics(s: Script) -> None:
    """CreateTopics: every way to be refused, and some to succeed."""
    s.create("there", "dotted.name")
    for version in versions(CreateTopicsRequest):
        s.call(create(new_topic(f"dry{version}"), validate=True), version, "validate only")
        made = s.call(create(new_topic(f"v{version}", 2, retention_ms="1000")), version, "created").topics
        s.expect(**{topic.name: topic.topic_id for topic in made})
        s.call(create(new_topic("there")), version, "exists")
        s.call(create(new_topic("there"), validate=True), version, "exists, validate only")
        s.call(create(new_topic("new", -1, -1), validate=True), version, "defaults")
        s.call(create(new_topic("new", 1, 3), validate=True), version, "too many replicas")
        s.call(create(new_topic("new", no_such_config="1"), validate=True), version, "unknown config")
        s.call(create(new_topic("new", -1, -1, [[1], [1]]), validate=True), version, "assigned")
        s.call(create(new_topic("new"), new_topic("there"), new_topic("bad/name"), validate=True), version, "three")
    for name in BAD_NAMES:
        s.call(create(new_topic(name), validate=True), 7, f"name {name[:5]!r}")
    for name in ("dotted_name", "there_", "__consumer_offsets", "__cluster_metadata", "__mine", "x" * 249):
        s.call(create(new_topic(name), validate=True), 7, f"name {name[:20]!r}")
    for count in (0, -2, 10_001, 2**31 - 1, -(2**31)):
        s.call(create(new_topic("new", count), validate=True), 7, f"{count} partitions")
    for factor in (0, -2, 2, 32767, -32768):
        s.call(create(new_topic("new", 1, factor), validate=True), 7, f"replication factor {factor}")
    s.call(create(new_topic("new", 0, 0), validate=True), 7, "neither")
    s.call(create(new_topic("new", -1, 1), new_topic("other", 3, -1), validate=True), 7, "one of two given")
    s.call(create(new_topic("new"), new_topic("new"), validate=True), 7, "twice")
    s.call(create(new_topic("new"), new_topic("new", 0), new_topic("other"), validate=True), 7, "twice and another")
    s.call(create(new_topic("sim.ilar"), new_topic("sim_ilar"), validate=True), 7, "similar in one request")
    s.call(create(), 7, "nothing")
    _assigned_topics(s)
    _configured_topics(s)


def _assigned_topics(s: Script) -> None:
    cases: dict[str, Any] = {
        "partitions given": (2, -1, [[1], [1]]),
        "factor given": (-1, 1, [[1]]),
        "unknown broker": (-1, -1, [[9]]),
        "no brokers": (-1, -1, [[]]),
        "one broker twice": (-1, -1, [[1, 1]]),
        "one of two without": (-1, -1, [[1], []]),
        "a partition twice": (-1, -1, [(0, [1]), (0, [1])]),
        "not from 0": (-1, -1, [(1, [1]), (2, [1])]),
        "a gap": (-1, -1, [(0, [1]), (2, [1])]),
        "negative": (-1, -1, [(-1, [1])]),
        "other factors": (-1, -1, [[1], [1, 9]]),
        "negative broker": (-1, -1, [[-1]]),
    }
    for what, (count, factor, assign) in cases.items():
        s.call(create(new_topic("new", count, factor, assign), validate=True), 7, what)


def _configured_topics(s: Script) -> None:
    cases: dict[str, dict[str, str | None]] = {
        "null value": {"retention_ms": None},
        "empty value": {"retention_ms": ""},
        "not a number": {"retention_ms": "soon"},
        "too small": {"segment_bytes": "1"},
        "spaces": {"retention_ms": " 5000 "},
        "cleanup policy": {"cleanup_policy": "shred"},
        "no cleanup policy": {"cleanup_policy": ""},
        "policy twice": {"cleanup_policy": "delete,delete"},
        "both policies": {"cleanup_policy": "compact,delete"},
        "compression": {"compression_type": "brotli"},
        "zstd": {"compression_type": "zstd"},
        "gzip level": {"compression_gzip_level": "12"},
        "gzip level -1": {"compression_gzip_level": "-1"},
        "lz4 level": {"compression_lz4_level": "0"},
        "zstd level": {"compression_zstd_level": "23"},
        "timestamp type": {"message_timestamp_type": "Never"},
        "boolean": {"preallocate": "yes"},
        "boolean case": {"preallocate": "TRUE"},
        "min isr": {"min_insync_replicas": "0"},
        "min isr of 5": {"min_insync_replicas": "5"},
        "ratio": {"min_cleanable_dirty_ratio": "1.5"},
        "lag": {"min_compaction_lag_ms": "100", "max_compaction_lag_ms": "50"},
        "no lag": {"max_compaction_lag_ms": "0"},
        "local retention": {"local_retention_ms": "100", "retention_ms": "50"},
        "local bytes": {"local_retention_bytes": "100", "retention_bytes": "50"},
        "remote storage": {"remote_storage_enable": "true"},
        "throttled": {"leader_replication_throttled_replicas": "0:1"},
        "throttled wrongly": {"leader_replication_throttled_replicas": "zero"},
        "removed": {"message_format_version": "2.0"},
        "a broker's": {"log_retention_ms": "5"},
        "retention -1": {"retention_ms": "-1"},
        "retention -2": {"retention_ms": "-2"},
        "big number": {"max_message_bytes": "99999999999"},
        "decimal": {"max_message_bytes": "5.5"},
        "unclean": {"unclean_leader_election_enable": "true"},
        "several": {"retention_ms": "1000", "segment_ms": "1000", "cleanup_policy": "compact"},
        "two wrong": {"retention_ms": "x", "segment_ms": "y"},
    }
    for what, configs in cases.items():
        s.call(create(new_topic("new", **configs), validate=True), 7, what)
    twice = new_topic("new", retention_ms="1")
    twice.configs += [CreatableTopicConfig(name="retention.ms", value="2")]
    s.call(create(twice, validate=True), 7, "a config twice")
    s.call(create(new_topic("new", **{"": "1"}), validate=True), 7, "no config name")


def deleted_topics(s: Script) -> None:
    """DeleteTopics."""
    for version in range(1, 6):
        s.create("x", "y", "z")
        request = DeleteTopicsRequest(topic_names=["x", "nowhere", "y"], timeout_ms=10_000)
        s.call(request, version, "two and an unknown one")
        s.gone("x", "y")
        s.call(DeleteTopicsRequest(topic_names=["z", "z"], timeout_ms=10_000), version, "twice")
        s.call(DeleteTopicsRequest(topic_names=["", "bad/name"], timeout_ms=10_000), version, "bad names")
        s.call(DeleteTopicsRequest(timeout_ms=10_000), version, "nothing")
        s.call(DeleteTopicsRequest(topic_names=["z"], timeout_ms=10_000), version, "one")
        s.gone("z")
    _delete_by_id(s)


def _delete_by_id(s: Script) -> None:
    s.create("a", "b", "c", "d", "e")
    a, b, d = (s.topics[name] for name in "abd")

    def states(*topics: tuple[str | None, bytes | None]) -> DeleteTopicsRequest:
        rows = [DeleteTopicState(name=name, topic_id=topic_id or bytes(16)) for name, topic_id in topics]
        return DeleteTopicsRequest(topics=rows, timeout_ms=10_000)

    s.call(states((None, UNKNOWN_ID)), 6, "unknown id")
    s.call(states((None, None)), 6, "zero id")
    s.call(states(("a", a)), 6, "name and id")
    s.call(states(("a", b)), 6, "name and another id")
    s.call(states((None, a), (None, a)), 6, "an id twice")
    s.call(states(("b", None), ("b", None)), 6, "a name twice")
    s.call(states(("b", None), (None, b)), 6, "by name and by id")
    s.call(states(("c", None), (None, d), ("nowhere", None), (None, UNKNOWN_ID)), 6, "four")
    s.gone("c", "d")
    s.call(states((None, d)), 6, "gone")
    s.call(states(("", None)), 6, "no name")
    s.call(states(("e", None)), 6, "by name")
    s.gone("e")


def created_partitions(s: Script) -> None:
    """CreatePartitions."""
    s.create("p", "q", partitions=2)

    def ask(
        what: str, *topics: tuple[str, int, Sequence[Sequence[int]] | None], validate: bool = True, version: int = 3
    ) -> None:
        rows = [
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=None
                if given is None
                else [CreatePartitionsAssignment(broker_ids=list(ids)) for ids in given],
            )
            for name, count, given in topics
        ]
        s.call(CreatePartitionsRequest(topics=rows, timeout_ms=10_000, validate_only=validate), version, what)

    for version in versions(CreatePartitionsRequest):
        for count in (-1, 0, 1, 2, 3, 10_003, 2**31 - 1):
            ask(f"to {count}", ("p", count, None), version=version)
        ask("unknown", ("nowhere", 3, None), version=version)
        ask("twice", ("p", 3, None), ("p", 4, None), version=version)
        ask("two", ("p", 3, None), ("q", 1, None), version=version)
        for given in ([[1]], [], [[9]], [[]], [[1, 1]], [[1], [1]], [[1, 9]], [[-1]]):
            ask(f"assigned {given}", ("p", 3, given), version=version)
        ask("created", ("q", 3 + version, None), validate=False, version=version)
        s.expect(q=s.topics["q"])
        ask("assigned", ("p", 3 + version, [[1]]), validate=False, version=version)
    ask("nothing")
    ask("bad names", ("", 3, None), ("bad/name", 3, None))
    ask("twice and another", ("p", 9, None), ("p", 10, None), ("q", 20, None))


def metadata_creates(s: Script) -> None:
    """Asked to create, and the broker does: at first without leaders, in Kafka, so the answers after that are compared."""
    for version in versions(MetadataRequest):
        names = [f"wished{version}", f"also{version}"]
        s.client("setup").call(metadata(*names, create=True), version)
        s.expect(**dict.fromkeys(names, b""))
        s.call(metadata(*names, create=True), version, "created")
        s.call(metadata("bad/name", "..", "", create=True), version, "bad names")
        if version >= 4:
            s.call(metadata(f"not{version}", create=False), version, "not wished")
        if version >= 10:
            s.call(metadata(ids=[UNKNOWN_ID], create=True), version, "unknown id")
    s.create("dotted.name")
    s.call(metadata("dotted_name", create=True), 9, "similar name")


SCRIPTS = (
    metadata_versions,
    metadata_may_create,
    described_partitions,
    created_topics,
    deleted_topics,
    created_partitions,
)
AUTO_CREATION_SCRIPTS = (metadata_creates,)
