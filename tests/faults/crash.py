"""The crash test: idempotent producers write without pause while the broker is killed and restarted, over and over.

After every restart each partition is read back. Every acknowledged record must be at the offset that was acknowledged, no
record may be there twice, each producer's records must be in the order in which it sent them, offsets must have no gap.

    python -m tests.faults.crash --rounds 300 --seed 1

The producers live through the kills, so their retries meet the producer state that recovery has rebuilt.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from headrace import client
from headrace.testing import BrokerProcess, broker_process, wait_until

TOPIC = "crash"
PARTITIONS = 4
Acknowledged = dict[tuple[int, int], bytes]


@dataclass
class Writer:
    """One idempotent producer on a thread, which numbers its records per partition."""

    name: int
    bootstrap: str
    seed: int
    acknowledged: Acknowledged = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    lost: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self.thread = threading.Thread(target=self._run, name=f"writer-{self.name}", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join(120)
        if self.thread.is_alive():
            self.problems.append(f"writer {self.name} did not come to its end")

    def _run(self) -> None:
        rng = random.Random(self.seed)
        producer = client.producer(
            self.bootstrap,
            {
                "linger.ms": rng.choice([0, 2, 10]),
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "message.timeout.ms": 300_000,
                "compression.type": rng.choice(["none", "lz4", "zstd", "snappy", "gzip"]),
            },
        )
        sequence = [0] * PARTITIONS
        while not self.stopped.is_set():
            partition = rng.randrange(PARTITIONS)
            value = f"{self.name}:{partition}:{sequence[partition]}:".encode() + b"x" * rng.randrange(2000)
            try:
                producer.produce(TOPIC, value, partition=partition, on_delivery=self._delivered)
            except BufferError:
                producer.poll(0.01)
                continue
            sequence[partition] += 1
            producer.poll(0)
            if sequence[partition] % 20 == 0:
                time.sleep(rng.random() * 0.02)  # paces the load; nothing is awaited here
        if producer.flush(90):
            self.problems.append(f"writer {self.name} has records without an answer")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.lost += 1
            self.problems.append(f"writer {self.name}: not delivered: {error}")
            return
        key = (message.partition(), message.offset())
        value = identity(message)
        if self.acknowledged.setdefault(key, value) != value:
            self.problems.append(f"offset {key} was acknowledged for two records")


def identity(message: Message) -> bytes:
    """What tells one record from all others: its writer, partition and number, without the filling."""
    value = message.value()
    filling = value.split(b":", 3)[3]
    assert not filling.strip(b"x"), "the record was changed on its way"
    return value[: len(value) - len(filling) - 1]


class Reader:
    """Follows the topic over all restarts and remembers every record it saw."""

    def __init__(self) -> None:
        self.seen: Acknowledged = {}
        self.next_offset = [0] * PARTITIONS
        self.last: dict[tuple[int, bytes], int] = defaultdict(lambda: -1)
        self.values: set[bytes] = set()

    def read(self, bootstrap: str, *, everything: bool) -> list[str]:
        """Read on (or all anew) to the current end; what is wrong with it."""
        problems: list[str] = []
        if everything:
            self.__init__()
        consumer = client.consumer(bootstrap, None, {"fetch.wait.max.ms": 10, "check.crcs": True})
        try:
            ends = [consumer.get_watermark_offsets(TopicPartition(TOPIC, p), timeout=30)[1] for p in range(PARTITIONS)]
            consumer.assign(
                [TopicPartition(TOPIC, p, self.next_offset[p] or OFFSET_BEGINNING) for p in range(PARTITIONS)]
            )
            self._read_to(consumer, ends, problems)
        finally:
            consumer.close()
        return problems

    def _read_to(self, consumer: Consumer, ends: list[int], problems: list[str]) -> None:
        deadline = time.monotonic() + 120
        while any(position < end for position, end in zip(self.next_offset, ends)):
            if time.monotonic() > deadline:
                problems.append(f"reading stands at {self.next_offset}, the ends are {ends}")
                return
            for message in consumer.consume(5000, 1.0):
                if message.error():
                    problems.append(str(message.error()))
                    return
                self._take(message, problems)

    def _take(self, message: Message, problems: list[str]) -> None:
        partition, offset, unique = message.partition(), message.offset(), identity(message)
        if offset != self.next_offset[partition]:
            problems.append(f"partition {partition}: offset {offset} after {self.next_offset[partition] - 1}")
        self.next_offset[partition] = offset + 1
        self.seen[partition, offset] = unique
        writer, _, sequence = unique.split(b":")
        if unique in self.values:
            problems.append(f"partition {partition}: {unique!r} is there twice, again at {offset}")
        self.values.add(unique)
        if int(sequence) <= self.last[partition, writer]:
            problems.append(f"partition {partition}: writer {writer!r} out of order at {offset}")
        self.last[partition, writer] = int(sequence)


def check_acknowledged(writers: list[Writer], reader: Reader) -> list[str]:
    """Every acknowledged record is at its offset."""
    problems = []
    for writer in writers:
        for key, value in tuple(writer.acknowledged.items()):
            if reader.seen.get(key) != value:
                problems.append(f"acknowledged {value[:30]!r} at {key}, read {reader.seen.get(key, b'nothing')[:30]!r}")
        problems += writer.problems
    return problems


def run(rounds: int, seed: int, *, writers: int = 3, report=lambda text: None) -> dict[str, object]:
    """Run the test; raises AssertionError with the first problems."""
    rng = random.Random(seed)
    # Small segments and indexes, so that kills also meet rolls, snapshots and flushes.
    settings = {
        "log.segment.bytes": 1024 * 1024,
        "log.index.interval.bytes": 512,
        "log.flush.offset.checkpoint.interval.ms": 300,
    }
    with broker_process(settings) as broker:
        broker.create_topic(TOPIC, PARTITIONS)
        crew = [Writer(n, broker.bootstrap_servers, rng.randrange(2**32)) for n in range(writers)]
        for writer in crew:
            writer.start()
        reader = Reader()
        again = 0
        started = time.monotonic()
        try:
            for number in range(1, rounds + 1):
                before = sum(len(writer.acknowledged) for writer in crew)
                wait_until(
                    lambda before=before: sum(len(writer.acknowledged) for writer in crew) > before,
                    timeout_s=60,
                    message="an acknowledgement since the last kill",
                )
                time.sleep(rng.random() * 0.6)  # the random moment
                broker.kill()
                broker.restart()
                if rng.random() < 0.3:
                    # And again in the first moments, most often before anything is acknowledged.
                    time.sleep(rng.random() * 0.1)
                    broker.kill()
                    broker.restart()
                    again += 1
                problems = reader.read(broker.bootstrap_servers, everything=number % 50 == 0)
                problems += [problem for writer in crew for problem in writer.problems]
                assert not problems, f"round {number}, seed {seed}: {problems[:5]}"
                total = sum(len(writer.acknowledged) for writer in crew)
                report(f"round {number}/{rounds}: {total:,} acknowledged (+{total - before:,})")
        finally:
            for writer in crew:
                writer.stop()
        problems = reader.read(broker.bootstrap_servers, everything=True) + check_acknowledged(crew, reader)
        assert not problems, f"seed {seed}, {len(problems)} problems: {problems[:5]}"
        _clean_stop(broker)
    return {
        "rounds": rounds,
        "kills": rounds + again,
        "seed": seed,
        "acknowledged": sum(len(writer.acknowledged) for writer in crew),
        "read": len(reader.seen),
        "lost": 0,
        "duplicates": 0,
        "seconds": round(time.monotonic() - started, 1),
    }


def _clean_stop(broker: BrokerProcess) -> None:
    code = broker.stop()
    assert code == 0, f"the broker ended with {code}:\n{broker.log[-2000:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the figures to this file as JSON")
    options = parser.parse_args()
    figures = run(options.rounds, options.seed, report=lambda text: print(text, flush=True))
    print(json.dumps(figures))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
