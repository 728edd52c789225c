"""The Spark kill test: apps on Spark run while their driver and the broker are killed with -9 at random moments, then the output is judged.

    python -m tests.faults.spark_kills                          all workloads, both guarantees, both brokers, a million records each
    python -m tests.faults.spark_kills --workload window --guarantee exactly_once --broker apache --records 200000 --seed 7

Exactly once means that a reader of committed records misses nothing and sees nothing twice; at least once, that it misses nothing; with both the tables in
the end are those that plain Python computes from the input. A run that ended well is kept in `.cache/spark-kills` and not done again for the
same sources; `--fresh` does it again. Ends with status 1 when a promise was broken.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import signal
import sys
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conformance.cache import CACHE, PROJECT
from headrace.spark.sinks import Guarantee
from tests.faults.spark_kill_run import BROKERS, STATELESS, Options, run

WORKLOADS = {
    "stateless": STATELESS,
    "window": "tests.faults.spark_workload_window:WindowedAggregate",
    "stream_table": "tests.faults.spark_workload_stream_table:StreamTableJoin",
    "foreign_key": "tests.faults.spark_workload_foreign_key:ForeignKeyJoin",
}
SOURCES = (
    *("src/headrace/spark", "src/headrace/plan", "src/headrace/streams", "src/headrace/functions"),
    *("src/headrace/formats", "src/headrace/tables", "src/headrace/stored_tables.py", "src/headrace/client.py"),
    *("src/headrace/broker", "src/headrace/coordinator", "src/headrace/replica", "src/headrace/storage"),
    *("src/headrace/settings", "src/headrace/wire", "tests/faults"),
)


def main() -> int:
    asked = _parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # in an orderly way: brokers and drivers end with it
    digest = fingerprint()
    outcomes: dict[str, Any] = {}
    for broker, guarantee, workload in itertools.product(asked.broker, asked.guarantee, asked.workload):
        options = Options(
            **{name: getattr(asked, name) for name in ("records", "driver_kills", "broker_kills", "batch", "portion_s", "seed")},
            real_time_batch_ms=0 if asked.micro_batch else asked.real_time_batch_ms,
            broker=broker,
            guarantee=guarantee,
            workload=WORKLOADS.get(workload, workload),
        )  # fmt: skip
        name = f"{workload}, {guarantee}, {broker}"
        outcomes[name] = outcome(name, options, digest, fresh=asked.fresh)
    if asked.out:
        asked.out.write_text(json.dumps({"failed": _failed(outcomes), "runs": outcomes}, indent=2, default=str) + "\n")
    print_table(outcomes)
    return int(bool(_failed(outcomes)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--workload",
        nargs="+",
        default=list(WORKLOADS),
        metavar="NAME",
        help=f"{', '.join(WORKLOADS)}, or MODULE:CLASS",
    )
    parser.add_argument("--guarantee", nargs="+", type=Guarantee, choices=list(Guarantee), default=list(Guarantee))
    parser.add_argument("--broker", nargs="+", choices=list(BROKERS), default=list(BROKERS))
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--driver-kills", type=int, default=5)
    parser.add_argument("--broker-kills", type=int, default=2)
    parser.add_argument("--batch", type=int, default=20_000, help="records of a topic in a micro-batch, at most")
    parser.add_argument("--real-time-batch-ms", type=int, default=3_000, help="how often real-time mode commits")
    parser.add_argument("--micro-batch", action="store_true", help="at least once in micro-batches too")
    parser.add_argument("--portion-s", type=float, default=10.0, help="how long each portion of the input flows")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="do again what ended well for these sources")
    parser.add_argument("--out", type=Path, help="write all figures to this file as JSON")
    return parser


def outcome(name: str, options: Options, digest: str, *, fresh: bool) -> dict[str, Any]:
    """A run's figures, from the cache if it has ended well before; with `error` if a promise was broken."""
    asked = hashlib.sha256(json.dumps(asdict(options), sort_keys=True).encode()).hexdigest()[:12]
    kept = CACHE / "spark-kills" / f"{digest}-{asked}.json"
    if kept.exists() and not fresh:
        found: dict[str, Any] = json.loads(kept.read_text())
        return found
    print(f"{name}: begins", flush=True)
    try:
        figures = run(options, report=lambda text: print(f"{time.strftime('%H:%M:%S')} {text}", flush=True))
    except Exception as error:
        traceback.print_exc()
        return {"error": str(error)[:5000]}
    print(f"{name}: {json.dumps(figures, default=str)}", flush=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    part = kept.with_suffix(".part")
    part.write_text(json.dumps(figures, indent=2, default=str) + "\n")
    part.rename(kept)
    return figures


def print_table(outcomes: dict[str, Any]) -> None:
    shown = ("driver_kills", "broker_kills", "expected", "seen", "lost", "doubled", "wrong", "table_rows", "seconds")
    print(
        "\n| run | " + " | ".join(name.replace("_", " ") for name in shown) + " |\n" + "|---" * (len(shown) + 1) + "|"
    )
    for name, figures in outcomes.items():
        cells = ["failed"] if "error" in figures else [f"{figures[one]:,}" for one in shown]
        print(f"| {name} | {' | '.join(cells)} |")


def _failed(outcomes: dict[str, Any]) -> list[str]:
    return [name for name, figures in outcomes.items() if "error" in figures]


def fingerprint() -> str:
    """Of all that takes part: an outcome belongs to the code it came of."""
    digest = hashlib.sha256()
    for place in SOURCES:
        path = PROJECT / place
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.suffix in (".py", ".scala"):
                digest.update(f"{file.relative_to(PROJECT)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(main())
