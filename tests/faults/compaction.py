"""Compaction under kill -9: many records over fewer keys, the broker killed in the middle of rounds, a dictionary beside it.

    python -m tests.faults.compaction --records 20000000 --keys 1000000 --kills 3

A reader from the start must find exactly the dictionary: after each kill, with what the kill left and nothing cleaned since,
and at the end, when the log must hold little more than that. Between the kills a producer measures what it waits for its
acknowledgements, in turns without compaction and while a round runs. A sample counts only when the round was there before
and after it. Exit code 1 when something differs, when no round ran long enough to be measured, or when the median p99
while a round runs is more than twice the one without.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from headrace.broker.cleaner_worker import MODULE
from headrace.testing import BrokerProcess, broker_process, wait_until
from tests.faults.compaction_probe import Probe
from tests.faults.dictionary import Dictionary

TOPIC = "compacted"
PROBED = "probed"
MOST = 2.0
"""How many times longer a producer may wait while a round runs."""
SAMPLES = 2000
UNLIMITED = 1e300
Report = Callable[[str], None]


class Rounds:
    """What can be seen of compaction from outside: its process, its files, and how far it says that it got."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.broker = broker
        self.folder = broker.data_dir / f"{TOPIC}-0"

    def worker(self) -> psutil.Process | None:
        """The process that works on the topic's files now."""
        for child in psutil.Process(self.broker.pid).children():
            try:
                at_work = MODULE in child.cmdline() and any(
                    Path(opened.path).parent == self.folder for opened in child.open_files()
                )
            except psutil.Error:
                continue
            if at_work:
                return child
        return None

    def cleaned_to(self) -> int:
        """How far the log is clean; a round that has not ended has not moved it."""
        path = self.broker.data_dir / "cleaner-offset-checkpoint"
        lines = path.read_text().splitlines()[2:] if path.exists() else []
        return next((int(line.split()[2]) for line in lines if line.startswith(f"{TOPIC} 0 ")), 0)

    def half_written(self) -> set[str]:
        return {path.name for path in self.folder.glob("*.cleaned")}

    def active_base(self) -> int:
        return max(int(path.stem) for path in self.folder.glob("*.log"))

    def size_mb(self) -> float:
        total = 0
        for path in self.folder.glob("*.log"):
            try:
                total += path.stat().st_size
            except FileNotFoundError:
                continue
        return round(total / 1e6, 1)


