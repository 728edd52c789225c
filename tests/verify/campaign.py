"""Many runs of the history checker, each with a seed and faults of its own, against brokers of our own that may be killed.

    python -m tests.verify.campaign --runs 200 --on headrace --workers franz-go --faults all --out campaign.json

One broker serves all runs of a campaign. A run that convicts keeps its history next to the results.
"""

from __future__ import annotations

import argparse
import contextlib
import json
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
from headrace.verify.readers import Unfinished
from headrace.verify.run import Outcome, Plan, run
from headrace.verify.target import Target

SETS = {
    "all": tuple(Fault),
    "process": (Fault.KILL, Fault.PAUSE),
    "network": NETWORK,
    "without-late": tuple(fault for fault in Fault if fault is not Fault.LATE),
    "none": (),
}


class KafkaTarget:
    """An Apache Kafka of `conformance` as a target."""

    can_kill = True

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
    from conformance.install import FRANZ_GO_WORKER

    return str(FRANZ_GO_WORKER)


def row(seed: int, outcome: Outcome) -> dict[str, Any]:
    kinds = Counter(anomaly.kind.value for anomaly in outcome.verdict.broken)
    flaws = Counter(anomaly.kind.value for anomaly in outcome.verdict.known_flaws)
    return {
        "seed": seed,
        "seconds": round(outcome.seconds, 1),
        "faults": dict(outcome.faults),
        "operations": {name: sum(counts.values()) for name, counts in outcome.verdict.counts.items()},
        "anomalies": dict(kinds),
        "known_flaw": dict(flaws),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.verify.campaign", description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--seed", type=int, default=0, help="of the first run; later ones count up")
    parser.add_argument("--on", choices=("headrace", "apache-kafka"), default="headrace")
    parser.add_argument("--workers", default="librdkafka", help="librdkafka, franz-go, or a command")
    parser.add_argument("--faults", choices=SETS, default="process")
    parser.add_argument("--out", type=Path, default=Path("campaign.json"))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with cluster(options.on) as (target, servers):
        for seed in range(options.seed, options.seed + options.runs):
            history = options.out.with_name(f"{options.out.stem}-{seed}.jsonl")
            plan = Plan(
                servers,
                seconds=options.seconds,
                seed=seed,
                faults=SETS[options.faults],
                worker_command=worker_command(options.workers),
                history=history,
            )
            try:
                rows.append(row(seed, run(plan, target)))
            except Unfinished as error:
                rows.append({"seed": seed, "unfinished": str(error)})
            if not rows[-1].get("anomalies") and "unfinished" not in rows[-1]:
                history.unlink()
            print(json.dumps(rows[-1]), flush=True)
            options.out.write_text(json.dumps({"on": options.on, "workers": options.workers, "runs": rows}, indent=1))
    bad = [each for each in rows if each.get("anomalies") or "unfinished" in each]
    print(f"{len(rows)} runs, {len(bad)} of them bad", flush=True)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
