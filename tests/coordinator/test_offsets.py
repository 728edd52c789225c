"""OffsetCommit, OffsetFetch, OffsetDelete, DeleteGroups, and topics that are deleted."""

from __future__ import annotations

import pytest

from headrace.coordinator.group import GroupState
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.offset_fetch import OffsetFetchRequestGroup
from tests.coordinator.driver import Driver, Ticket, subscription

A, B = b"A" * 16, b"B" * 16


def errors(ticket: Ticket) -> list[int]:
    return [each.error_code for topic in ticket.response.topics for each in topic.partitions]


def test_a_member_commits_and_the_offset_survives_a_restart() -> None:
    d = Driver()
    (member,) = d.stable()
    assert errors(d.commit({("t", 0): 7, ("t", 1): 8}, member_id=member, generation=1, metadata="m", epoch=3)) == [0, 0]
    for _ in range(2):
        committed = d.coordinator.offsets.get("g", "t", 0)
        assert committed is not None
        assert (committed.offset, committed.metadata, committed.leader_epoch) == (7, "m", 3)
        assert committed.commit_timestamp_ms == d.now_ms
        d.restart()


def test_anybody_may_commit_while_nobody_is_a_member() -> None:
    d = Driver()
    assert errors(d.commit({("t", 0): 5})) == [0]
    assert d.committed() == 5
    assert d.group().state is GroupState.EMPTY and d.group().protocol_type is None
    d.restart()
    assert d.committed() == 5 and d.group().protocol_type is None