class Compaction:
    def __init__(self, broker: BrokerProcess, seed: int, samples: int, report: Report) -> None:
        self.broker = broker
        self.rounds = Rounds(broker)
        self.random = random.Random(seed)
        self.dictionary = Dictionary(TOPIC)
        self.samples = samples
        self.report = report
        self.without: list[float] = []
        self.during: list[float] = []
        self.checks = 0
        self.began = time.monotonic()

    def say(self, text: str) -> None:
        self.report(f"{time.monotonic() - self.began:6.1f} s  {text}")

    def fill(self, records: int, keys: int) -> None:
        self.dictionary.fill(self.broker, records, keys, self.random, lambda sent: self.say(f"{sent:,} records"))

    def measure_without(self) -> None:
        """Cleaning is off, in a broker as freshly started as the one that cleans."""
        self.broker.restart(log_cleaner_enable=False)
        probe = Probe(self.broker, (PROBED, TOPIC), self.dictionary)
        window = probe.window(self.samples, lambda: True)
        assert self.rounds.worker() is None, "something was cleaned in the window that is to be without"
        self.without.append(window.p99_ms)
        self.say(f"without a round: {window}")

    def measure_during(self, until: Callable[[], bool] = lambda: False) -> psutil.Process:
        """A round is at work on the topic from before the first sample that counts until after the last."""
        clean = self.rounds.cleaned_to()
        self.broker.restart(log_cleaner_enable=True)
        probe = Probe(self.broker, (PROBED, TOPIC), self.dictionary)
        worker = wait_until(self.rounds.worker, timeout_s=60, message="a round of compaction")
        cpu, started = 0.0, time.monotonic()

        def runs() -> bool:
            nonlocal cpu
            alive = _lives(worker) and self.rounds.cleaned_to() == clean
            cpu = _cpu_seconds(worker) if alive else cpu
            return alive

        window = probe.window(self.samples, runs, until)
        assert window.count >= self.samples, f"the round ended after {window.count} samples of {self.samples}"
        share = cpu / (time.monotonic() - started)
        assert share > 0, "the round did nothing"
        self.during.append(window.p99_ms)
        self.say(f"while a round runs: {window}; it had {share:.0%} of a core")
        return worker

    def kill_in_the_middle(self) -> None:
        """kill -9 once some segments are cleaned and another is half written; measured until then."""
        clean, wanted = self.rounds.cleaned_to(), self.random.randint(1, 4)
        seen: set[str] = set()

        def far_enough() -> bool:
            half = self.rounds.half_written()
            seen.update(name for name in half if ".log" in name)
            return bool(half) and len(seen) >= wanted

        worker = self.measure_during(far_enough)
        alive = _lives(worker)
        self.broker.kill()
        # Nobody may write into the folder of a broker that is to start again.
        psutil.wait_procs([worker], timeout=10)
        assert not _lives(worker), "the worker outlived its broker"
        left = self.rounds.half_written()
        assert left or alive, "the kill did not come in the middle of a round"
        assert self.rounds.cleaned_to() == clean, "the round had ended before the kill"
        self.say(f"killed in the middle of a round, in cleaned segment {len(seen)}; half written: {sorted(left)}")

    def compare(self) -> None:
        """Every key of the dictionary and no other, with its last value."""
        self.dictionary.compare(self.broker)
        self.checks += 1
        self.say(f"equal to the dictionary of {len(self.dictionary.expected):,} keys, {self.rounds.size_mb()} MB")

    def finish(self) -> None:
        """Lets the round come to its end."""
        wait_until(
            lambda: self.rounds.cleaned_to() >= self.rounds.active_base() and self.rounds.worker() is None,
            timeout_s=600,
            message="the end of the round",
            interval_s=0.1,
        )


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def run(
    records: int,
    keys: int,
    kills: int,
    seed: int,
    *,
    samples: int = SAMPLES,
    bytes_per_second: float = UNLIMITED,
    report: Report = lambda _: None,
) -> dict[str, Any]:
    """Fill, compact under kills, compare; the figures. AssertionError when something is not as it must be."""
    settings = {"log_cleaner_backoff_ms": 200, "log_cleaner_io_max_bytes_per_second": bytes_per_second}
    with broker_process(log_cleaner_enable=False, **settings) as broker:
        segment_bytes = max(1 << 20, records * 100 // 20)
        broker.create_topic(
            TOPIC,
            cleanup_policy="compact",
            segment_bytes=segment_bytes,
            min_cleanable_dirty_ratio=0.01,
            file_delete_delay_ms=0,
        )
        broker.create_topic(PROBED)
        work = Compaction(broker, seed, samples, report)
        work.fill(records, keys)
        full_mb = work.rounds.size_mb()
        work.say(f"filled: {full_mb} MB")
        for _ in range(kills):
            work.measure_without()
            work.kill_in_the_middle()
            broker.restart(log_cleaner_enable=False)
            work.compare()
        work.measure_without()
        work.measure_during()
        work.finish()
        compacted_mb = work.rounds.size_mb()
        work.compare()
        most_mb = full_mb * keys / records + 3 * segment_bytes / 1e6
        assert compacted_mb < most_mb, f"{compacted_mb} MB are left of {full_mb}, more than {most_mb}"
        assert broker.stop() == 0
    without, during = round(statistics.median(work.without), 2), round(statistics.median(work.during), 2)
    return {
        "records": records,
        "keys": keys,
        "kills": kills,
        "equal_to_dictionary": work.checks,
        "full_mb": full_mb,
        "compacted_mb": compacted_mb,
        "least_samples_per_window": samples,
        "p99_ms_without": work.without,
        "p99_ms_while": work.during,
        "median_p99_ms_without": without,
        "median_p99_ms_while": during,
        "ratio": round(during / without, 2),
        "seconds": round(time.monotonic() - work.began, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, help="of a producer's waiting, at least, in each window"
    )
    parser.add_argument(
        "--bytes-per-second", type=float, default=UNLIMITED, help="for compaction, so that a small log lasts a while"
    )
    parser.add_argument("--json", action="store_true", help="the figures as one line")
    options = parser.parse_args()
    try:
        figures = run(
            options.records,
            options.keys,
            options.kills,
            options.seed,
            samples=options.samples,
            bytes_per_second=options.bytes_per_second,
            report=lambda text: print(text, file=sys.stderr, flush=True),
        )
        assert figures["ratio"] <= MOST, (
            f"a producer waits {figures['ratio']} times as long while a round runs: {figures}"
        )
    except AssertionError as error:
        print(json.dumps({"passed": False, "failure": str(error)}))
        return 1
    print(json.dumps({"passed": True, **figures}, indent=None if options.json else 1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
