"""Windows that expire: both stores answer as a model of Kafka Streams' stores does, and what is expired leaves them a little with each write."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.tables import retention as rule
from headrace.tables.memory_store import MemoryStore
from headrace.tables.orders import BYTES, KeyOrder, by_value
from headrace.tables.places import Places
from headrace.tables.retention import LEAST_LOOKS, LOOKS_PER_CHANGE, Retention, retention_of
from headrace.tables.sqlite_store import SqliteStore
from headrace.tables.store import Changes, Origin, Store
from headrace.tables.windows import SessionWindows, TimeWindows, Windows, session_windowed, time_windowed
from tests.tables.test_stores import KINDS, changes

TIME, SESSION = TimeWindows(10), SessionWindows()
ORDERS = [BYTES, by_value("whole", lambda key: key)]
Write = tuple[bytes, bytes | None]


def opened(kind: str, directory: Path, windows: Windows, retention_ms: int | None, order: KeyOrder = BYTES) -> Store:
    places, retention = Places(order, windows), retention_of(windows, retention_ms)
    return MemoryStore(places, retention) if kind == "memory" else SqliteStore(directory, "t", places, retention)


def held(store: Store) -> int:
    """How many rows a store has, expired or not."""
    if isinstance(store, MemoryStore):
        return len(store._rows)
    assert isinstance(store, SqliteStore)
    return int(store._writer.execute("SELECT count(*) FROM rows").fetchone()[0])


def times(store: Store) -> list[int]:
    rows, _ = store.scan((b"", None), None)
    return sorted(int.from_bytes(key[-8:], "big") for key, _ in rows)


# The rule


def test_a_window_goes_when_it_starts_the_retention_before_the_newest() -> None:
    retention = Retention(100, 8)
    limit = retention.limit(1_000)
    assert not retention.keeps(time_windowed(b"k", 900), limit)
    assert retention.keeps(time_windowed(b"k", 901), limit)
    assert retention.keeps(time_windowed(b"k", 0), retention.limit(99))
    assert not retention.keeps(time_windowed(b"k", 0), retention.limit(100))
    assert retention.keeps(time_windowed(b"k", 0), retention.limit(-1)), "before any record there is no stream time"


def test_a_session_goes_by_its_end() -> None:
    retention = retention_of(SESSION, 100)
    assert retention is not None
    limit = retention.limit(retention.stream_time_ms(-1, [session_windowed(b"k", 0, 1_000)]))
    assert retention.keeps(session_windowed(b"k", 0, 901), limit)
    assert not retention.keeps(session_windowed(b"k", 899, 900), limit)


@pytest.mark.parametrize("key", [b"", b"short", b"an address", b"\xff" * 8, time_windowed(b"k", (1 << 53) + 1)])
def test_what_is_no_time_moves_nothing_and_stays(key: bytes) -> None:
    retention = Retention(100, 8)
    assert retention.stream_time_ms(7, [key]) == 7
    assert retention.keeps(key, retention.limit(1 << 53))


def test_stream_time_never_goes_back() -> None:
    retention = Retention(100, 8)
    assert retention.stream_time_ms(-1, []) == -1
    assert retention.stream_time_ms(-1, [time_windowed(b"k", 0)]) == 0
    assert retention.stream_time_ms(50, [time_windowed(b"k", at) for at in (20, 70, 30)]) == 70
    assert retention.stream_time_ms(90, [time_windowed(b"k", 70)]) == 90


def test_a_retention_is_of_windows() -> None:
    assert retention_of(None, None) is None and retention_of(TIME, None) is None
    with pytest.raises(ValueError, match="have none: give windows, or leave it out"):
        retention_of(None, 1)
    with pytest.raises(ValueError, match="1 or more, not 0"):
        retention_of(TIME, 0)


# Both stores and the model


class Model:
    """Kafka Streams' stores, record by record: a put moves the time, and is dropped when it is expired itself."""

    def __init__(self, windows: Windows, retention_ms: int) -> None:
        self.rows: dict[bytes, bytes] = {}
        self._suffix = windows.suffix_bytes
        self._retention_ms = retention_ms
        self._now = -1

    def put(self, key: bytes, value: bytes | None) -> None:
        time = self._time(key)
        if time is not None:
            self._now = max(self._now, time)
        self.rows.pop(key, None) if value is None else self.rows.update({key: value})
        self.rows = {each: value for each, value in self.rows.items() if self._is_kept(each)}

    def _time(self, key: bytes) -> int | None:
        if len(key) < self._suffix:
            return None
        time = int.from_bytes(key[len(key) - self._suffix :][:8], "big")
        return time if time <= 1 << 53 else None

    def _is_kept(self, key: bytes) -> bool:
        time = self._time(key)
        return time is None or time > self._now - self._retention_ms


