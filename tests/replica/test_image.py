"""The image: replay in any grouping gives the same, a snapshot gives it back, and what is unknown stops everything."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.replica import controller
from headrace.replica.features import UnknownMetadata, advertised
from headrace.replica.image import BROKER_RESOURCE, TOPIC_RESOURCE, ClusterImage
from headrace.replica.snapshot import image_records, record_version
from headrace.wire.records import metadata as md
from headrace.wire.schema import Message
from tests.replica.cluster import NODE_ID, Cluster, creatable, registration

names = st.sampled_from(["a", "b", "a.b", "a_b", "x-y", "long.name_with-all"])
configs = st.sampled_from(
    [("retention.ms", "1"), ("retention.ms", "2"), ("cleanup.policy", "compact"), ("min.insync.replicas", "1")]
)
operations = st.one_of(
    st.tuples(st.just("create"), names, st.integers(1, 4)),
    st.tuples(st.just("delete"), names),
    st.tuples(st.just("grow"), names, st.integers(1, 6)),
    st.tuples(st.just("set"), names, configs),
    st.tuples(st.just("unset"), names, configs),
    st.tuples(st.just("broker"), st.sampled_from(["", "1"]), st.integers(1, 9)),
    st.tuples(st.just("producers")),
    st.tuples(st.just("restart"), st.booleans()),
    st.tuples(st.just("carried"), st.integers(0, 5)),
)


def carried(number: int) -> list[Message]:
    """Records that this node does not use and must not lose."""
    acl = md.AccessControlEntryRecord(id=bytes([number]) * 16, resource_name=f"r{number}", principal="User:x", host="*")
    scram = md.UserScramCredentialRecord(name="u", mechanism=number % 2, salt=b"s", stored_key=b"k", server_key=b"v")
    quota = md.ClientQuotaRecord(
        entity=[md.EntityData(entity_type="user", entity_name=None)], key=f"k{number}", value=number / 2
    )
    token = md.DelegationTokenRecord(token_id=f"t{number}", owner="o", requester="r")
    removals: list[Message] = [
        md.RemoveAccessControlEntryRecord(id=acl.id),
        md.RemoveUserScramCredentialRecord(name="u", mechanism=number % 2),
        md.ClientQuotaRecord(entity=quota.entity, key=quota.key, remove=True),
        md.RemoveDelegationTokenRecord(token_id=token.token_id),
    ]
    return [acl, scram, quota, token, md.NoOpRecord(), *(removals if number % 3 == 0 else [])]


def perform(cluster: Cluster, operation: tuple) -> None:
    match operation:
        case ("create", name, count):
            cluster.create(name, count)
        case ("delete", name):
            cluster.delete(name)
        case ("grow", name, count):
            cluster.add_partitions(name, count)
        case ("set", name, (key, value)):
            cluster.alter(TOPIC_RESOURCE, name, (key, 0, value))
        case ("unset", name, (key, _)):
            cluster.alter(TOPIC_RESOURCE, name, (key, 1, None))
        case ("broker", name, count):
            cluster.alter(BROKER_RESOURCE, name, ("num.io.threads", 0, str(count)))
        case ("producers",):
            cluster.take(controller.on_allocate_producer_ids(cluster.image, NODE_ID)[0])
        case ("restart", clean):
            cluster.take(controller.on_register_broker(cluster.image, registration(clean=clean)))
        case ("carried", number):
            cluster.take(carried(number))


def content(image: ClusterImage) -> ClusterImage:
    """The image without where in a log it was read."""
    return replace(image, offset=-1, epoch=0)


def empty() -> ClusterImage:
    return ClusterImage(cluster_id="cluster", controller_id=NODE_ID)


@settings(max_examples=150, deadline=None)
@given(st.lists(operations, max_size=25))
def test_replay_gives_the_same_image_however_records_are_grouped(history: list[tuple]) -> None:
    cluster = Cluster()
    for operation in history:
        perform(cluster, operation)
    at_once = empty().apply(cluster.records)
    one_by_one = empty()
    for record in cluster.records:
        one_by_one = one_by_one.apply([record])
    assert at_once == content(cluster.image)
    assert one_by_one == content(cluster.image)


@settings(max_examples=150, deadline=None)
@given(st.lists(operations, max_size=25))
def test_a_snapshot_gives_the_image_back(history: list[tuple]) -> None:
    cluster = Cluster()
    for operation in history:
        perform(cluster, operation)
    records = [
        md.decode_record(md.encode_record(record, record_version(record, cluster.image)))[0]
        for record in image_records(cluster.image)
    ]
    restored = empty().apply(records)
    assert restored == content(cluster.image)


@settings(max_examples=60, deadline=None)
@given(st.lists(operations, max_size=25))
def test_counts_and_both_look_ups_agree(history: list[tuple]) -> None:
    cluster = Cluster()
    for operation in history:
        perform(cluster, operation)
    image = cluster.image
    assert {topic.id: topic for topic in image.topics.values()} == image.topics_by_id
    assert image.partition_count == sum(len(topic.partitions) for topic in image.topics.values())
    for topic in image.topics.values():
        assert [partition.partition for partition in topic.partitions] == list(range(len(topic.partitions)))
    assert not [
        resource for resource in image.configs if resource[0] == TOPIC_RESOURCE and resource[1] not in image.topics
    ]


def test_an_image_does_not_change() -> None:
    cluster = Cluster()
    before = cluster.image
    cluster.create("t", 3)
    assert before.topics == {}
    assert before.partition_count == 0
    again = cluster.image
    cluster.alter(TOPIC_RESOURCE, "t", ("retention.ms", 0, "5"))
    assert again.topic_config("t") == {}


def test_records_of_an_open_transaction_wait_for_its_end() -> None:
    topic = md.TopicRecord(name="t", topic_id=b"t" * 16)
    begun = empty().apply([md.BeginTransactionRecord(name="x"), topic])
    assert "t" not in begun.topics
    assert "t" in begun.apply([md.EndTransactionRecord()]).topics
    aborted = begun.apply([md.AbortTransactionRecord(reason="no")])
    assert "t" not in aborted.topics
    assert aborted.held_back is None


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (md.FeatureLevelRecord(name="quantum.version", feature_level=1), "quantum.version"),
        (md.FeatureLevelRecord(name="metadata.version", feature_level=99), "metadata.version at level 99"),
        (md.FeatureLevelRecord(name="transaction.version", feature_level=3), "transaction.version at level 3"),
        (md.PartitionRecord(partition_id=0, topic_id=b"?" * 16), "does not exist"),
        (md.RemoveTopicRecord(topic_id=b"?" * 16), "does not exist"),
        (md.BrokerRegistrationChangeRecord(broker_id=9, fenced=1), "broker 9"),
        (md.EndTransactionRecord(), "EndTransactionRecord"),
    ],
)
def test_what_cannot_be_applied_is_named(record: Message, says: str) -> None:
    with pytest.raises(UnknownMetadata, match=says):
        empty().apply([record])


def test_clients_are_told_of_what_is_implemented_only() -> None:
    """A directory formatted by Kafka has all features on; its clients must not use what is not there."""
    kafka = {
        "metadata.version": 30,
        "group.version": 1,
        "share.version": 1,
        "transaction.version": 2,
        "kraft.version": 1,
    }
    assert advertised(kafka) == {"metadata.version": 30, "kraft.version": 1, "transaction.version": 2}


def test_ten_thousand_topics_one_by_one_and_in_one_request() -> None:
    """Far below a second each on this path; the bound only catches something quadratic."""
    cluster = Cluster()
    started = time.perf_counter()
    for number in range(3_000):
        cluster.create(f"one-{number}")
    cluster.create_all(*(creatable(f"many.{number}") for number in range(10_000)))
    assert time.perf_counter() - started < 20
    assert len(cluster.image.topics) == 13_000
