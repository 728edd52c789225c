"""offsets.retention.minutes: which offsets go, when, and what becomes of their group."""

from __future__ import annotations

from headrace.coordinator.group import GroupState
from headrace.wire.errors import ErrorCode
from tests.coordinator.driver import Driver, subscription

HOUR = 3_600_000
CHECK = 60_000


def driver() -> Driver:
    return Driver(offsets_retention_ms=HOUR, offsets_retention_check_interval_ms=CHECK)


def keep_alive(d: Driver, member: str, ms: int, generation: int = 1) -> None:
    for _ in range(ms // 5_000):
        d.advance(5_000)
        assert d.heartbeat(member, generation) is ErrorCode.NONE


def test_a_simple_group_counts_from_each_commit() -> None:
    d = driver()
    d.commit({("t", 0): 1})
    d.advance(HOUR // 2)
    d.commit({("t", 1): 1})
    d.advance(HOUR // 2 + CHECK)
    assert d.committed() == -1 and d.committed(partition=1) == 1
    d.advance(HOUR // 2)
    assert "g" not in d.coordinator.groups
    d.restart()
    assert "g" not in d.coordinator.groups and d.committed(partition=1) == -1


def test_an_empty_group_counts_from_when_it_became_empty_even_across_a_restart() -> None:
    d = driver()
    (member,) = d.stable()
    d.commit({("t", 0): 1}, member_id=member, generation=1)
    keep_alive(d, member, 2 * HOUR)
    assert d.committed() == 1
    d.leave(member)
    d.advance(HOUR - 2 * CHECK)
    assert d.committed() == 1
    d.restart()
    d.advance(2 * CHECK)
    assert d.committed() == -1 and "g" not in d.coordinator.groups


def test_a_living_group_loses_only_old_offsets_of_topics_it_does_not_read() -> None:
    d = driver()
    (member,) = d.stable(protocols={"range": subscription("t")})
    d.commit({("t", 0): 1, ("u", 0): 2}, member_id=member, generation=1)
    keep_alive(d, member, HOUR + CHECK)
    assert d.committed() == 1 and d.committed("u") == -1
    assert d.group().state is GroupState.STABLE


def test_other_protocols_keep_everything_while_they_live() -> None:
    d = driver()
    (member,) = d.stable(protocol_type="connect", protocols={"range": b""})
    d.commit({("t", 0): 1}, member_id=member, generation=1)
    keep_alive(d, member, HOUR + CHECK)
    assert d.committed() == 1


def test_a_retention_time_of_the_clients_own() -> None:
    d = driver()
    d.commit({("t", 0): 1}, retention_ms=5 * CHECK, version=4)
    d.commit({("t", 1): 1}, retention_ms=3 * HOUR, version=4)
    d.restart()
    d.advance(4 * CHECK)
    assert d.committed() == 1
    d.advance(2 * CHECK)
    assert d.committed() == -1
    d.advance(2 * HOUR)
    assert d.committed(partition=1) == 1


def test_an_empty_group_without_offsets_goes_at_the_next_look() -> None:
    d = driver()
    (member,) = d.stable()
    d.leave(member)
    assert d.group().state is GroupState.EMPTY
    d.advance(CHECK)
    assert "g" not in d.coordinator.groups
    assert d.records[-1].value is None


def test_a_commit_under_way_keeps_its_group() -> None:
    d = driver()
    d.commit({("t", 0): 1})
    d.advance(HOUR - 1)
    d.hold = True
    d.commit({("t", 1): 2})
    d.advance(2 * CHECK)
    d.release()
    for _ in range(2):
        assert d.committed() == -1 and d.committed(partition=1) == 2
        assert "g" in d.coordinator.groups
        d.restart()
