"""Kills the programs of `examples/guarantees` at random points, over and over, and counts what was lost and what came twice.

    python -m tests.examples.crash_guarantees --rounds 50 --seed 1 [--example exactly_once] [--bootstrap-server HOST:PORT]

Each program tells what it works on; it is killed (kill -9) a random time after a random number of records. Once it has been
killed often enough, and a kill has hit work half done, it runs to its end, and the effects are compared with the records that
were sent.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, TopicPartition
from confluent_kafka.admin import NewTopic

from headrace import client
from headrace.testing import broker_process

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "guarantees"
EXAMPLES = ("at_most_once", "at_least_once", "effectively_once", "exactly_once")
PARTITIONS = 2
RECORDS_PER_ROUND = 40
BATCH = 10
"""What the programs take at a time, and so what a kill can cost."""
MORE_ROUNDS = 20
"""How often to kill again while no kill has hit work half done."""
LONGEST_DELAY_S = 0.01
WORK_S = 0.004
START_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the records of one example."""

    example: str
    seed: int
    kills: int
    sent: int
    worked_on: int
    """How often the program began to work on a record, which a crash may have undone."""
    lost: int
    duplicates: int

    def line(self) -> str:
        return json.dumps({name: getattr(self, name) for name in self.__slots__})


class Crashes:
    """One example, its topic and its output."""

    def __init__(self, bootstrap: str, example: str, seed: int, folder: Path) -> None:
        self.bootstrap = bootstrap
        self.example = example
        self.name = f"{example}-{seed}-{os.getpid()}".replace("_", "-")
        self.output = f"{self.name}-out" if example == "exactly_once" else str(folder / self.name)
        self.random = random.Random(f"{example} {seed}")
        self.sent = 0
        self.kills = 0
        self.begun: Counter[int] = Counter()
        """How often work on each record was begun."""
        self._producer = client.producer(bootstrap)

    def create_topics(self) -> None:
        topics = [NewTopic(self.name, PARTITIONS, 1), NewTopic(f"{self.name}-out", 1, 1)]
        admin = client.admin(self.bootstrap)
        for future in admin.create_topics(topics).values():
            future.result(30)

    def run_and_kill(self) -> None:
        """Start it and kill it after some records. There are enough for it not to come to its end before."""
        self._send(RECORDS_PER_ROUND + BATCH)
        with self._program() as program:
            for _ in range(self.random.randint(1, RECORDS_PER_ROUND)):
                assert self._next(program), f"{self.example} ended before it was killed"
            # Waits for nothing: this is what makes the kill hit anywhere in the work on a record, or between two.
            time.sleep(self.random.uniform(0, LONGEST_DELAY_S))
            program.kill()
            while self._next(program, killed=True):
                pass
        self.kills += 1

    def has_struck(self) -> bool:
        """Whether a kill has hit work half done: the fault that the guarantee allows is there, or was made good."""
        if self.example == "at_most_once":
            return bool(self.begun.keys() - self.effects().keys())
        if self.example == "at_least_once":
            return max(self.effects().values(), default=0) > 1
        return max(self.begun.values()) > 1

    def _send(self, count: int) -> None:
        """The next numbers, over all partitions."""
        for number in range(self.sent, self.sent + count):
            self._producer.produce(self.name, str(number), partition=number % PARTITIONS)
        assert self._producer.flush(30) == 0
        self.sent += count

    def run_to_the_end(self) -> None:
        with self._program() as program:
            while self._next(program):
                pass

    @contextlib.contextmanager
    def _program(self) -> Iterator[subprocess.Popen[str]]:
        options = ["--topic", self.name, "--group", self.name, "--output", self.output, "--seconds", str(WORK_S)]
        script = str(FOLDER / f"{self.example}.py")
        program = subprocess.Popen(
            [sys.executable, script, "--bootstrap-server", self.bootstrap, *options],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        try:
            yield program
        finally:
            program.kill()
            program.communicate()

    def _next(self, program: subprocess.Popen[str], killed: bool = False) -> bool:
        """Whether it has begun to work on another record; its end must be a good one, unless it was killed."""
        assert program.stdout is not None
        if line := program.stdout.readline():
            self.begun[int(line.split()[1])] += 1
            return True
        code = program.wait(START_TIMEOUT_S)
        assert killed or code == 0, f"{self.example} ended with {code}"
        return False

    def effects(self) -> Counter[int]:
        """How often each record has had its effect."""
        if self.example == "exactly_once":
            return Counter(self.committed())
        if self.example == "effectively_once":
            return self._rows()
        return Counter(map(int, Path(self.output).read_text().splitlines()))

    def _rows(self) -> Counter[int]:
        """The rows, after a look at the sums: something counted twice would show there and not in the rows."""
        with contextlib.closing(sqlite3.connect(self.output)) as database:
            rows = Counter(amount for (amount,) in database.execute("select amount from orders"))
            (total,) = database.execute("select orders, amount from total")
        assert total == (rows.total(), sum(rows.elements())), f"the sums {total} are not those of the rows"
        return rows

    def committed(self) -> list[int]:
        """What a read_committed reader gets of the output topic."""
        consumer = client.consumer(self.bootstrap, None, {"isolation.level": "read_committed"})
        try:
            place = TopicPartition(self.output, 0, OFFSET_BEGINNING)
            end = consumer.get_watermark_offsets(place, 30)[1]
            consumer.assign([place])
            found: list[int] = []
            deadline = time.monotonic() + 60
            while consumer.position([place])[0].offset < end and end:
                assert time.monotonic() < deadline, "the output does not come to its end: a transaction is still open"
                found += [int(message.value()) for message in consumer.consume(500, 0.2)]
            return found
        finally:
            consumer.close()


def crash(bootstrap: str, example: str, rounds: int, seed: int, report: Callable[[str], object] = len) -> Outcome:
    """Kill one example `rounds` times, or more often until a kill has hit work half done; let it end, and count."""
    with tempfile.TemporaryDirectory(prefix="headrace-guarantees-") as folder:
        crashes = Crashes(bootstrap, example, seed, Path(folder))
        crashes.create_topics()
        while crashes.kills < rounds or (not crashes.has_struck() and crashes.kills < rounds + MORE_ROUNDS):
            crashes.run_and_kill()
            report(f"{example}: killed {crashes.kills} of {rounds} times, {crashes.begun.total()} records worked on")
        crashes.run_to_the_end()
        effects = crashes.effects()
    sent = crashes.sent
    assert not effects.keys() - set(range(sent)), "effects of records that nobody sent"
    lost = sum(1 for number in range(sent) if not effects[number])
    duplicates = sum(count - 1 for count in effects.values() if count > 1)
    return Outcome(example, seed, crashes.kills, sent, crashes.begun.total(), lost, duplicates)


def check(outcome: Outcome) -> None:
    """Only the kind of fault that the guarantee allows."""
    if outcome.example != "at_most_once":
        assert outcome.lost == 0, outcome
    if outcome.example != "at_least_once":
        assert outcome.duplicates == 0, outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--example", choices=EXAMPLES, action="append")
    parser.add_argument("--bootstrap-server", help="another broker than one of its own")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        bootstrap = options.bootstrap_server or stack.enter_context(broker_process()).bootstrap_servers
        for example in options.example or EXAMPLES:
            outcome = crash(bootstrap, example, options.rounds, options.seed, lambda text: print(text, flush=True))
            print(outcome.line(), flush=True)
            check(outcome)
    return 0


if __name__ == "__main__":
    sys.exit(main())
