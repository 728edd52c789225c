"""A cluster without flaws, driven at random, never looks guilty; the same history with one thing changed always does."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.verify.checker import check
from headrace.verify.history import Event
from tests.verify.notebook import Notebook

PARTITIONS = ("in/0", "in/1")
Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(("send", "txn", "poll", "takeover", "transform")), st.integers(0, 7), st.integers(0, 7)),
    max_size=25,
)


class PerfectCluster:
    """Logs as lists: a value and whether read_committed shows it; markers take an offset as they do in Kafka."""

    def __init__(self) -> None:
        self.history = Notebook()
        self.logs: dict[str, list[tuple[str, bool]]] = {partition: [] for partition in (*PARTITIONS, "out/0")}
        self.session = self.transactions = self.values = self.reads = 0
        self.position = dict.fromkeys(PARTITIONS, 0)
        self.group = dict.fromkeys(PARTITIONS, 0)
        self.takeover(0, 0)

    def value(self) -> str:
        self.values += 1
        return f"v{self.values}"

    def send(self, where: int, how: int) -> None:
        """Acknowledged, or timed out and written all the same, or timed out and not."""
        partition, value = PARTITIONS[where % 2], self.value()
        if how != 1:
            self.logs[partition].append((value, True))
        offset = len(self.logs[partition]) - 1
        self.history.send(
            value, offset if how > 1 else None, "ok" if how > 1 else "unknown", session="p/1", partition=partition
        )

    def txn(self, where: int, how: int, sources: list[tuple[str, int]] | None = None) -> bool:
        """Committed and known (from 3 on), committed and unknown (2), not committed and unknown (1), aborted (0)."""
        self.transactions += 1
        session = f"w/{self.session}"
        txn = f"{session}#{self.transactions}"
        touched = []
        for source in sources or [None] * (1 + where % 3):
            partition = "out/0" if source else PARTITIONS[(where + len(touched)) % 2]
            touched.append(partition)
            value = self.value()
            self.logs[partition].append((value, how >= 2))
            more = {"txn": txn, "session": session, "source": source}
            self.history.send(value, len(self.logs[partition]) - 1, partition=partition, **more)
        if sources:
            offsets = {partition: offset + 1 for partition, offset in sources}
            self.history.did(session, "offsets", txn=txn, group="g", offsets=offsets, producer="w", session=session)
        for partition in set(touched):
            self.logs[partition].append(("", False))
        self.history.finish(txn, "unknown" if how in (1, 2) else "ok", commit=how > 0)
        return how >= 2

    def poll(self, _where: int, how: int) -> None:
        records = []
        if how == 0:
            self.reads += 1
            self.position = dict.fromkeys(PARTITIONS, 0)
        for partition in PARTITIONS:
            records += [record for record in self.shown(partition) if record[1] >= self.position[partition]]
            self.position[partition] = len(self.logs[partition])
        self.history.poll(*records, session=f"r/{self.reads}")

    def takeover(self, _where: int, _how: int) -> None:
        self.session += 1
        self.history.init(f"w/{self.session}")

    def transform(self, where: int, how: int) -> None:
        partition = PARTITIONS[where % 2]
        todo = [(p, offset) for p, offset, _ in self.shown(partition) if offset >= self.group[partition]][:3]
        if todo and self.txn(0, how, todo):
            self.group[partition] = todo[-1][1] + 1
        self.history.committed(**{partition.replace("/", "_"): offset for partition, offset in self.group.items()})

    def shown(self, partition: str) -> list[tuple[str, int, str]]:
        return [(partition, offset, value) for offset, (value, shown) in enumerate(self.logs[partition]) if shown]

    def events(self, steps: list[Step]) -> list[Event]:
        for name, where, how in steps:
            getattr(self, name)(where, how)
        committed = [record for partition in self.logs for record in self.shown(partition)]
        everything = [
            (p, offset, value) for p, log in self.logs.items() for offset, (value, _) in enumerate(log) if value
        ]
        self.history.final(*committed, uncommitted=tuple(everything))
        self.transform(0, 0)
        return self.history.events


@given(STEPS)
@settings(max_examples=150, deadline=None)
def test_no_false_alarm(steps: list[Step]) -> None:
    # The last transformation is aborted, after the final read, and seen by nobody.
    assert check(PerfectCluster().events(steps)).anomalies == ()


@given(STEPS, st.data())
@settings(max_examples=150, deadline=None)
def test_any_change_of_the_final_read_is_noticed(steps: list[Step], data: Any) -> None:
    """Lose, repeat, invent or move a record that the client knows to be there."""
    events = PerfectCluster().events([("send", 0, 7), *steps, ("send", 0, 7)])
    finals = [event for event in events if event["type"] == "ok" and event["process"] == "final"]
    known = {event["value"] for event in events if event.get("f") == "send" and _acknowledged(events, event)}
    index = data.draw(st.sampled_from([n for n, record in enumerate(finals[1]["records"]) if record[2] in known]))
    partition, offset, value = finals[1]["records"][index]
    change = data.draw(st.sampled_from(("lose", "repeat", "invent", "move")))
    for final in finals:
        records = [record for record in final["records"] if record[2] != value]
        kept = {"lose": [], "repeat": [(partition, offset, value), (partition, 10_000, value)]}
        kept |= {"invent": [(partition, offset, value), (partition, 10_000, "x")], "move": [(partition, 10_000, value)]}
        final["records"] = records + kept[change]
    assert check(events).broken


def _acknowledged(events: list[Event], send: Event) -> bool:
    return send["txn"] is None and any(e["id"] == send["id"] and e["type"] == "ok" for e in events)
