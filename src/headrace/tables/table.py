"""A changelog topic as a table: look-ups from a local store that follows the topic.

    with ChangelogTable("localhost:9092", "prices", decode_value=json.loads) as prices:
        prices.wait_until_current(10)
        prices.get(b"ACME").value

Answers come from this process's own store, never from the cluster, and each carries the position that it was read at. Owns the
feed and the store; everything here may be called from any thread.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.clock import Clock
from headrace.tables.answers import Count, Key, Lookup, Position, Row, Rows, Value, Window
from headrace.tables.errors import RecordNotDecoded, TableClosed, WrongLookup
from headrace.tables.feed import Feed
from headrace.tables.memory_store import MemoryStore
from headrace.tables.orders import BYTES, KeyOrder
from headrace.tables.places import Bounds, Places
from headrace.tables.progress import Progress, State, Status, reached
from headrace.tables.retention import retention_of
from headrace.tables.sqlite_store import SqliteStore
from headrace.tables.store import TIMESTAMP, Pair, Store
from headrace.tables.topic import READ_COMMITTED, READ_UNCOMMITTED, ChangelogTopic, TopicClosed
from headrace.tables.windows import Windows

if TYPE_CHECKING:
    from types import TracebackType

REFRESH_S = 5.0
RETRY_S = 0.1
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_STAMP = TIMESTAMP.size
Answer = TypeVar("Answer")


def _same(data: Any) -> Any:
    return data


class ChangelogTable(Generic[Key, Value]):
    """The last value of each key of `topic`, in memory, or with `directory` in a file there that survives the process.

    Keys and values are bytes unless the caller gives functions: `encode_key` for the keys that look-ups name, `decode_key` and
    `decode_value` for what they return. `order` sorts keys for ranges; `windows` says that keys carry a window, and with
    `retention_ms` a row goes when its window starts (a session: ends) that long before the newest. Reads committed records only,
    unless `isolation_level` says otherwise. `client_settings` are librdkafka's, for security and the like.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        topic: str,
        *,
        encode_key: Callable[[Key], bytes] = _same,
        decode_key: Callable[[bytes], Key] = _same,
        decode_value: Callable[[bytes], Value] = _same,
        order: KeyOrder = BYTES,
        windows: Windows | None = None,
        retention_ms: int | None = None,
        directory: Path | str | None = None,
        isolation_level: str = READ_COMMITTED,
        client_settings: Mapping[str, Any] | None = None,
        refresh_s: float = REFRESH_S,
        clock: Clock | None = None,
    ) -> None:
        _check(topic, isolation_level)
        self.topic = topic
        self._encode_key = encode_key
        self._decode_key = decode_key
        self._decode_value = decode_value
        self._windows = windows
        self._places = Places(order, windows)
        self._progress = Progress(topic)
        retention = retention_of(windows, retention_ms)
        self._store: Store = (
            MemoryStore(self._places, retention)
            if directory is None
            else SqliteStore(Path(directory), topic, self._places, retention)
        )
        with contextlib.ExitStack() as undo:
            undo.callback(self._store.close)
            settings = dict(client_settings or {})
            self._changelog = ChangelogTopic(bootstrap_servers, topic, isolation_level, settings)
            self._feed = Feed(
                bootstrap_servers,
                self._changelog,
                self._store,
                self._places.name + (retention.name if retention else ""),
                self._progress,
                settings=settings,
                refresh_s=refresh_s,
                clock=clock or Clock(),
            )
            undo.pop_all()
        self._feed.start()

    def close(self) -> None:
        """Stop reading and give everything back: the thread, the connections, the files. Twice does no harm."""
        if self._progress.status.state is State.CLOSED:
            return
        self._feed.close()
        self._progress.update(state=State.CLOSED)
        self._changelog.close()
        self._store.close()

    def __enter__(self) -> ChangelogTable[Key, Value]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def status(self) -> Status:
        """How the table is doing."""
        return self._progress.status

    # Look-ups.

    def get(self, key: Key) -> Lookup[Key, Value]:
        """The row of one key. RecordNotDecoded when its value is there but cannot be read."""
        self._check_kind(windowed=False)
        raw = self._encode_key(key)
        packed, position = self._ask(lambda store: store.get(raw))
        if packed is None:
            return Lookup(None, position)
        (timestamp,) = TIMESTAMP.unpack_from(packed)
        try:
            return Lookup(Row(key, self._decode_value(packed[_STAMP:]), timestamp), position)
        except Exception as error:
            raise RecordNotDecoded(
                f"the value of key {key!r} in topic {self.topic!r} cannot be decoded ({error}); "
                "write the record again, or a tombstone, in the format that the table expects"
            ) from error

    def get_many(self, keys: Iterable[Key]) -> Rows[Key, Value]:
        """The rows of several keys, in their order, those that have none left out; all of one state."""
        self._check_kind(windowed=False)
        raw = [self._encode_key(key) for key in keys]
        found, position = self._ask(lambda store: store.get_many(raw))
        return self._rows([(key, packed) for key, packed in zip(raw, found) if packed is not None], position)

    def range(
        self,
        low: Key | None = None,
        high: Key | None = None,
        *,
        limit: int | None = None,
        include_low: bool = True,
        include_high: bool = True,
    ) -> Rows[Key, Value]:
        """The rows from `low` to `high` in key order; None is no bound. With windows: all windows of those keys.

        To read on after a limit, ask again from the last key with `include_low=False`. Keys that the order cannot place are in
        `all` only.
        """
        first = None if low is None else self._encode_key(low)
        last = None if high is None else self._encode_key(high)
        return self._scan(self._places.between(first, last, include_low, include_high), limit)

    def prefix(self, prefix: bytes, *, limit: int | None = None) -> Rows[Key, Value]:
        """The rows whose key bytes (without the window) begin with `prefix`, in key order."""
        if not self._places.keep_prefixes:
            raise WrongLookup(
                f"the table of topic {self.topic!r} is sorted by {self._places.name}, which does not keep keys with one "
                "prefix together; use range"
            )
        return self._scan(self._places.prefixed(prefix), limit)

    def all(self, *, limit: int | None = None) -> Rows[Key, Value]:
        """Every row, in key order."""
        return self._scan(self._places.everything(), limit)

    def fetch(self, key: Key, from_ms: int, to_ms: int, *, limit: int | None = None) -> Rows[Key, Value]:
        """The windows of one key, oldest first: time windows that start, sessions that have a part, between the two (included)."""
        self._check_kind(windowed=True)
        windows = self._windows
        assert windows is not None, "checked above"
        _check_limit(limit)
        bounds = self._places.within(self._encode_key(key), *windows.span(from_ms, to_ms))
        pairs, position = self._ask(lambda store: store.scan(bounds, None))
        kept = [
            pair for pair in pairs if windows.within(windows.window(self._places.split(pair[0])[1]), from_ms, to_ms)
        ]
        return self._rows(kept[:limit], position, more=limit is not None and len(kept) > limit)

    def count(self) -> Count:
        """How many rows there are. On disk this walks the file: a tenth of a second for a million rows."""
        return Count(*self._ask(lambda store: store.count()))

    def __len__(self) -> int:
        return self.count().value

    # Waiting.

    def wait_for(self, partition: int, offset: int, timeout: float) -> None:
        """Wait until the record at this offset is applied, as a producer's delivery report names it. TableTimeout if it is not."""
        wanted = f"past offset {offset} of partition {partition}"
        self._progress.wait(
            lambda status: status.state is State.SERVING and status.position.get(partition, 0) > offset,
            time.monotonic() + timeout,
            wanted,
        )

    def wait_until_current(self, timeout: float) -> None:
        """Wait until everything is applied that the topic holds now; with read_committed, up to the last stable offset."""
        deadline = time.monotonic() + timeout
        topic_id, ends = self._ends(deadline)
        self._progress.wait(
            lambda status: (
                status.state is State.SERVING and status.topic_id == topic_id and reached(status.position, ends)
            ),
            deadline,
            f"at {ends}",
        )

    def _ends(self, deadline: float) -> tuple[str, dict[int, int]]:
        """The topic's id and where it ends now, asked for until the cluster answers or time is up."""
        from confluent_kafka import KafkaException

        while True:
            left = max(0.1, deadline - time.monotonic())
            try:
                found = self._changelog.describe(left)
                if found is not None:
                    ends = self._changelog.end_offsets(found.partitions, left)
                    if found.topic_id != self.status.topic_id or not set(ends) <= set(self.status.position):
                        self._feed.refresh()
                    return found.topic_id, ends
            except KafkaException as error:
                self._progress.update(last_error=error.args[0].str())
            except TopicClosed as error:
                raise TableClosed(f"the table of topic {self.topic!r} was closed while this waited for it") from error
            if self.status.state in (State.CLOSED, State.FAILED) or time.monotonic() >= deadline:
                self._progress.wait(lambda _status: False, deadline, "in contact with its cluster")
            self._progress.pause(min(RETRY_S, max(0.0, deadline - time.monotonic())))

    # Inside.

    def _ask(self, ask: Callable[[Store], Answer]) -> Answer:
        """An answer of the store while it serves. One that a rebuild or a close overtook is not given: it may be of an empty store."""
        while True:
            before = self._progress.status
            if before.state is not State.SERVING:
                refusal = self._progress.refusal()
                if refusal is not None:
                    raise refusal
                continue
            answer = ask(self._store)
            after = self._progress.status
            if after.rebuilds == before.rebuilds and after.state is not State.CLOSED:
                return answer

    def _check_kind(self, *, windowed: bool) -> None:
        if windowed != (self._windows is not None):
            use = "get" if windowed else "fetch"
            kind = "no windows" if windowed else "windows"
            raise WrongLookup(f"the keys of topic {self.topic!r} have {kind} in this table; use {use}")

    def _scan(self, bounds: Bounds, limit: int | None) -> Rows[Key, Value]:
        _check_limit(limit)
        at_most = None if limit is None else limit + 1
        pairs, position = self._ask(lambda store: store.scan(bounds, at_most))
        return self._rows(pairs[:limit], position, more=limit is not None and len(pairs) > limit)

    def _rows(self, pairs: list[Pair], position: Position, *, more: bool = False) -> Rows[Key, Value]:
        rows: list[Row[Key, Value]] = []
        undecoded: list[bytes] = []
        for key, packed in pairs:
            try:
                rows.append(self._row(key, packed))
            except Exception:
                # The decode functions are the caller's, the bytes a stranger's: whatever they raise, the row is named in the answer.
                undecoded.append(key)
        return Rows(rows, position, more, tuple(undecoded))

    def _row(self, key: bytes, packed: bytes) -> Row[Key, Value]:
        (timestamp,) = TIMESTAMP.unpack_from(packed)
        window: Window | None = None
        if self._windows is not None:
            key, suffix = self._places.split(key)
            window = self._windows.window(suffix)
        return Row(self._decode_key(key), self._decode_value(packed[_STAMP:]), timestamp, window)


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 0:
        raise ValueError(f"a limit is a number of rows from 0 on, or None, not {limit}")


def _check(topic: str, isolation_level: str) -> None:
    if not _TOPIC_NAME.fullmatch(topic) or topic in (".", ".."):
        raise ValueError(f"{topic!r} is not a topic's name: letters, digits, '.', '_' and '-', up to 249 of them")
    if isolation_level not in (READ_COMMITTED, READ_UNCOMMITTED):
        raise ValueError(f"isolation_level is {READ_COMMITTED} or {READ_UNCOMMITTED}, not {isolation_level!r}")
