"""What a declaration gives: constructors, defaults, equality, versions."""

from __future__ import annotations

import pytest

from headrace.wire.apis import APIS
from headrace.wire.errors import ErrorCode, WireError
from headrace.wire.fields import Versions
from headrace.wire.messages.fetch import FetchRequest, LeaderIdAndEpoch, PartitionData
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.schema import ZERO_UUID, Message, array, int32, string


def test_defaults_are_kafkas() -> None:
    request = FetchRequest()
    assert (request.replica_id, request.max_bytes, request.session_epoch) == (-1, 0x7FFFFFFF, -1)
    assert request.cluster_id is None
    assert request.replica_state.replica_epoch == -1
    assert request.topics == []


def test_lists_are_not_shared() -> None:
    FetchRequest().topics.append(None)  # type: ignore[arg-type]
    assert FetchRequest().topics == []


def test_shared_defaults_cannot_be_changed() -> None:
    partition = PartitionData()
    with pytest.raises(AttributeError, match="assign a new one"):
        partition.current_leader.leader_id = 3
    partition.current_leader = LeaderIdAndEpoch(leader_id=3)
    assert PartitionData().current_leader == LeaderIdAndEpoch()
    assert isinstance(PartitionData().current_leader, LeaderIdAndEpoch)


def test_only_declared_fields_exist() -> None:
    with pytest.raises(TypeError):
        FetchRequest(no_such_field=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        FetchRequest().no_such_field = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        FetchRequest(5)  # type: ignore[misc]


def test_repr_and_equality() -> None:
    data = PartitionProduceData(index=3, records=b"1234")
    assert repr(data) == "PartitionProduceData(index=3, records=<4 bytes>)"
    assert data == PartitionProduceData(index=3, records=memoryview(b"1234"))
    assert data != PartitionProduceData(index=4, records=b"1234")
    assert data != 3


def test_fields_outside_the_version_are_left_out() -> None:
    topic = TopicProduceData(name="t", topic_id=b"1" * 16)
    request = ProduceRequest(topic_data=[topic])
    assert ProduceRequest.decode(request.encode(12), 12).topic_data[0].topic_id == ZERO_UUID
    assert ProduceRequest.decode(request.encode(13), 13).topic_data[0].name == ""


def test_records_are_slices_of_the_input() -> None:
    request = ProduceRequest(
        topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(records=b"abc")])]
    )
    frame = bytearray(request.encode(9))
    decoded = ProduceRequest.decode(memoryview(frame), 9)
    records = decoded.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    records[0] = ord("x")
    assert b"xbc" in frame


def test_versions_that_do_not_exist() -> None:
    with pytest.raises(WireError, match="no version 2"):
        ProduceRequest.decode(b"", 2)
    with pytest.raises(ValueError, match="no version 14"):
        ProduceRequest().encode(14)


@pytest.mark.parametrize("text, inside, outside", [("3", 3, 4), ("0-12", 12, 13), ("7+", 99, 6), ("none", None, 0)])
def test_ranges_of_versions(text: str, inside: int | None, outside: int) -> None:
    assert outside not in Versions.parse(text)
    assert inside is None or inside in Versions.parse(text)


def test_a_range_that_is_none_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="not a range"):
        Versions.parse("1-")


def test_the_table_of_apis() -> None:
    assert len(APIS) == 43
    assert APIS[0].advertised == (0, 13) and APIS[0].min_version == 3
    assert APIS[22].advertised == (0, 5) and APIS[22].max_version == 6
    assert APIS[1].advertised == (4, 18)
    assert APIS[18].flexible_from == 3


def test_error_codes() -> None:
    assert ErrorCode(35) is ErrorCode.UNSUPPORTED_VERSION
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert not ErrorCode.INVALID_RECORD.retriable
    assert [int(code) for code in ErrorCode] == list(range(-1, 134))
    assert all(code.message for code in ErrorCode if code)


def test_strings_longer_than_kafka_allows_are_refused() -> None:
    """A flexible version could carry them, but nothing could write them back in an older one."""

    class Sized(Message, versions="0-1", flexible="1+"):
        names: list[str] = array(string())
        count: int = int32()

    fits = Sized(names=["x" * 32767])
    assert Sized.decode(fits.encode(1), 1) == fits
    with pytest.raises(WireError):
        Sized.decode(Sized(names=["x" * 32768]).encode(1), 1)
