"""A store on disk: one SQLite file per topic in a directory that one table at a time may hold.

The rows, the position and the origin change in one transaction, so after any crash the file says exactly how far it is. It is a
copy of what the topic holds: a file that cannot be read is thrown away and filled again. Memory is bounded by the page caches
(`CACHE_KIB` per connection), whatever the number of rows. Readers have connections of their own and see snapshots (WAL), so a
long scan holds up nobody.

    <directory>/<topic>.table        the database        rows(place, key, value), with key empty where it is the place itself
    <directory>/<topic>.table-wal    SQLite's log        state(origin, position, stream_time_ms, sweep_began_ms, sweep_place), one row,
    <directory>/<topic>.table-shm    its index           the first two as JSON; sweep_place is NULL when no sweep is under way
    <directory>/<topic>.table.lock   flock of the holder
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from headrace.tables.answers import Position
from headrace.tables.errors import StoreInUse, TableClosed, TableFailed
from headrace.tables.places import Bounds, Places
from headrace.tables.retention import Retention, looks
from headrace.tables.store import Changes, Origin, Pair

CACHE_KIB = 16_384
# A checkpoint copies pages from the log into the file. Every 64 MiB instead of every 4 lets a page that changes often be copied once.
CHECKPOINT_PAGES = 16_384
FORMAT = 2

_log = logging.getLogger(__name__)
_UPSERT = "INSERT INTO rows VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
_GET = "SELECT (SELECT value FROM rows WHERE place = ? AND key = ?), position, stream_time_ms FROM state"
_STATE = "SELECT position, stream_time_ms FROM state"
# `Retention.keeps` as SQL: the time of a key's window stands `suffix` bytes from its end. Without a retention `oldest` is NULL.
_SCAN = (
    "SELECT place, key, value FROM rows WHERE place >= :low "
    "AND (:oldest IS NULL OR length(key) < :suffix OR substr(key, -:suffix, 8) >= :oldest) ORDER BY place, key LIMIT :most"
)
_SCAN_TO = (
    "SELECT place, key, value FROM rows WHERE place >= :low AND place < :high "
    "AND (:oldest IS NULL OR length(key) < :suffix OR substr(key, -:suffix, 8) >= :oldest) ORDER BY place, key LIMIT :most"
)
_COUNT = "SELECT count(*) FROM rows"  # SQLite counts without looking at rows where there is no condition
_COUNT_KEPT = "SELECT count(*) FROM rows WHERE length(key) < :suffix OR substr(key, -:suffix, 8) >= :oldest"
_SWEEP = (
    "DELETE FROM rows WHERE place > :after AND place <= :last "
    "AND length(key) >= :suffix AND substr(key, -:suffix, 8) < :oldest"
)
_AHEAD = "SELECT place FROM rows WHERE place > ? ORDER BY place LIMIT 1 OFFSET ?"
_BEYOND_PLACES = b"\x02"  # of windowed keys; they begin with 00 or 01


class SqliteStore:
    """See the module and `store.Store`."""

    batch_records = 20_000
    # Keys come in any order, so nearly every write touches nearly every page: the fewer writes, the less is written. Measured with
    # a million rows, 200,000 records a write take half the CPU time of 20,000, for about 60 MB of memory.
    load_records = 200_000

    def __init__(self, directory: Path, topic: str, places: Places, retention: Retention | None = None) -> None:
        self._places = places
        self._retention = retention
        self._path = directory / f"{topic}.table"
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._busy = 0
        self._closed = False
        self._last_position: tuple[str, Position] = ("", MappingProxyType({}))
        directory.mkdir(parents=True, exist_ok=True)
        self._lock_fd = self._hold(directory)
        try:
            with self._blaming_the_file():
                self._writer = self._open()
        except BaseException:
            os.close(self._lock_fd)
            raise

    def _hold(self, directory: Path) -> int:
        descriptor = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise StoreInUse(
                f"the store {self._path.name} in {directory} is held by another table; "
                "close that one, or give each process a directory of its own"
            ) from error
        return descriptor

    def _open(self) -> sqlite3.Connection:
        """The writing connection; a file that is no store of this format is replaced by an empty one."""
        try:
            return self._prepared()
        except (sqlite3.DatabaseError, ValueError) as error:
            if isinstance(error, sqlite3.OperationalError):
                raise  # no space, no permission: the file may be fine
            _log.warning("the store %s cannot be read (%s) and is filled again from its topic", self._path, error)
        for ending in ("", "-wal", "-shm"):
            Path(f"{self._path}{ending}").unlink(missing_ok=True)
        return self._prepared()

    def _prepared(self) -> sqlite3.Connection:
        connection = self._connect()
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, FORMAT):
                raise ValueError(f"written in format {version}, this is {FORMAT}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            # Loading makes the log as large as the file; afterwards it gives the room back.
            connection.execute(f"PRAGMA journal_size_limit = {CHECKPOINT_PAGES * 4096}")
            with _transaction(connection, "IMMEDIATE"):
                _create(connection)
            origin, position = connection.execute("SELECT origin, position FROM state").fetchone()
            _read_origin(origin)
            _read_position(position)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=30)
        # The log is not synced at every write: a power cut may cost the last ones, which the topic still has.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        return connection

    @contextlib.contextmanager
    def _blaming_the_file(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            raise  # a bug of ours
        except sqlite3.DatabaseError as error:
            raise self._blamed(error) from error

    def _blamed(self, error: sqlite3.DatabaseError) -> TableFailed:
        """SQLite's errors say what is wrong and not where; this adds where, and the way out."""
        if isinstance(error, sqlite3.OperationalError):
            way_out = "cannot be used ({}); see that the disk has room and that the directory is writable"
        else:
            way_out = "is damaged ({}); delete it and open the table anew, it is filled again from its topic"
        return TableFailed(f"the store {self._path} {way_out.format(error)}")

    @contextlib.contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """A connection for one look-up, from those that others are done with."""
        with self._lock:
            if self._closed:
                raise TableClosed(f"the store {self._path.name} is closed")
            connection = self._idle.pop() if self._idle else None
            self._busy += 1
        try:
            if connection is None:
                connection = self._connect()
            yield connection
        except sqlite3.ProgrammingError:
            raise  # a bug of ours
        except sqlite3.DatabaseError as error:
            raise self._blamed(error) from error
        finally:
            with self._lock:
                self._busy -= 1
                if connection is not None and not self._closed:
                    self._idle.append(connection)
                    connection = None
            if connection is not None:
                connection.close()

    def origin(self) -> Origin | None:
        (text,) = self._writer.execute("SELECT origin FROM state").fetchone()
        return _read_origin(text)

    def epochs(self) -> dict[int, int]:
        return {partition: epoch for partition, (_, epoch) in self._state().items() if epoch >= 0}

    def position(self) -> Position:
        return MappingProxyType({partition: offset for partition, (offset, _) in self._state().items()})

    def _state(self) -> dict[int, tuple[int, int]]:
        (text,) = self._writer.execute("SELECT position FROM state").fetchone()
        return _read_position(text)

    def reset(self, origin: Origin) -> None:
        with self._blaming_the_file(), _transaction(self._writer, "IMMEDIATE"):
            self._writer.execute("DROP TABLE rows")
            self._writer.execute("DELETE FROM state")
            _create(self._writer)
            self._writer.execute("UPDATE state SET origin = ?", (json.dumps(asdict(origin)),))

    def mark(self, origin: Origin) -> None:
        with self._blaming_the_file():
            self._writer.execute("UPDATE state SET origin = ?", (json.dumps(asdict(origin)),))

    def apply(self, changes: Changes) -> Position:
        state = self._state()
        for partition, offset in changes.offsets.items():
            epoch = changes.epochs.get(partition, state.get(partition, (0, -1))[1])
            state[partition] = (offset, epoch)
        slots, upserts, retention = self._slots, changes.upserts, self._retention
        time_ms = self._stream_time_ms()
        if retention is not None:
            time_ms = retention.stream_time_ms(time_ms, chain(upserts, changes.deletes))
            limit = retention.limit(time_ms)
            upserts = {key: value for key, value in upserts.items() if retention.keeps(key, limit)}
        with self._blaming_the_file(), _transaction(self._writer, "IMMEDIATE"):
            # In the order of the tree, neighbours share a page that is then written once.
            self._writer.executemany(_UPSERT, sorted((*slots(key), value) for key, value in upserts.items()))
            self._writer.executemany("DELETE FROM rows WHERE place = ? AND key = ?", map(slots, changes.deletes))
            self._writer.execute("UPDATE state SET position = ?, stream_time_ms = ?", (json.dumps(state), time_ms))
            if retention is not None:
                self._sweep(retention, time_ms, looks(len(changes.upserts) + len(changes.deletes)))
        return MappingProxyType({partition: offset for partition, (offset, _) in state.items()})

    def _stream_time_ms(self) -> int:
        (time_ms,) = self._writer.execute("SELECT stream_time_ms FROM state").fetchone()
        return int(time_ms)

    def _sweep(self, retention: Retention, time_ms: int, count: int) -> None:
        """Delete what is expired of the next rows, in the order of places. Within the transaction of a write, which keeps how far it went."""
        began_ms, place = self._writer.execute("SELECT sweep_began_ms, sweep_place FROM state").fetchone()
        if place is None:
            if not retention.sweep_is_due(began_ms, time_ms):
                return
            began_ms, place = time_ms, b""  # windowed keys have no empty place
        (last,) = self._writer.execute(_AHEAD, (place, count)).fetchone() or (None,)
        bounds = {"after": place, "last": _BEYOND_PLACES if last is None else last}
        self._writer.execute(_SWEEP, {**bounds, **self._kept(time_ms)})
        self._writer.execute("UPDATE state SET sweep_began_ms = ?, sweep_place = ?", (began_ms, last))

    def _slots(self, key: bytes) -> tuple[bytes, bytes]:
        return (key, b"") if self._places.are_keys else (self._places.place(key), key)

    def get(self, key: bytes) -> tuple[bytes | None, Position]:
        with self._reader() as reader:
            value, position, time_ms = reader.execute(_GET, self._slots(key)).fetchone()
        return (value if self._keeps(key, time_ms) else None), self._decoded(position)

    def get_many(self, keys: list[bytes]) -> tuple[list[bytes | None], Position]:
        with self._reader() as reader, _transaction(reader):
            position, time_ms = reader.execute(_STATE).fetchone()
            values = [reader.execute(_GET, self._slots(key)).fetchone()[0] for key in keys]
        kept = [value if self._keeps(key, time_ms) else None for key, value in zip(keys, values)]
        return kept, self._decoded(position)

    def _keeps(self, key: bytes, time_ms: int) -> bool:
        return self._retention is None or self._retention.keeps(key, self._retention.limit(time_ms))

    def scan(self, bounds: Bounds, limit: int | None) -> tuple[list[Pair], Position]:
        low, high = bounds
        with self._reader() as reader, _transaction(reader):
            position, time_ms = reader.execute(_STATE).fetchone()
            arguments = {"low": low, "high": high, "most": -1 if limit is None else limit, **self._kept(time_ms)}
            found = reader.execute(_SCAN if high is None else _SCAN_TO, arguments).fetchall()
        are_keys = self._places.are_keys
        return [(place if are_keys else key, value) for place, key, value in found], self._decoded(position)

    def count(self) -> tuple[int, Position]:
        with self._reader() as reader, _transaction(reader):
            position, time_ms = reader.execute(_STATE).fetchone()
            query = _COUNT if self._retention is None else _COUNT_KEPT
            (count,) = reader.execute(query, self._kept(time_ms)).fetchone()
        return count, self._decoded(position)

    def _kept(self, time_ms: int) -> dict[str, Any]:
        """Which rows are not expired at a stream time, as arguments of the queries."""
        if self._retention is None:
            return {"suffix": 0, "oldest": None}
        return {"suffix": self._retention.suffix_bytes, "oldest": self._retention.limit(time_ms)}

    def _decoded(self, text: str) -> Position:
        """The position behind its text; most look-ups see the same one as the look-up before."""
        known, position = self._last_position
        if known != text:
            offsets = {partition: offset for partition, (offset, _) in _read_position(text).items()}
            position = MappingProxyType(offsets)
            self._last_position = (text, position)
        return position

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in (*idle, self._writer):
            connection.close()
        os.close(self._lock_fd)


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, kind: str = "DEFERRED") -> Iterator[None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _create(connection: sqlite3.Connection) -> None:
    """The tables, where they are missing."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS rows(place BLOB, key BLOB, value BLOB NOT NULL, PRIMARY KEY (place, key)) WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE IF NOT EXISTS state(id INTEGER PRIMARY KEY, origin TEXT, position TEXT NOT NULL, "
        "stream_time_ms INTEGER NOT NULL, sweep_began_ms INTEGER NOT NULL, sweep_place BLOB)"
    )
    connection.execute("INSERT OR IGNORE INTO state VALUES (0, NULL, '{}', -1, -1, NULL)")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _read_origin(text: str | None) -> Origin | None:
    """ValueError when the text is not one that `mark` wrote."""
    if text is None:
        return None
    try:
        return Origin(**json.loads(text))
    except TypeError as error:
        raise ValueError(f"its origin is {text!r}") from error


def _read_position(text: str) -> dict[int, tuple[int, int]]:
    """Offset and leader epoch for each partition; ValueError when the text is not one that `apply` wrote."""
    try:
        return {int(partition): (int(offset), int(epoch)) for partition, (offset, epoch) in json.loads(text).items()}
    except (TypeError, AttributeError) as error:
        raise ValueError(f"its position is {text!r}") from error
