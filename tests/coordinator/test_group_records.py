"""The records of `__consumer_offsets`, byte by byte, and read back by decoders that are not ours."""

from __future__ import annotations

import struct

import pytest

from headrace.coordinator import records
from headrace.coordinator.group import ClassicGroup, GroupState
from headrace.coordinator.member import Member
from headrace.coordinator.offsets import OffsetAndMetadata
from headrace.coordinator.records import decode
from headrace.wire.errors import WireError
from tests.coordinator.driver import Driver


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def data(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def test_an_offset_commit_is_of_version_4_with_the_topic_id_in_a_tag() -> None:
    committed = OffsetAndMetadata(42, 7, "meta", 1_700_000_000_000, -1, b"T" * 16)
    key, value = records.offset_commit("group", "topic", 3, committed).encode()
    assert key == struct.pack(">h", 1) + text("group") + text("topic") + struct.pack(">i", 3)
    compact_text = bytes([len("meta") + 1]) + b"meta"
    tags = bytes([1, 0, 16]) + b"T" * 16
    assert value == struct.pack(">hqi", 4, 42, 7) + compact_text + struct.pack(">q", 1_700_000_000_000) + tags


def test_an_offset_commit_without_a_topic_id_has_no_tag() -> None:
    _, value = records.offset_commit("g", "t", 0, OffsetAndMetadata(1, -1, "", 5, -1, bytes(16))).encode()
    assert value == struct.pack(">hqi", 4, 1, -1) + b"\x01" + struct.pack(">q", 5) + b"\x00"


def test_an_offset_commit_with_its_own_retention_is_of_version_1() -> None:
    _, value = records.offset_commit("g", "t", 0, OffsetAndMetadata(1, 9, "m", 5, 99, b"T" * 16)).encode()
    assert value == struct.pack(">hq", 1, 1) + text("m") + struct.pack(">qq", 5, 99)


def test_tombstones() -> None:
    assert records.group_tombstone("g").encode() == (struct.pack(">h", 2) + text("g"), None)
    key = struct.pack(">h", 1) + text("g") + text("t") + struct.pack(">i", 1)
    assert records.offset_tombstone("g", "t", 1).encode() == (key, None)


def test_group_metadata_is_of_version_3() -> None:
    group = ClassicGroup("g", 1_234)
    group.generation_id, group.protocol_name, group.leader_id = 5, "range", "m-1"
    member = Member(
        "m-1",
        group_instance_id="i",
        client_id="c",
        client_host="/127.0.0.1",
        rebalance_timeout_ms=300_000,
        session_timeout_ms=45_000,
        protocol_type="consumer",
        protocols={"range": b"sub"},
    )
    group.add(member, None)
    key, value = records.group_metadata(group, {"m-1": b"assigned"}).encode()
    assert key == struct.pack(">h", 2) + text("g")
    stored = text("m-1") + text("i") + text("c") + text("/127.0.0.1") + struct.pack(">ii", 300_000, 45_000)
    stored += data(b"sub") + data(b"assigned")
    head = struct.pack(">h", 3) + text("consumer") + struct.pack(">i", 5) + text("range") + text("m-1")
    assert value == head + struct.pack(">qi", 1_234, 1) + stored


def test_a_new_group() -> None:
    _, value = records.new_group(ClassicGroup("g", 77)).encode()
    nothing = struct.pack(">h", -1)
    assert value == struct.pack(">h", 3) + text("") + struct.pack(">i", 0) + nothing * 2 + struct.pack(">qi", 77, 0)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_older_versions_of_group_metadata_are_read(version: int) -> None:
    value = struct.pack(">h", version) + text("consumer") + struct.pack(">i", 4) + text("range") + text("m")
    value += struct.pack(">q", 99) if version >= 2 else b""
    value += struct.pack(">i", 1) + text("m") + (text("i") if version >= 3 else b"") + text("c") + text("/h")
    value += struct.pack(">i", 60_000) if version >= 1 else b""
    value += struct.pack(">i", 10_000) + data(b"") + data(b"A")
    d = Driver()
    d.log.append((struct.pack(">h", 2) + text("g"), value))
    d.restart()
    group = d.group()
    assert (group.generation_id, group.protocol_name, group.state.value) == (4, "range", "Stable")
    assert group.state_timestamp_ms == (99 if version >= 2 else -1)
    member = group.members["m"]
    assert member.assignment == b"A" and member.session_timeout_ms == 10_000
    assert member.rebalance_timeout_ms == (60_000 if version >= 1 else 10_000)
    assert member.group_instance_id == ("i" if version >= 3 else None)


@pytest.mark.parametrize(("record_type", "version"), [(0, 0), (1, 0), (1, 2), (1, 3)])
def test_older_versions_of_offset_commits_are_read(record_type: int, version: int) -> None:
    key = struct.pack(">h", record_type) + text("g") + text("t") + struct.pack(">i", 0)
    epoch = struct.pack(">i", 8) if version >= 3 else b""
    value = struct.pack(">hq", version, 11) + epoch + text("m") + struct.pack(">q", 5)
    d = Driver()
    d.log.append((key, value))
    d.restart()
    committed = d.coordinator.offsets.get("g", "t", 0)
    assert committed == OffsetAndMetadata(11, 8 if version >= 3 else -1, "m", 5, -1, bytes(16), order=1)


def test_records_of_newer_group_types_are_skipped() -> None:
    assert decode(struct.pack(">h", 3) + text("g"), struct.pack(">hi", 0, 1)) is None


def test_offsets_outlive_a_group_that_went_over_to_a_newer_protocol() -> None:
    d = Driver(offsets_retention_ms=1000, offsets_retention_check_interval_ms=100)
    (member,) = d.stable()
    d.commit({("t", 0): 11}, member_id=member, generation=1)
    d.log.append(records.group_tombstone("g").encode())
    d.log.append((struct.pack(">h", 3) + text("g"), struct.pack(">hi", 0, 1)))
    d.restart()
    assert d.committed() == 11
    assert (d.group().state, d.group().protocol_type) == (GroupState.EMPTY, None)
    d.advance(2000)
    assert d.committed() == -1 and "g" not in d.coordinator.groups


@pytest.mark.parametrize("key", [b"", b"\x00", b"\x00\x01", b"\x00\x02\x00\x09g"])
def test_damaged_records_are_wire_errors(key: bytes) -> None:
    with pytest.raises(WireError):
        decode(key, None)
