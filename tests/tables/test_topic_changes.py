"""What a table does when its topic or its broker changes under it: appears late, grows, is truncated, vanishes, comes back."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewPartitions

from headrace.clock import ManualClock
from headrace.tables import (
    ChangelogTable,
    State,
    TableClosed,
    TableFailed,
    TableLoading,
    TableTimeout,
    TopicMissing,
)
from headrace.testing import LocalBroker, broker, wait_until
from tests.tables.conftest import COMPACTED, Open, compact

Place = dict[str, Any]


@pytest.fixture
def server() -> Iterator[LocalBroker]:
    with broker(log_cleaner_backoff_ms=20, log_segment_delete_delay_ms=0) as running:
        yield running


@pytest.fixture(params=["memory", "disk"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return {} if request.param == "memory" else {"directory": tmp_path / "stores"}


def contents(table: ChangelogTable[bytes, bytes]) -> dict[bytes, bytes]:
    table.wait_until_current(20)
    return {row.key: row.value for row in table.all().rows}


def delete_topic(server: LocalBroker, topic: str) -> None:
    admin = server.admin()
    admin.delete_topics([topic])[topic].result(10)


def test_a_topic_that_appears_later(server: LocalBroker, open_table: Open, place: Place) -> None:
    table = open_table(server, "late", **place)
    wait_until(lambda: table.status.state is State.MISSING)
    with pytest.raises(TopicMissing, match="create it or start the pipeline"):
        table.get(b"a")
    with pytest.raises(TopicMissing):
        table.wait_until_current(0.2)
    server.create_topic("late", 3)
    server.produce("late", [("a", "1")])
    assert contents(table) == {b"a": b"1"}


def test_a_topic_that_is_deleted_and_created_again(server: LocalBroker, open_table: Open, place: Place) -> None:
    server.create_topic("t", 2)
    server.produce("t", [(f"{number}", "old") for number in range(100)])
    table = open_table(server, "t", **place)
    assert len(contents(table)) == 100
    delete_topic(server, "t")
    wait_until(lambda: table.status.state is State.MISSING)
    with pytest.raises(TopicMissing):
        table.all()
    server.create_topic("t", 1)
    server.produce("t", [("new", "1")])
    assert contents(table) == {b"new": b"1"}
    assert table.status.rebuilds == 1 and "created again" in table.status.rebuild_reason


def test_a_topic_that_is_replaced_unseen(server: LocalBroker, open_table: Open, place: Place) -> None:
    """The table looks at its topic too seldom to see it gone. Waiting for it asks the cluster, and that finds it out."""
    server.create_topic("t")
    server.produce("t", [(f"{number}", "old") for number in range(100)])
    table = open_table(server, "t", refresh_s=600.0, **place)
    assert len(contents(table)) == 100
    delete_topic(server, "t")
    server.create_topic("t")
    server.produce("t", [(f"{number}", "new") for number in range(7)] * 20)
    assert contents(table) == {b"%d" % number: b"new" for number in range(7)}
    assert table.status.rebuilds == 1


def test_a_store_of_a_topic_that_was_created_again(server: LocalBroker, open_table: Open, tmp_path: Path) -> None:
    server.create_topic("t")
    server.produce("t", [("a", "1"), ("b", "1")])
    with open_table(server, "t", directory=tmp_path) as table:
        assert len(contents(table)) == 2
    delete_topic(server, "t")
    server.create_topic("t")
    server.produce("t", [("c", "2")] * 10)
    table = open_table(server, "t", directory=tmp_path)
    assert contents(table) == {b"c": b"2"} and "created again" in table.status.rebuild_reason


def test_a_topic_that_gains_partitions(server: LocalBroker, open_table: Open, place: Place) -> None:
    server.create_topic("t", 1)
    server.produce("t", [("a", "1")])
    table = open_table(server, "t", **place)
    assert contents(table) == {b"a": b"1"}
    admin = server.admin()
    admin.create_partitions([NewPartitions("t", 4)])["t"].result(10)
    producer = server.producer()
    for partition in range(4):
        producer.produce("t", b"2", b"in %d" % partition, partition=partition)
    producer.flush(10)
    assert len(contents(table)) == 5 and set(table.get(b"a").position) == {0, 1, 2, 3}
    assert "from 1 to 4 partitions" in table.status.warning and table.status.rebuilds == 0


def test_a_broker_that_restarts(server: LocalBroker, open_table: Open, place: Place) -> None:
    server.create_topic("t", 2)
    server.produce("t", [("a", "1")])
    table = open_table(server, "t", client_settings={"reconnect.backoff.max.ms": 100}, **place)
    contents(table)
    server.stop()
    assert table.get(b"a").value == b"1", "what is known stays known"
    with pytest.raises(TableTimeout, match="cluster"):
        table.wait_until_current(0.3)
    server.start()
    server.produce("t", [("a", "2")])
    assert contents(table) == {b"a": b"2"} and table.status.rebuilds == 0
    wait_until(lambda: not table.status.last_error)


def test_a_broker_that_is_not_there(server: LocalBroker, open_table: Open, tmp_path: Path) -> None:
    server.create_topic("t")
    server.produce("t", [("a", "1")])
    with open_table(server, "t", directory=tmp_path) as table:
        contents(table)
    server.stop()
    table = open_table(server, "t", directory=tmp_path, client_settings={"reconnect.backoff.max.ms": 100})
    with pytest.raises(TableLoading, match="not reached its cluster yet"):
        table.get(b"a")
    began = time.monotonic()
    table.close()
    assert time.monotonic() - began < 3, "a cluster that does not answer holds up no close"
    with pytest.raises(TableClosed):
        table.get(b"a")


def test_a_restart_reads_only_the_rest(server: LocalBroker, open_table: Open, tmp_path: Path) -> None:
    server.create_topic("t", 2, cleanup_policy="compact")
    server.produce("t", [(f"{number}", "1") for number in range(500)])
    with open_table(server, "t", directory=tmp_path) as table:
        contents(table)
        assert table.status.records == 500
    server.produce("t", [("7", None), ("new", "2")])
    with open_table(server, "t", directory=tmp_path) as table:
        assert len(contents(table)) == 500 and table.get(b"7").row is None
        assert table.status.records == 2 and table.status.rebuilds == 0
    with open_table(server, "t", directory=tmp_path, isolation_level="read_uncommitted") as table:
        assert len(contents(table)) == 500 and "isolation level" in table.status.rebuild_reason


def test_a_log_that_begins_after_our_position(server: LocalBroker, open_table: Open, tmp_path: Path) -> None:
    server.create_topic("t")
    server.produce("t", [("a", "1"), ("b", "1")])
    with open_table(server, "t", directory=tmp_path) as table:
        contents(table)
    server.produce("t", [("c", "1"), ("d", "1")])
    admin = server.admin()
    (future,) = admin.delete_records([TopicPartition("t", 0, 3)]).values()
    future.result(10)
    table = open_table(server, "t", directory=tmp_path)
    wait_until(lambda: table.status.rebuilds == 1)
    assert contents(table) == {b"d": b"1"} and "offset that comes next" in table.status.rebuild_reason


def test_a_log_that_ends_before_our_position(
    server: LocalBroker, open_table: Open, place: Place, tmp_path: Path
) -> None:
    """A broker that lost its tail, as after a power cut: the same topic, shorter than what the table has read."""
    server.create_topic("t")
    server.produce("t", [("a", "1")])
    server.stop()
    log = server.data_dir / "t-0" / "00000000000000000000.log"
    short = log.read_bytes()
    server.start()
    server.produce("t", [("a", "2"), ("b", "2")])
    table = open_table(server, "t", client_settings={"reconnect.backoff.max.ms": 100}, **place)
    assert contents(table) == {b"a": b"2", b"b": b"2"}
    server.stop()
    log.write_bytes(short)
    for left in log.parent.glob("*.snapshot"):
        left.unlink()
    for left in server.data_dir.glob("*checkpoint"):
        left.unlink()
    (server.data_dir / ".kafka_cleanshutdown").unlink(missing_ok=True)
    server.start()
    wait_until(lambda: table.status.rebuilds == 1, message="the rebuild", timeout_s=20)
    assert contents(table) == {b"a": b"1"}


def has_tombstone(server: LocalBroker, topic: str) -> bool:
    """Whether the log of the topic's only partition holds a record without a value."""
    consumer = server.consumer(enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        while True:
            message = consumer.poll(10)
            assert message is not None, "the end of the partition was not reached"
            if message.error() is not None:
                return False
            if message.value() is None:
                return True
    finally:
        consumer.close()


@pytest.mark.parametrize("keeps_ms", [0, 86_400_000])
def test_a_tombstone_that_is_gone_was_not_missed(
    server: LocalBroker, open_table: Open, tmp_path: Path, keeps_ms: int
) -> None:
    """A key is deleted while the table is closed, and its tombstone is cleaned away before the table comes back."""
    server.create_topic("t", delete_retention_ms=keeps_ms, **COMPACTED)
    server.produce("t", [("gone", "1"), ("kept", "1")])
    with open_table(server, "t", directory=tmp_path) as table:
        assert len(contents(table)) == 2
    server.produce("t", [("gone", None)])
    for number in range(3):
        server.produce("t", [("kept", "x" * 200 + str(number))])
        compact(server, "t")

    def one_more_round() -> bool:
        server.produce("t", [("kept", "x" * 200)])
        compact(server, "t")
        return not has_tombstone(server, "t")

    if keeps_ms == 0:
        wait_until(one_more_round, timeout_s=60, message="the tombstone is gone")
    assert has_tombstone(server, "t") == (keeps_ms > 0)
    table = open_table(server, "t", directory=tmp_path)
    assert set(contents(table)) == {b"kept"}
    assert table.status.rebuilds == (1 if keeps_ms == 0 else 0)


def test_an_absence_longer_than_tombstones_live(open_table: Open, tmp_path: Path) -> None:
    clock = ManualClock()
    with broker(clock=clock) as server:
        server.create_topic("t", cleanup_policy="compact", delete_retention_ms=1000)
        server.produce("t", [("a", "1")])
        for pause_ms, rebuilds in ((0, 0), (900, 0), (1100, 1)):
            clock.advance(pause_ms)
            with open_table(server, "t", directory=tmp_path, clock=clock) as table:
                assert contents(table) == {b"a": b"1"}
                assert table.status.rebuilds == rebuilds


def test_a_disk_that_fails_stops_the_table(
    server: LocalBroker, open_table: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.create_topic("t")
    server.produce("t", [("a", "1")])
    table = open_table(server, "t", directory=tmp_path)
    contents(table)
    table._store._writer.execute("PRAGMA max_page_count = 1")  # type: ignore[attr-defined]
    server.produce("t", [(f"{number}", "x" * 1000) for number in range(2000)])
    wait_until(lambda: table.status.state is State.FAILED)
    for call in (lambda: table.get(b"a"), lambda: table.wait_until_current(5), lambda: table.wait_for(0, 5, 5)):
        with pytest.raises(TableFailed, match="open the table anew") as raised:
            call()
        assert "full" in str(raised.value) and "has room" in str(raised.value.__cause__)
    table.close()
    table = open_table(server, "t", directory=tmp_path)
    assert len(contents(table)) == 2001


def test_a_wait_ends_when_the_table_is_closed(server: LocalBroker, open_table: Open) -> None:
    server.create_topic("t")
    table = open_table(server, "t")
    table.wait_until_current(10)
    seen: list[BaseException] = []

    def wait() -> None:
        try:
            table.wait_for(0, 100, 30)
        except TableClosed as error:
            seen.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    table.close()
    waiter.join(10)
    assert len(seen) == 1 and not waiter.is_alive()


def test_close_leaves_nothing_behind(server: LocalBroker, open_table: Open, place: Place) -> None:
    def held() -> tuple[int, int, int]:
        gc.collect()
        return threading.active_count(), len(os.listdir("/proc/self/task")), client_descriptors()

    def client_descriptors() -> int:
        names = (os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd"))
        return sum(".table" in name for name in names)

    server.create_topic("t", 2)
    server.produce("t", [("a", "1")])
    before = held()
    table = open_table(server, "t", **place)
    contents(table)
    assert held() > before
    table.close()
    table.close()
    wait_until(lambda: held() == before, message=f"{before} again, {held()} now")
