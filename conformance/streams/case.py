"""A case: a topology, a sequence of records, and how the two sides are compared. Topologies are written once, with the Streams API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from headrace.functions import CATALOGUE
from headrace.plan.document import to_document
from headrace.plan.plan import Plan
from headrace.plan.relations import relations
from headrace.plan.steps import ForeignKeyJoin, Sink
from headrace.streams import App

OUT = "out"


@dataclass(frozen=True)
class Item:
    """What all topics carry."""

    name: str | None
    n: int


@dataclass(frozen=True)
class Record:
    """A record to send. `value` None is a null value."""

    topic: str
    key: str | None
    value: Item | None
    timestamp: int


@dataclass(frozen=True)
class Sequence:
    """Records in the order of their sending. `stepwise`: each is processed before the next is sent, because order between topics
    or lateness hangs on it; such a sequence runs in micro-batches only."""

    name: str
    records: tuple[Record, ...]
    stepwise: bool = False


@dataclass(frozen=True)
class Topology:
    """`final_only`: compared by the last value of each key, because one side does not emit every update. `one_by_one`: there is a
    second operator behind a first one, which Kafka Streams runs through for each record; here a topic lies between them."""

    name: str
    build: Callable[[App], Any]
    sequences: tuple[Sequence, ...]
    final_only: bool = False
    one_by_one: bool = False


@dataclass(frozen=True)
class Case:
    topology: Topology
    sequence: Sequence
    _plans: list[Plan] = field(default_factory=list, repr=False, compare=False)

    @property
    def name(self) -> str:
        return f"{self.topology.name}/{self.sequence.name}"

    def waits(self, mode: str) -> bool:
        """Whether each record is processed before the next is sent; in real-time mode also because two topics have no common order."""
        topics = {record.topic for record in self.sequence.records}
        return self.sequence.stepwise or self.topology.one_by_one or (mode == "real_time" and len(topics) > 1)

    def app(self) -> App:
        app = App(self.name.replace("/", "-"))
        self.topology.build(app)
        return app

    def question(self) -> dict[str, Any]:
        """The case as the oracle takes it: rows instead of bytes, and the name of the column that a foreign key refers to."""
        plan = self.app().plan()
        document = to_document(plan)
        known = relations(plan, CATALOGUE)
        for step, node in zip(plan.steps, document["steps"]):
            if isinstance(step, ForeignKeyJoin):
                node["right_key"] = known[step.right].key.fields[0].name
        return {
            "plan": document,
            "records": [
                {
                    "topic": record.topic,
                    "key": None if record.key is None else {"rowkey": record.key},
                    "value": None if record.value is None else {"name": record.value.name, "n": record.value.n},
                    "timestamp": record.timestamp,
                }
                for record in self.sequence.records
            ],
            "topics": sorted({step.topic for step in plan.steps if isinstance(step, Sink)}),
        }


TOPOLOGIES: list[Topology] = []


def topology(
    *sequences: Sequence, final_only: bool = False, one_by_one: bool = False
) -> Callable[[Callable[[App], Any]], Callable[[App], Any]]:
    """Register a function that builds a topology, to be run with each of these sequences."""

    def register(build: Callable[[App], Any]) -> Callable[[App], Any]:
        TOPOLOGIES.append(Topology(build.__name__.replace("_", "-"), build, sequences, final_only, one_by_one))
        return build

    return register


def all_cases() -> Iterator[Case]:
    """Every case, in the order of the files."""
    from conformance.streams import topologies

    topologies.load()
    for each in TOPOLOGIES:
        for sequence in each.sequences:
            yield Case(each, sequence)
