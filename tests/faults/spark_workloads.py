"""What the Spark kill test runs: a workload says which records go in, which app runs, and what must have come out.

An app is written as a user would write it, with the Streams API, and runs through the pipeline that the engine uses. What must come out is
computed from the input in plain Python, without Spark and without a line of Headrace. A workload is a class without arguments, named `module:Class`
on the command line.
"""

from __future__ import annotations

import importlib
import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from headrace.spark.sinks import Guarantee
from headrace.streams import App

if TYPE_CHECKING:
    from confluent_kafka import Message


class Input(NamedTuple):
    """A record to produce; with `partition` -1 the key decides."""

    topic: str
    key: bytes | None
    value: bytes | None
    partition: int = -1
    timestamp_ms: int = 0


class Barrier(NamedTuple):
    """Nothing that follows is sent before everything that came is processed. It makes known what meets what in joins."""


@dataclass(frozen=True)
class Run:
    """What a driver process is told. `real_time_batch_ms` 0: micro-batches."""

    workload: str
    bootstrap_servers: str
    checkpoint_dir: str
    guarantee: str
    max_records_per_batch: int
    real_time_batch_ms: int
    log_file: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass
class Verdict:
    """What came out, held against what had to. `wrong` is whatever is neither lost nor doubled: order, values, tables."""

    expected: int = 0
    seen: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    table_rows: int = 0
    """Rows of the queryable table, all of which were compared."""
    examples: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        if len(self.examples) < 10:
            self.examples.append(text)

    def lose(self, text: str) -> None:
        self.lost += 1
        self.note(f"lost: {text}")

    def mistrust(self, text: str) -> None:
        self.wrong += 1
        self.note(f"wrong: {text}")

    def compare_tables(self, what: str, found: Mapping[Any, Any], expected: Mapping[Any, Any]) -> None:
        """Every row that is missing, too many or different is wrong."""
        for key in found.keys() | expected.keys():
            if found.get(key) != expected.get(key):
                self.mistrust(f"{what}: {key!r} is {found.get(key)!r} instead of {expected.get(key)!r}")


Table = Callable[[str], dict[Any, Any]]
"""The rows of one of the app's stores by key, of windowed ones by (key, start of the window), as look-ups give them."""


class Workload(Protocol):
    """`inputs` and `outputs` are topics with their numbers of partitions. Topics of the app's own are its own business."""

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]

    def records(self, count: int) -> Iterator[Input | Barrier]:
        """The `count` input records, the same ones each time."""
        ...

    def app(self) -> App:
        """The app, for the first time or again."""
        ...

    def judge(self, count: int, output: Iterable[Message], table: Table, guarantee: Guarantee) -> Verdict:
        """Look at everything that a read_committed reader sees in the output topics, and at the tables."""
        ...


def load(name: str) -> Workload:
    module, _, attribute = name.partition(":")
    workload: Workload = getattr(importlib.import_module(module), attribute)()
    return workload


@dataclass
class Numbered:
    n: int
    filling: str


class Stateless:
    """Every input record comes out once, with its number as value, under the key it had; per key in order."""

    inputs: Mapping[str, int] = {"numbers": 4}
    outputs: Mapping[str, int] = {"numbers-out": 4}
    keys = 1000

    def records(self, count: int) -> Iterator[Input | Barrier]:
        for number in range(count):
            yield Input(
                "numbers", b"key-%d" % (number % self.keys), b'{"n": %d, "filling": "%s"}' % (number, b"x" * 60)
            )

    def app(self) -> App:
        app = App("kills-stateless")
        numbers = app.stream("numbers", key=str, value=Numbered)
        numbers.filter(lambda one: one.n >= 0).map_values(lambda one: one.n).to("numbers-out")
        return app

    def judge(self, count: int, output: Iterable[Message], table: Table, guarantee: Guarantee) -> Verdict:
        verdict = Verdict(expected=count)
        times = bytearray(count)
        last: dict[bytes, int] = {}
        for message in output:
            (number,), key = struct.unpack(">q", message.value()), message.key()
            verdict.seen += 1
            if key != b"key-%d" % (number % self.keys):
                verdict.mistrust(f"{number} under {key!r}")
            if times[number] < 255:
                times[number] += 1
            if number <= last.get(key, -1) and guarantee is Guarantee.EXACTLY_ONCE:
                verdict.mistrust(f"{number} after {last[key]} under {key!r}")
            last[key] = number
        verdict.lost = times.count(0)
        verdict.doubled = verdict.seen - (count - verdict.lost)
        if verdict.lost:
            verdict.note(f"first lost: {times.index(0)}")
        return verdict
