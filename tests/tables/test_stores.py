"""Both stores give the answers of a dict, sorted: after any writes, between any bounds, and the one on disk after any restart."""

from __future__ import annotations

import json
import sqlite3
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.tables.errors import StoreInUse, TableClosed, TableFailed
from headrace.tables.memory_store import MemoryStore
from headrace.tables.orders import BYTES, SIGNED, KeyOrder, by_value
from headrace.tables.places import Places
from headrace.tables.sorted_keys import BLOCK, SortedKeys
from headrace.tables.sqlite_store import SqliteStore
from headrace.tables.store import Changes, Origin, Store
from headrace.tables.windows import SessionWindows, TimeWindows, Windows, session_windowed, time_windowed

ORIGIN = Origin("id", "read_committed", "bytes", True, 0)
KINDS = ("memory", "disk")
ORDERS = {"bytes": BYTES, "signed": SIGNED, "json": by_value("json", json.loads)}
keys = st.one_of(
    st.binary(max_size=3),
    st.integers(-3, 300).map(lambda number: struct.pack(">i", number)),
    st.integers(-20, 20).map(lambda number: b"%d" % number),
)
writes = st.lists(st.tuples(keys, st.one_of(st.none(), st.binary(max_size=4))), max_size=30)


def opened(kind: str, directory: Path, places: Places) -> Store:
    return MemoryStore(places) if kind == "memory" else SqliteStore(directory, "t", places)


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = opened(request.param, tmp_path, Places(BYTES, None))
    yield made
    made.close()


def changes(pairs: list[tuple[bytes, bytes | None]], offset: int) -> Changes:
    made = Changes(offsets={0: offset}, epochs={0: 3})
    for key, value in pairs:
        if value is None:
            made.upserts.pop(key, None)
            made.deletes.add(key)
        else:
            made.deletes.discard(key)
            made.upserts[key] = value
    return made


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_store_is_a_sorted_dict(kind: str, order: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(writes, st.booleans()), max_size=6), keys, keys, st.one_of(st.none(), st.integers(0, 5)))
    def check(
        batches: list[tuple[list[tuple[bytes, bytes | None]], bool]], low: bytes, high: bytes, limit: int | None
    ) -> None:
        places = Places(ORDERS[order], None)
        with tempfile.TemporaryDirectory() as scratch:
            store = opened(kind, Path(scratch), places)
            model: dict[bytes, bytes] = {}
            for number, (batch, restart) in enumerate(batches):
                store.apply(changes(batch, number))
                for key, value in batch:
                    model.pop(key, None) if value is None else model.update({key: value})
                if restart and kind == "disk":
                    store.close()
                    store = opened(kind, Path(scratch), places)
                compare(store, model, places, low, high, limit)
            store.close()

    check()


def compare(
    store: Store, model: dict[bytes, bytes], places: Places, low: bytes, high: bytes, limit: int | None
) -> None:
    position = store.position()
    ranked = sorted(model.items(), key=lambda pair: (places.place(pair[0]), pair[0]))
    assert store.count() == (len(model), position)
    assert store.get(low) == (model.get(low), position)
    assert store.get_many([low, high]) == ([model.get(low), model.get(high)], position)
    assert store.scan(places.everything(), limit) == (ranked[:limit], position)
    first, last = places.place(low), places.place(high)
    if first[:1] == last[:1] == b"\x01" and not places.are_keys:
        return
    between = [pair for pair in ranked if first <= places.place(pair[0]) < last]
    assert store.scan((first, last), limit) == (between[:limit], position)


@pytest.mark.parametrize("place", [None, lambda key: key, lambda key: key[:3]])
def test_sorted_keys_split_and_vanish(place: Callable[[bytes], bytes] | None) -> None:
    random = Random(1)
    numbers = [random.randrange(6 * BLOCK) for _ in range(4 * BLOCK)]
    encoded = [b"%06d" % number for number in numbers]
    ordered = SortedKeys(place, [])
    for key in encoded:
        ordered.add(key)
    assert list(ordered.within((b"", None))) == sorted(set(encoded))
    for key in encoded[::2]:
        ordered.discard(key)
        ordered.discard(key)
    left = sorted(set(encoded) - set(encoded[::2]))
    assert list(ordered.within((b"", None))) == left
    assert list(ordered.within((b"001", b"003"))) == [key for key in left if b"001" <= key < b"003"]
    for key in left:
        ordered.discard(key)
    assert list(ordered.within((b"", None))) == []
    ordered.add(b"x")
    assert list(ordered.within((b"", None))) == [b"x"]


