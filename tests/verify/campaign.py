"""Many runs of the history checker, each with a seed and faults of its own, against brokers of our own that may be killed.

    python -m tests.verify.campaign --runs 200 --on headrace --workers franz-go --faults all --out campaign.jsonl

Every run adds a line of JSON to the file, with its seed. The same command again goes on where the last one ended. One broker
serves the runs of a job until one ends badly. A run that convicts keeps its history next to the results. The summary counts
all runs of this kind in the file; exit code 1 if there is an anomaly, a run that did not end, or one without a fault.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.testing import broker_process
from headrace.verify.nemesis import NETWORK, Fault
from headrace.verify.own_broker import OwnBroker
from headrace.verify.run import Outcome, Plan, run
from headrace.verify.target import Target

Row = dict[str, Any]
SETS = {
    "all": tuple(Fault),
    "process": (Fault.KILL, Fault.PAUSE),
    "network": NETWORK,
    "late": (Fault.LATE,),
    "without-late": tuple(fault for fault in Fault if fault is not Fault.LATE),
    "none": (),
}


class KafkaTarget:
    """An Apache Kafka of `conformance` as a target."""

    def __init__(self, node: Any) -> None:
        self.node = node

    def kill(self) -> None:
        self.node.kill()

    def restart(self) -> None:
        self.node.start()

    def pause(self) -> None:
        os.kill(self.node.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.node.pid, signal.SIGCONT)


@contextlib.contextmanager
def cluster(name: str) -> Iterator[tuple[Target, str]]:
    if name == "headrace":
        with broker_process() as process:
            yield OwnBroker(process), process.bootstrap_servers
        return
    from conformance.apache_kafka import apache_kafka

    with apache_kafka() as kafka:
        yield KafkaTarget(kafka), kafka.bootstrap_servers


def worker_command(workers: str) -> str | None:
    if workers != "franz-go":
        return None if workers == "librdkafka" else workers
    from conformance.install import FRANZ_GO_WORKER, install_franz_go_worker

    install_franz_go_worker()
    return str(FRANZ_GO_WORKER)


def found(outcome: Outcome) -> Row:
    kinds = Counter(anomaly.kind.value for anomaly in outcome.verdict.broken)
    flaws = Counter(anomaly.kind.value for anomaly in outcome.verdict.known_flaws)
    return {
        "seconds": round(outcome.seconds, 1),
        "faults": dict(outcome.faults),
        "operations": {name: sum(counts.values()) for name, counts in outcome.verdict.counts.items()},
        "anomalies": dict(kinds),
        "known_flaw": dict(flaws),
    }


def kind_of_runs(options: argparse.Namespace) -> Row:
    """What runs must have in common to be counted together."""
    return {
        "on": options.on,
        "workers": options.workers,
        "fault_set": options.faults,
        "plan_seconds": options.seconds,
    }


def rows_of(options: argparse.Namespace) -> list[Row]:
    """The runs in the file that this campaign consists of. A line that was cut short is no run."""
    rows = []
    kind = kind_of_runs(options)
    lines = options.out.read_text().splitlines() if options.out.exists() else []
    for line in lines:
        with contextlib.suppress(json.JSONDecodeError):
            rows.append(json.loads(line))
    seeds = range(options.seed, options.seed + options.runs)
    return [row for row in rows if row["seed"] in seeds and kind.items() <= row.items()]


def work(options: argparse.Namespace, seeds: list[int]) -> None:
    """One job: its own broker, its share of the seeds."""
    left = list(seeds)
    while left:
        with cluster(options.on) as (target, servers):
            # After a run that ended badly nobody knows what the broker is still busy with.
            while left and one(options, left.pop(0), target, servers):
                pass


def one(options: argparse.Namespace, seed: int, target: Target, servers: str) -> bool:
    """One run and its line in the file; whether it came to its end."""
    kind = kind_of_runs(options)
    history = options.out.with_name(f"{options.out.stem}-{options.on}-{seed}.history.jsonl")
    plan = Plan(
        servers,
        seconds=options.seconds,
        seed=seed,
        faults=SETS[options.faults],
        worker_command=worker_command(options.workers),
        history=history,
    )
    try:
        row = {"seed": seed, **kind, **found(run(plan, target))}
    except Exception as error:
        row = {"seed": seed, **kind, "unfinished": f"{type(error).__name__}: {error}"}
    if not row.get("anomalies") and "unfinished" not in row:
        history.unlink()
    line = json.dumps(row) + "\n"
    with options.out.open("a") as out:
        out.write(line)
    print(line, end="", flush=True)
    return "unfinished" not in row


def summary(rows: list[Row], options: argparse.Namespace) -> Row:
    def total(name: str) -> dict[str, int]:
        counted: Counter[str] = Counter()
        for row in rows:
            counted.update(row.get(name, {}))
        return dict(sorted(counted.items()))

    seconds = sorted(row["seconds"] for row in rows if "seconds" in row)
    return {
        **kind_of_runs(options),
        "runs": len(rows),
        "wanted": options.runs,
        "median_seconds": seconds[len(seconds) // 2] if seconds else None,
        "operations": sum(total("operations").values()),
        "operations_by_kind": total("operations"),
        "faults": sum(total("faults").values()),
        "faults_by_kind": total("faults"),
        "anomalies": total("anomalies"),
        "known_flaw_of_version_1": total("known_flaw"),
        "runs_with_the_known_flaw": sum(bool(row.get("known_flaw")) for row in rows),
        "seeds_with_anomalies": [row["seed"] for row in rows if row.get("anomalies")],
        "seeds_unfinished": [row["seed"] for row in rows if "unfinished" in row],
        "seeds_without_a_fault": [row["seed"] for row in rows if SETS[options.faults] and not row.get("faults")],
    }


def is_good(result: Row) -> bool:
    bad = result["seeds_with_anomalies"] or result["seeds_unfinished"] or result["seeds_without_a_fault"]
    return not bad and result["runs"] == result["wanted"]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.verify.campaign",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=6.0, help="with faults, in each run")
    parser.add_argument("--seed", type=int, default=0, help="of the first run; later ones count up")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time, each job with a broker of its own")
    parser.add_argument("--on", choices=("headrace", "apache-kafka"), default="headrace")
    parser.add_argument("--workers", default="librdkafka", help="librdkafka, franz-go, or a command")
    parser.add_argument("--faults", choices=SETS, default="process")
    parser.add_argument("--out", type=Path, default=Path("campaign.jsonl"), help="lines of JSON, one for each run")
    options = parser.parse_args()
    worker_command(options.workers)
    done = {row["seed"] for row in rows_of(options)}
    seeds = [seed for seed in range(options.seed, options.seed + options.runs) if seed not in done]
    if done:
        print(f"{len(done)} runs are in {options.out} already", flush=True)
    context = multiprocessing.get_context("spawn")
    jobs = [context.Process(target=work, args=(options, seeds[n :: options.jobs])) for n in range(options.jobs)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    result = summary(rows_of(options), options)
    print(json.dumps(result, indent=1), flush=True)
    return int(any(job.exitcode for job in jobs) or not is_good(result))


if __name__ == "__main__":
    sys.exit(main())
