"""Histories by hand: a line per operation, times that only count."""

from __future__ import annotations

from typing import Any

from headrace.verify.checker import check
from headrace.verify.history import Event


class Notebook:
    """Writes events with a clock that ticks once per event."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._time = 0

    def invoke(self, process: str, f: str, **fields: Any) -> str:
        self._time += 1
        identity = f"{process}:{self._time}"
        self.events.append({"time": self._time, "process": process, "id": identity, "type": "invoke", "f": f, **fields})
        return identity

    def end(self, identity: str, outcome: str = "ok", **fields: Any) -> None:
        self._time += 1
        process = identity.rpartition(":")[0]
        self.events.append({"time": self._time, "process": process, "id": identity, "type": outcome, **fields})

    def did(
        self, process: str, f: str, outcome: str = "ok", after: dict[str, Any] | None = None, **fields: Any
    ) -> None:
        """A whole operation."""
        self.end(self.invoke(process, f, **fields), outcome, **(after or {}))

    def send(
        self,
        value: str,
        offset: int | None,
        outcome: str = "ok",
        *,
        session: str = "w/1",
        partition: str = "in/0",
        **more: Any,
    ) -> None:
        more = {"txn": None, "producer": session.partition("/")[0], **more}
        after = {} if offset is None else {"offset": offset}
        self.did(session, "send", outcome, after, value=value, partition=partition, session=session, **more)

    def init(self, session: str, version: int = 1) -> None:
        self.did(session, "init", producer=session.partition("/")[0], session=session, version=version)

    def finish(self, txn: str, outcome: str = "ok", *, commit: bool = True) -> None:
        """End a transaction; its id is `producer/session#number`."""
        session = txn.partition("#")[0]
        self.did(session, "end", outcome, txn=txn, commit=commit, producer=session.partition("/")[0], session=session)

    def poll(self, *records: tuple[str, int, str], isolation: str = "read_committed", session: str = "r/1") -> None:
        self.did("r", "poll", after={"records": records}, isolation=isolation, session=session)

    def committed(self, **offsets: int) -> None:
        held = {partition.replace("_", "/"): offset for partition, offset in offsets.items()}
        self.did("watcher", "committed", after={"offsets": held}, group="g")

    def final(
        self, *records: tuple[str, int, str], uncommitted: tuple[tuple[str, int, str], ...] = (), **more: Any
    ) -> None:
        """The last read: what read_committed shows, and what only read_uncommitted does."""
        everything = sorted({*records, *uncommitted})
        self.did("final", "final", after={"records": everything}, isolation="read_uncommitted")
        self.did("final", "final", after={"records": records, **more}, isolation="read_committed")

    def kinds(self) -> list[str]:
        """The anomalies of this history that are nobody's known flaw."""
        return sorted({anomaly.kind.value for anomaly in check(self.events).broken})
