"""Look-ups in a table that follows a real broker."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from headrace.tables import (
    SIGNED,
    RecordNotDecoded,
    SessionWindows,
    TableTimeout,
    TimeWindows,
    Window,
    WrongLookup,
    by_value,
    session_windowed,
    time_windowed,
)
from headrace.testing import LocalBroker
from tests.tables.conftest import Open


@pytest.fixture(params=["memory", "disk"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    return {} if request.param == "memory" else {"directory": tmp_path / "stores"}


def keys(answer: Any) -> list[Any]:
    return [row.key for row in answer.rows]


def test_the_last_value_of_each_key(
    headrace_shared_broker: LocalBroker, topic: str, open_table: Open, place: dict[str, Any]
) -> None:
    broker = headrace_shared_broker
    broker.produce(topic, [("a", "1"), ("b", "1"), ("c", "1"), ("a", "2"), ("b", None), ("d", "")])
    table = open_table(broker, topic, **place)
    table.wait_until_current(10)
    assert table.get(b"a").value == b"2"
    assert table.get(b"b").row is None and not table.get(b"b").found
    assert table.get(b"d").value == b"", "an empty value is no tombstone"
    assert sum(table.get(b"a").position.values()) == 6
    row = table.get(b"a").row
    assert row is not None and row.timestamp_ms > 1_600_000_000_000
    assert keys(table.get_many([b"d", b"x", b"a"])) == [b"d", b"a"]
    assert keys(table.all()) == [b"a", b"c", b"d"] and len(table) == 3
    assert keys(table.all(limit=2)) == [b"a", b"c"] and table.all(limit=2).more
    assert not table.all(limit=3).more and table.all(limit=0).more
    assert keys(table.range(b"b", b"d")) == [b"c", b"d"]
    assert keys(table.range(b"a", b"d", include_low=False, include_high=False)) == [b"c"]
    assert keys(table.range(None, b"c")) == [b"a", b"c"] and keys(table.range(b"c")) == [b"c", b"d"]
    assert keys(table.prefix(b"c")) == [b"c"]
    with pytest.raises(WrongLookup, match="use get"):
        table.fetch(b"a", 0, 1)
    with pytest.raises(ValueError, match="limit"):
        table.all(limit=-1)


def test_functions_of_the_caller(headrace_shared_broker: LocalBroker, topic: str, open_table: Open) -> None:
    broker = headrace_shared_broker
    broker.produce(topic, [("10", '{"n": 1}'), ("9", '{"n": 2}'), ("2", "not json"), ("what", '{"n": 3}')])
    table = open_table(
        broker,
        topic,
        encode_key=lambda key: b"%d" % key,
        decode_key=int,
        decode_value=json.loads,
        order=by_value("int", int),
    )
    table.wait_until_current(10)
    assert table.get(10).value == {"n": 1}
    assert keys(table.range(1, 10)) == [9, 10] and table.range(1, 10).undecoded == (b"2",)
    assert keys(table.range(9)) == [9, 10], "a key that the order refuses is in no range"
    assert table.all().undecoded == (b"2", b"what")
    with pytest.raises(RecordNotDecoded, match="value of key 2 in topic"):
        table.get(2)
    with pytest.raises(WrongLookup, match="use range"):
        table.prefix(b"1")


def test_signed_keys_sort_by_number(headrace_shared_broker: LocalBroker, topic: str, open_table: Open) -> None:
    headrace_shared_broker.produce(topic, [(struct.pack(">q", number), b"") for number in (5, -1, 0, -(2**40))])
    table = open_table(
        headrace_shared_broker,
        topic,
        encode_key=struct.Struct(">q").pack,
        decode_key=lambda key: struct.unpack(">q", key)[0],
        order=SIGNED,
    )
    table.wait_until_current(10)
    assert keys(table.range(-1, 5)) == [-1, 0, 5] and keys(table.all())[0] == -(2**40)


def test_time_windows(headrace_shared_broker: LocalBroker, topic: str, open_table: Open, place: dict[str, Any]) -> None:
    written = [(key, start) for key in (b"a", b"a\x00", b"b") for start in (0, 1000, 2000, 1_700_000_000_000)]
    headrace_shared_broker.produce(topic, [(time_windowed(key, start), b"%d" % start) for key, start in written])
    table = open_table(headrace_shared_broker, topic, windows=TimeWindows(1000), **place)
    table.wait_until_current(10)
    found = table.fetch(b"a", 500, 2000)
    assert [row.window for row in found.rows] == [Window(1000, 2000), Window(2000, 3000)]
    assert [row.value for row in found.rows] == [b"1000", b"2000"] and keys(found) == [b"a", b"a"]
    assert len(table.fetch(b"a", -5, 2**62).rows) == 4 and table.fetch(b"c", 0, 2**62).rows == []
    assert table.fetch(b"a", 0, 9999, limit=2).more
    assert keys(table.range(b"a", b"a\x00")) == [b"a"] * 4 + [b"a\x00"] * 4
    assert len(table.all().rows) == 12 and len(table.prefix(b"a").rows) == 8
    with pytest.raises(WrongLookup, match="use fetch"):
        table.get(b"a")


def test_sessions(headrace_shared_broker: LocalBroker, topic: str, open_table: Open, place: dict[str, Any]) -> None:
    sessions = [(0, 10), (20, 30), (40, 90)]
    headrace_shared_broker.produce(topic, [(session_windowed(b"k", start, end), b"x") for start, end in sessions])
    headrace_shared_broker.produce(topic, [(b"short", b"no room for a window")])
    table = open_table(headrace_shared_broker, topic, windows=SessionWindows(), **place)
    table.wait_until_current(10)
    assert [row.window for row in table.fetch(b"k", 0, 99).rows] == [Window(*session) for session in sessions]
    assert [row.window for row in table.fetch(b"k", 30, 40).rows] == [Window(20, 30), Window(40, 90)]
    assert table.fetch(b"k", 11, 19).rows == []
    assert table.all().undecoded == (b"short",)


def test_a_writer_waits_for_its_own_write(headrace_shared_broker: LocalBroker, topic: str, open_table: Open) -> None:
    table = open_table(headrace_shared_broker, topic)
    table.wait_until_current(10)
    producer = headrace_shared_broker.producer(linger_ms=0)
    reports: list[Any] = []
    for number in range(50):
        producer.produce(topic, b"%d" % number, b"mine", on_delivery=lambda _, message: reports.append(message))
        producer.flush(10)
        table.wait_for(reports[-1].partition(), reports[-1].offset(), 10)
        answer = table.get(b"mine")
        assert answer.value == b"%d" % number
        assert answer.position[reports[-1].partition()] == reports[-1].offset() + 1
    with pytest.raises(TableTimeout, match="not past offset 1000 of partition 0"):
        table.wait_for(0, 1000, 0.05)


def test_only_what_is_committed(headrace_shared_broker: LocalBroker, topic: str, open_table: Open) -> None:
    broker = headrace_shared_broker
    table = open_table(broker, topic)
    dirty = open_table(broker, topic, isolation_level="read_uncommitted")
    producer = broker.producer(transactional_id=f"tx-{topic}")
    producer.init_transactions()
    for end in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        producer.produce(topic, end.__name__.encode(), b"key", partition=0)
        producer.flush(10)
        dirty.wait_until_current(10)
        table.wait_until_current(10)
        assert dirty.get(b"key").value == end.__name__.encode()
        assert table.get(b"key").value is None, "the last stable offset lies before the open transaction"
        end()
        table.wait_until_current(10)  # also past the marker, which no consumer ever delivers
    assert table.get(b"key").value == b"commit_transaction"


def test_records_without_a_key_are_counted(headrace_shared_broker: LocalBroker, open_table: Open) -> None:
    name = headrace_shared_broker.create_topic("not-compacted")
    headrace_shared_broker.produce(name, [b"no key", (b"k", b"v"), b"none here"])
    table = open_table(headrace_shared_broker, name)
    table.wait_until_current(10)
    assert len(table) == 1 and table.status.skipped == 2 and table.status.records == 3


def test_names_and_levels_are_checked(headrace_shared_broker: LocalBroker, open_table: Open) -> None:
    for name in ("..", "a/b", "", "x" * 250):
        with pytest.raises(ValueError, match="not a topic's name"):
            open_table(headrace_shared_broker, name)
    with pytest.raises(ValueError, match="isolation_level"):
        open_table(headrace_shared_broker, "t", isolation_level="snapshot")