@pytest.mark.parametrize("order", [BYTES, by_value("whole", lambda key: key)])
@pytest.mark.parametrize("windows", [TimeWindows(), SessionWindows()])
@given(
    st.lists(st.tuples(st.binary(max_size=3), st.integers(0, 2**40), st.integers(0, 9)), max_size=20),
    st.binary(max_size=3),
    st.binary(max_size=3),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_windows_of_one_key_stand_together(
    order: KeyOrder,
    windows: Windows,
    rows: list[tuple[bytes, int, int]],
    low: bytes,
    high: bytes,
    include_low: bool,
    include_high: bool,
) -> None:
    places = Places(order, windows)
    time = isinstance(windows, TimeWindows)
    made = {
        time_windowed(key, start) if time else session_windowed(key, start, start + size): key
        for key, start, size in rows
    }
    store = MemoryStore(places)
    store.apply(changes([(key, b"") for key in made], 1))

    def inside(key: bytes) -> bool:
        return (low < key or (include_low and low == key)) and (key < high or (include_high and key == high))

    found, _ = store.scan(places.between(low, high, include_low, include_high), None)
    assert sorted(key for key, _ in found) == sorted(key for key, inner in made.items() if inside(inner))
    own, _ = store.scan(places.within(low, *windows.span(0, 2**41)), None)
    assert [key for key, _ in own] == sorted(key for key, inner in made.items() if inner == low)
    if places.keep_prefixes:
        begun, _ = store.scan(places.prefixed(low), None)
        assert sorted(key for key, _ in begun) == sorted(key for key, inner in made.items() if inner.startswith(low))


@given(st.lists(st.binary(max_size=3)), st.binary(max_size=2))
def test_a_prefix_finds_what_begins_with_it(some: list[bytes], prefix: bytes) -> None:
    some += [prefix, prefix + b"\xff\xff", b"\xff", b"\xff\xff"]
    store = MemoryStore(Places(BYTES, None))
    store.apply(changes([(key, b"") for key in some], 1))
    found, _ = store.scan(Places(BYTES, None).prefixed(prefix), None)
    assert [key for key, _ in found] == sorted({key for key in some if key.startswith(prefix)})


def test_a_reset_forgets_everything(store: Store) -> None:
    store.reset(ORIGIN)
    store.apply(changes([(b"a", b"1")], 5))
    assert store.epochs() == {0: 3}
    store.reset(ORIGIN)
    assert store.count() == (0, {}) and store.epochs() == {} and store.origin() == ORIGIN


def test_every_answer_is_one_state(store: Store) -> None:
    """A writer sets all keys to one number, again and again; no answer mixes two numbers, and its position is that number."""
    names = [b"%d" % number for number in range(50)]
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            number += 1
            store.apply(changes([(name, b"%d" % number) for name in names], number))

    store.apply(changes([(name, b"0") for name in names], 0))
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(200):
            scanned, at = store.scan((b"", None), None)
            assert {value for _, value in scanned} == {b"%d" % at[0]}
            picked, at = store.get_many(names)
            assert set(picked) == {b"%d" % at[0]}
            value, at = store.get(b"7")
            assert value == b"%d" % at[0]
    finally:
        done.set()
        writer.join()


def test_a_write_that_fails_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, "t", Places(BYTES, None))
    store.apply(changes([(b"a", b"1")], 1))
    broken = changes([(b"a", b"2"), (b"b", b"2")], 2)
    broken.upserts[b"c"] = object()  # type: ignore[assignment]
    with pytest.raises(sqlite3.ProgrammingError):
        store.apply(broken)
    assert store.get(b"a") == (b"1", {0: 1}) and store.count() == (1, {0: 1})
    store.close()


def test_one_directory_has_one_holder(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, "t", Places(BYTES, None))
    with pytest.raises(StoreInUse, match="directory of its own"):
        SqliteStore(tmp_path, "t", Places(BYTES, None))
    other = SqliteStore(tmp_path, "other", Places(BYTES, None))
    other.close()
    store.close()
    store.close()
    with pytest.raises(TableClosed):
        store.get(b"a")
    SqliteStore(tmp_path, "t", Places(BYTES, None)).close()


@pytest.mark.parametrize("damage", ["no database", "another format", "no position", "no origin"])
def test_a_file_that_is_no_store_is_replaced(tmp_path: Path, damage: str) -> None:
    store = SqliteStore(tmp_path, "t", Places(BYTES, None))
    store.reset(ORIGIN)
    store.apply(changes([(b"a", b"1")], 1))
    store.close()
    path = tmp_path / "t.table"
    if damage == "no database":
        path.write_bytes(b"\x00garbage" * 1000)
    else:
        statement = {
            "another format": "PRAGMA user_version = 99",
            "no position": "UPDATE state SET position = '[1'",
            "no origin": """UPDATE state SET origin = '{"x": 1}'""",
        }[damage]
        connection = sqlite3.connect(path)
        with connection:
            connection.execute(statement)
        connection.close()
    again = SqliteStore(tmp_path, "t", Places(BYTES, None))
    assert again.count() == (0, {}) and again.origin() is None
    again.close()


def test_a_damaged_page_is_told_with_the_way_out(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, "t", Places(BYTES, None))
    store.apply(changes([(b"%d" % number, b"x" * 100) for number in range(5_000)], 1))
    store.close()
    path = tmp_path / "t.table"
    whole = path.read_bytes()
    path.write_bytes(whole[: 10 * 4096] + b"\xee" * (len(whole) - 10 * 4096))
    store = SqliteStore(tmp_path, "t", Places(BYTES, None))
    with pytest.raises(TableFailed, match=r"t\.table is damaged .* delete it and open the table anew"):
        store.scan((b"", None), None)
    with pytest.raises(TableFailed, match="damaged"):
        store.apply(changes([(b"%d" % number, b"y" * 100) for number in range(5_000)], 2))
    store.close()


def test_a_directory_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "t.table").mkdir()
    with pytest.raises(TableFailed, match="cannot be used"):
        SqliteStore(tmp_path, "t", Places(BYTES, None))
