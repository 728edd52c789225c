"""Records that Kafka itself writes: prefixes and frames byte by byte, messages against kio where it has them."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import kio.index
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from headrace.wire.errors import WireError
from headrace.wire.records import consumer_protocol, control, group, metadata
from headrace.wire.records.control import ControlType
from headrace.wire.schema import Message
from tests.wire.strategies import EVERY_RECORD, name_of, structs

FEW = settings(max_examples=10, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(FEW, max_examples=500)
TOPIC_ID = bytes(range(16))
KIO_NAMES = {
    control.EndTxnMarker: "end_txn_marker",
    control.LeaderChangeMessage: "leader_change_message",
    control.SnapshotHeaderRecord: "snapshot_header_record",
    control.SnapshotFooterRecord: "snapshot_footer_record",
    control.KRaftVersionRecord: "k_raft_version_record",
    control.VotersRecord: "voters_record",
    consumer_protocol.ConsumerProtocolSubscription: "consumer_protocol_subscription",
    consumer_protocol.ConsumerProtocolAssignment: "consumer_protocol_assignment",
}


@pytest.mark.parametrize("case", [case for case in EVERY_RECORD if case[0] in KIO_NAMES], ids=name_of)
def test_kio_has_the_same_bytes(case: tuple[type[Message], int]) -> None:
    cls, version = case
    module: Any = kio.index.load_entity_module(KIO_NAMES[cls], version, EntityType.data)
    entity = getattr(module, cls.__name__)
    read, write = entity_reader(entity), entity_writer(entity)

    @FEW
    @given(structs(cls, version))
    def check(message: Message) -> None:
        data = message.encode(version)
        theirs, size = read(data, 0)
        assert size == len(data)
        out = io.BytesIO()
        write(out, theirs)
        assert out.getvalue() == data

    check()


def test_metadata_record_is_framed() -> None:
    data = metadata.encode_record(metadata.TopicRecord(name="foo", topic_id=TOPIC_ID))
    assert data == b"\x01\x02\x00" + b"\x04foo" + TOPIC_ID + b"\0"
    assert metadata.decode_record(data) == (metadata.TopicRecord(name="foo", topic_id=TOPIC_ID), 0)


def test_partition_record_has_its_directories_from_version_1_on() -> None:
    record = metadata.PartitionRecord(partition_id=1, topic_id=TOPIC_ID, replicas=[1], isr=[1], leader=1)
    record.directories = [TOPIC_ID]
    decoded, version = metadata.decode_record(metadata.encode_record(record, 1))
    assert (decoded, version) == (record, 1)
    older, _ = metadata.decode_record(metadata.encode_record(record, 0))
    assert isinstance(older, metadata.PartitionRecord)
    assert older.directories == []


def test_every_type_of_metadata_record_is_known() -> None:
    assert sorted(metadata.RECORD_TYPES) == [
        *range(6), *range(7, 13), 14, 15, *range(17, 29)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "data, why",
    [
        (b"\x02\x02\x00", "frame version 2"),
        (b"\x01\x63\x00", "unknown type 99"),
        (b"\x01\x02\x07", "TopicRecord in unknown version 7"),
    ],
)
def test_records_of_newer_software(data: bytes, why: str) -> None:
    with pytest.raises(metadata.UnknownRecord, match=why):
        metadata.decode_record(data)


def test_group_keys_and_values() -> None:
    key = group.OffsetCommitKey(group="g", topic="t", partition=5)
    data = group.encode_key(key)
    assert data.hex(" ") == "00 01 00 01 67 00 01 74 00 00 00 05"
    assert group.decode_key(data) == key
    assert group.decode_key(b"\0\0" + data[2:]) == key
    assert group.encode_key(group.GroupMetadataKey(group="g")).hex(" ") == "00 02 00 01 67"
    value = group.OffsetCommitValue(offset=7, leader_epoch=2, metadata="m", commit_timestamp=9)
    data = group.encode_value(value, 3)
    assert data.hex(" ") == "00 03 00 00 00 00 00 00 00 07 00 00 00 02 00 01 6d 00 00 00 00 00 00 00 09"
    assert group.decode_value(group.OffsetCommitValue, data) == value
    with pytest.raises(group.UnknownKey, match="unknown type 3"):
        group.decode_key(b"\0\3\0\1g")
    with pytest.raises(WireError):
        group.decode_value(group.GroupMetadataValue, b"\0\x09")


def test_control_records() -> None:
    message = control.LeaderChangeMessage(leader_id=1, voters=[control.LeaderChangeVoter(voter_id=1)])
    key, value = control.encode_control(ControlType.LEADER_CHANGE, message)
    assert key == b"\0\0\0\2"
    assert value == b"\0\1" + b"\0\0\0\1" + b"\x02\0\0\0\1" + bytes(16) + b"\0" + b"\x01" + b"\0"
    assert control.decode_control(key, value) == (ControlType.LEADER_CHANGE, message)
    key, value = control.encode_control(ControlType.COMMIT, control.EndTxnMarker(coordinator_epoch=4))
    assert (key, value) == (b"\0\0\0\1", b"\0\0\0\0\0\4")
    assert control.decode_control(key, value) == (ControlType.COMMIT, control.EndTxnMarker(coordinator_epoch=4))
    assert control.decode_control(b"\0\0\0\x63", value) is None


def test_a_newer_subscription_is_read_as_far_as_it_is_known() -> None:
    subscription = consumer_protocol.ConsumerProtocolSubscription(topics=["a", "b"], user_data=b"x", generation_id=3)
    data = consumer_protocol.encode_protocol(subscription, 3)
    assert consumer_protocol.decode_protocol(type(subscription), data) == subscription
    newer = b"\0\x09" + data[2:] + b"more"
    assert consumer_protocol.decode_protocol(type(subscription), newer) == subscription


@MANY
@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_give_a_record_or_a_wire_error(one: bytes, other: bytes) -> None:
    def refuses_only_by_wire_error(function: Any, *arguments: Any) -> None:
        with contextlib.suppress(WireError):
            function(*arguments)

    for data in (one, b"\1" + one, b"\0\1" + one, b"\0\2" + one, b"\0\3" + one):
        refuses_only_by_wire_error(metadata.decode_record, data)
        refuses_only_by_wire_error(group.decode_key, data)
        refuses_only_by_wire_error(group.decode_value, group.OffsetCommitValue, data)
        refuses_only_by_wire_error(group.decode_value, group.GroupMetadataValue, data)
        refuses_only_by_wire_error(control.decode_control, data, other)
        refuses_only_by_wire_error(control.decode_control, b"\0\0" + data, b"\0\0" + other)
        for body in (consumer_protocol.ConsumerProtocolSubscription, consumer_protocol.ConsumerProtocolAssignment):
            refuses_only_by_wire_error(consumer_protocol.decode_protocol, body, data)