@pytest.mark.parametrize(("version", "error"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_generation_of_a_group_that_is_not_there(version: int, error: ErrorCode) -> None:
    assert errors(Driver().commit({("t", 0): 1}, member_id="m", generation=3, version=version)) == [error]


def test_commits_of_others_are_refused() -> None:
    d = Driver()
    (member,) = d.stable()
    assert errors(d.commit({("t", 0): 1})) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert errors(d.commit({("t", 0): 1}, member_id="x", generation=1)) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert errors(d.commit({("t", 0): 1}, member_id=member, generation=0)) == [ErrorCode.ILLEGAL_GENERATION]
    assert errors(d.commit({("t", 0): 1}, member_id=member, generation=-1)) == [ErrorCode.ILLEGAL_GENERATION]
    assert d.committed() == -1


def test_commits_during_a_rebalance() -> None:
    d = Driver()
    leader, follower = d.stable(2)
    d.join(leader)
    assert errors(d.commit({("t", 0): 1}, member_id=follower, generation=1)) == [0], "of the generation that ends"
    d.join(follower)
    assert d.group().state is GroupState.COMPLETING_REBALANCE
    assert errors(d.commit({("t", 0): 2}, member_id=follower, generation=2)) == [ErrorCode.REBALANCE_IN_PROGRESS]


def test_a_commit_keeps_the_session() -> None:
    d = Driver()
    (member,) = d.stable()
    for _ in range(3):
        d.advance(9_000)
        d.commit({("t", 0): 1}, member_id=member, generation=1)
    assert member in d.group().members


def test_metadata_has_a_limit_per_partition_in_utf16_units() -> None:
    d = Driver(offset_metadata_max_bytes=10)
    assert errors(d.commit({("t", 0): 1}, metadata="x" * 10)) == [0]
    assert errors(d.commit({("t", 0): 2}, metadata="x" * 11)) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert errors(d.commit({("t", 0): 3}, metadata="\U0001f600" * 5)) == [0]
    assert errors(d.commit({("t", 0): 4}, metadata="\U0001f600" * 6)) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert d.committed() == 3
    assert errors(d.commit({("t", 0): 5}, metadata=None)) == [0]
    assert d.coordinator.offsets.get("g", "t", 0).metadata == ""


def test_a_commit_that_cannot_be_written_is_refused_and_not_seen() -> None:
    d = Driver()
    d.commit({("t", 0): 1})
    d.fail_with = ErrorCode.KAFKA_STORAGE_ERROR
    assert errors(d.commit({("t", 0): 2})) == [ErrorCode.NOT_COORDINATOR]
    assert d.committed() == 1


def test_what_was_never_committed_is_no_error() -> None:
    d = Driver()
    assert d.committed(group="nowhere") == -1
    assert d.coordinator.fetch_offsets(OffsetFetchRequestGroup(group_id="nowhere", topics=None)).topics == []
    assert "nowhere" not in d.coordinator.groups


def test_fetching_all_topics() -> None:
    d = Driver()
    d.commit({("t", 0): 1, ("t", 2): 2, ("u", 0): 3})
    response = d.coordinator.fetch_offsets(OffsetFetchRequestGroup(group_id="g", topics=None))
    found = {(t.name, p.partition_index): p.committed_offset for t in response.topics for p in t.partitions}
    assert found == {("t", 0): 1, ("t", 2): 2, ("u", 0): 3}


def test_an_offset_of_a_deleted_topic_is_not_shown_for_its_successor() -> None:
    d = Driver()
    d.commit({("t", 0): 9}, topic_id=A)
    assert d.committed(topic_id=A) == 9
    assert d.committed(topic_id=B) == -1
    assert d.committed() == 9, "who asks by name does not say which"


def test_deleting_a_topic_removes_its_offsets_for_good() -> None:
    d = Driver()
    d.commit({("t", 0): 1, ("u", 0): 2}, topic_id=A)
    d.commit({("t", 0): 3}, group="h", topic_id=B)
    d.delete_topics(("t", A))
    for _ in range(2):
        assert d.committed() == -1 and d.committed("u") == 2
        assert d.committed(group="h") == 3, "of a newer topic with this name"
        d.restart()


def test_offsets_without_a_topic_id_go_with_any_topic_of_their_name() -> None:
    d = Driver()
    d.commit({("t", 0): 1})
    d.delete_topics(("t", A))
    assert d.committed() == -1


def test_deleting_offsets_of_an_empty_group() -> None:
    d = Driver()
    d.commit({("t", 0): 1, ("t", 1): 2})
    assert errors(d.delete_offsets("t", 0, 5)) == [0, 0]
    written = len(d.log)
    d.delete_offsets("t", 0)
    assert len(d.log) == written, "there was nothing to remove"
    for _ in range(2):
        assert d.committed() == -1 and d.committed(partition=1) == 2
        d.restart()


def test_a_living_group_keeps_offsets_of_topics_it_reads() -> None:
    d = Driver()
    (member,) = d.stable(protocols={"range": subscription("t")})
    d.commit({("t", 0): 1, ("u", 0): 2}, member_id=member, generation=1)
    assert errors(d.delete_offsets("t", 0)) == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]
    assert errors(d.delete_offsets("u", 0)) == [0]
    assert d.committed() == 1 and d.committed("u") == -1


def test_a_living_group_with_an_unreadable_subscription_keeps_everything() -> None:
    d = Driver()
    d.stable(protocols={"range": b"\x00"})
    assert errors(d.delete_offsets("u", 0)) == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]


def test_refused_deletions_of_offsets() -> None:
    d = Driver()
    assert d.delete_offsets("t", 0, group="").error is ErrorCode.INVALID_GROUP_ID
    assert d.delete_offsets("t", 0).error is ErrorCode.GROUP_ID_NOT_FOUND
    d.stable(protocol_type="connect", protocols={"range": b""})
    assert d.delete_offsets("t", 0).error is ErrorCode.NON_EMPTY_GROUP


def test_deleting_groups() -> None:
    d = Driver()
    d.commit({("t", 0): 1}, group="simple")
    (member,) = d.stable()
    d.commit({("t", 0): 1}, member_id=member, generation=1)
    assert d.delete_groups("simple", "g", "nowhere") == {
        "simple": ErrorCode.NONE,
        "g": ErrorCode.NON_EMPTY_GROUP,
        "nowhere": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    d.leave(member)
    assert d.delete_groups("g") == {"g": ErrorCode.NONE}
    for _ in range(2):
        assert not d.coordinator.groups and d.committed() == d.committed(group="simple") == -1
        d.restart()


def test_a_deletion_that_cannot_be_written_deletes_nothing() -> None:
    d = Driver()
    d.commit({("t", 0): 1})
    d.fail_with = ErrorCode.KAFKA_STORAGE_ERROR
    assert d.delete_groups("g") == {"g": ErrorCode.NOT_COORDINATOR}
    assert d.committed() == 1