moments = st.one_of(st.integers(0, 60), st.sampled_from([(1 << 53) + 1, (1 << 63) - 1]))  # the last two are no times
inner = st.sampled_from([b"", b"a", b"a\x00", b"b"])
values = st.none() | st.binary(max_size=2)
strangers = st.tuples(st.binary(max_size=7), values)
time_writes = st.lists(st.tuples(st.builds(time_windowed, inner, moments), values) | strangers, max_size=12)
session_writes = st.lists(
    st.tuples(
        st.builds(
            lambda key, end, length: session_windowed(key, max(0, end - length), end), inner, moments, st.integers(0, 9)
        ),
        values,
    )
    | strangers,
    max_size=12,
)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("windows", [TIME, SESSION])
def test_both_stores_answer_as_the_model_does(
    windows: Windows, order: KeyOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sweeps of a row or two at a time: their every state is seen.
    monkeypatch.setattr(rule, "LEAST_LOOKS", 1)
    monkeypatch.setattr(rule, "LOOKS_PER_CHANGE", 0)
    writes = time_writes if windows is TIME else session_writes

    @settings(max_examples=60, deadline=None)
    @given(
        st.integers(1, 40),
        st.lists(st.tuples(writes, st.booleans(), st.booleans()), max_size=8),
        st.none() | st.integers(0, 5),
    )
    def check(retention_ms: int, batches: list[tuple[list[Write], bool, bool]], limit: int | None) -> None:
        places, model = Places(order, windows), Model(windows, retention_ms)
        with tempfile.TemporaryDirectory() as scratch:
            memory = opened("memory", Path(scratch), windows, retention_ms, order)
            disk = opened("disk", Path(scratch), windows, retention_ms, order)
            for number, (batch, restart, look) in enumerate(batches):
                for key, value in batch:
                    model.put(key, value)
                for store in (memory, disk):
                    store.apply(changes(batch, number))
                if restart:
                    disk.close()
                    disk = opened("disk", Path(scratch), windows, retention_ms, order)
                if look:  # the store in memory sorts its keys from the first look on
                    for store in (memory, disk):
                        compare(store, model.rows, places, [key for key, _ in batch], limit)
            for store in (memory, disk):
                compare(store, model.rows, places, [], limit)
                store.close()

    check()


def compare(store: Store, rows: dict[bytes, bytes], places: Places, keys: list[bytes], limit: int | None) -> None:
    ranked = sorted(rows.items(), key=lambda pair: (places.place(pair[0]), pair[0]))
    position = store.position()
    assert store.scan(places.everything(), limit) == (ranked[:limit], position)
    between = places.between(b"a", b"b", True, False)
    assert store.scan(between, None)[0] == [
        pair for pair in ranked if between[0] <= places.place(pair[0]) < (between[1] or b"")
    ]
    assert store.count() == (len(rows), position)
    assert store.get_many(keys) == ([rows.get(key) for key in keys], position)
    for key in keys:
        assert store.get(key) == (rows.get(key), position)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_make_no_difference(kind: str, tmp_path: Path) -> None:
    """A newest window that is deleted again has moved the time, whether or not its tombstone came in the same batch."""
    script: list[Write] = [
        (time_windowed(b"k", 0), b"1"),
        (time_windowed(b"k", 500), b"1"),
        (time_windowed(b"k", 500), None),
    ]
    together = opened(kind, tmp_path / "together", TIME, 100)
    apart = opened(kind, tmp_path / "apart", TIME, 100)
    together.apply(changes(script, 3))
    for number, write in enumerate(script, 1):
        apart.apply(changes([write], number))
    assert together.count() == apart.count() == (0, {0: 3})
    together.close()
    apart.close()


# What leaves, and when


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_does_not_grow_with_time(kind: str, tmp_path: Path) -> None:
    store = opened(kind, tmp_path, TIME, 1_000)
    most = 0
    for window in range(400):
        store.apply(changes([(time_windowed(b"%d" % number, window * 100), b"x") for number in range(50)], window))
        most = max(most, held(store))
    alive = 10 * 50
    assert store.count()[0] == alive and set(times(store)) == {window * 100 for window in range(390, 400)}
    assert most <= 2 * alive, "a sweep each eighth of the retention, of four looks for each row that comes"
    store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_write_pays_for_a_few_rows_only(kind: str, tmp_path: Path) -> None:
    store = opened(kind, tmp_path, TIME, 1_000)
    many = 5_000
    store.apply(changes([(time_windowed(b"%d" % number, 0), b"x") for number in range(many)], 1))
    before = held(store)
    writes = 0
    while before > 1:
        store.apply(changes([(time_windowed(b"new", 10**9), b"x")], 2 + writes))
        assert store.count()[0] == 1 and store.get(time_windowed(b"1", 0))[0] is None, (
            "expired at once, in every answer"
        )
        left = held(store)
        assert before - left <= LEAST_LOOKS + LOOKS_PER_CHANGE + 1, "the row that the last look ends at goes too"
        before, writes = left, writes + 1
        assert writes < many, "it ends"
    assert writes <= many // LEAST_LOOKS + 2
    store.close()


def test_a_sweep_goes_on_after_a_restart(tmp_path: Path) -> None:
    store = opened("disk", tmp_path, TIME, 1_000)
    store.apply(changes([(time_windowed(b"%d" % number, 0), b"x") for number in range(2_000)], 1))
    for number in range(2_000 // LEAST_LOOKS + 2):
        store.apply(changes([(time_windowed(b"new", 10**9), b"x")], 2 + number))
        store.close()
        store = opened("disk", tmp_path, TIME, 1_000)
        assert store.count()[0] == 1
    assert held(store) == 1
    store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_reset_forgets_the_time_too(kind: str, tmp_path: Path) -> None:
    store = opened(kind, tmp_path, TIME, 100)
    store.apply(changes([(time_windowed(b"k", 10**6), b"x")], 1))
    store.reset(Origin("id", "read_committed", "bytes", True, 0))
    store.apply(changes([(time_windowed(b"k", 5), b"x")], 1))
    assert times(store) == [5]
    store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_retention_nothing_goes(kind: str, tmp_path: Path) -> None:
    store = opened(kind, tmp_path, TIME, None)
    for number in range(3):
        store.apply(changes([(time_windowed(b"k", number * 10**9), b"x")], number))
    assert times(store) == [0, 10**9, 2 * 10**9] and store.count()[0] == 3
    store.close()


def test_a_file_of_the_format_before_is_filled_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As written before tables had a retention: no stream time could be told for its rows."""
    connection: Any = sqlite3.connect(tmp_path / "t.table")
    with connection:
        connection.execute(
            "CREATE TABLE rows(place BLOB, key BLOB, value BLOB NOT NULL, PRIMARY KEY (place, key)) WITHOUT ROWID"
        )
        connection.execute("CREATE TABLE state(id INTEGER PRIMARY KEY, origin TEXT, position TEXT NOT NULL)")
        connection.execute("""INSERT INTO state VALUES (0, NULL, '{"0": [3, 1]}')""")
        connection.execute("INSERT INTO rows VALUES (x'00', x'00', x'00')")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    store = opened("disk", tmp_path, TIME, 100)
    assert "written in format 1, this is 2" in caplog.text
    assert store.count() == (0, {}) and store.origin() is None
    store.apply(Changes({time_windowed(b"k", 1): b"x"}, offsets={0: 1}))
    assert times(store) == [1]
    store.close()
