"""A history as plain data: one JSON object per line, an event each, in the order in which they were noted.

    {"time": 17..., "process": "writer-0", "id": "writer-0:12", "type": "invoke", "f": "send", "partition": "a/0", "value": "w0.3"}
    {"time": 17..., "process": "writer-0", "id": "writer-0:12", "type": "ok", "offset": 41}

`time` is nanoseconds since the epoch. An operation is its invocation and how it ended: `ok` (it happened), `fail` (it certainly did
not), `unknown` (a timeout, a lost connection, or no end at all). A partition is `topic/index`. The operations:

| f | invocation | end |
|---|---|---|
| `send` | partition, value, producer, session, txn (null outside of transactions), source (what a transformer made it from) | offset |
| `init` | producer, session, version (of transactions: 1 or 2; null without): this session takes the producer over | |
| `end` | txn, producer, session, commit (true or false) | |
| `offsets` | txn, group, offsets (partition → next offset to read) | |
| `poll` | isolation, session | records: [[partition, offset, value], ...] |
| `committed` | group | offsets |
| `final` | isolation | records of everything, stable: whether the last stable offset reached the end |
| `late` | producer, version, received: the proxy delivers an EndTxn whose sender gave it up | (answered) |
| `fault` | what | |
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

Event = dict[str, Any]
OK, FAIL, UNKNOWN = "ok", "fail", "unknown"


@dataclass(slots=True)
class Operation:
    """An invocation and its end. `fields` holds both sides; `ended` is None for what never ended."""

    id: str
    process: str
    f: str
    began: int
    fields: Event
    outcome: str = UNKNOWN
    ended: int | None = None

    @property
    def ok(self) -> bool:
        return self.outcome == OK

    def get(self, name: str) -> Any:
        return self.fields.get(name)


def operations(events: Iterable[Mapping[str, Any]]) -> list[Operation]:
    """Pair invocations with their ends, in order of invocation. An end without an invocation is a broken history."""
    found: dict[str, Operation] = {}
    for event in sorted(events, key=lambda event: event["time"]):
        rest = {name: value for name, value in event.items() if name not in ("time", "process", "id", "type", "f")}
        if event["type"] == "invoke":
            found[event["id"]] = Operation(event["id"], event["process"], event["f"], event["time"], rest)
            continue
        operation = found.get(event["id"])
        if operation is None:
            raise ValueError(f"the end of {event['id']} comes before its beginning")
        operation.outcome, operation.ended = event["type"], event["time"]
        operation.fields |= rest
    return list(found.values())


def read_events(path: Path) -> Iterator[Event]:
    """The events of a file. A last line that a crash cut short is left out."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.endswith("\n"):
                yield json.loads(line)


@dataclass(slots=True)
class Recorder:
    """Collects the events of all processes of a run, from any thread, and keeps them in a file when there is one."""

    path: Path | None = None
    events: list[Event] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _file: IO[str] | None = None
    _next: int = 0

    def invoke(self, process: str, f: str, **fields: Any) -> str:
        """Note that an operation begins; returns its id for `end`."""
        with self._lock:
            self._next += 1
            identity = f"{process}:{self._next}"
        self.add({"time": time.time_ns(), "process": process, "id": identity, "type": "invoke", "f": f, **fields})
        return identity

    def end(self, identity: str, outcome: str, **fields: Any) -> None:
        process = identity.rpartition(":")[0]
        self.add({"time": time.time_ns(), "process": process, "id": identity, "type": outcome, **fields})

    def add(self, event: Event) -> None:
        """An event as it is, from a worker in another process."""
        with self._lock:
            self.events.append(event)
            if self.path is not None:
                if self._file is None:
                    self._file = self.path.open("w", encoding="utf-8")
                self._file.write(json.dumps(event, separators=(",", ":")) + "\n")

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
            self.path = None
