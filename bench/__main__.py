"""`python -m bench [--quick] [--only CASE,CASE]`: run the cases on both brokers in turn, print and write the ratios.

A case that is done is kept in the cache until the sources of Headrace change or `--fresh` is given, so a run cut short goes
on where it stopped.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import json
import shutil
import signal
import sys
import time

from bench import report
from bench.cases import CASES, Case
from bench.metrics import METRICS, Measured
from bench.pipelines import suite
from bench.target import SCRATCH, Target
from conformance import install
from conformance.apache_kafka import ApacheKafka
from conformance.cache import CACHE, PROJECT
from conformance.headrace_node import Headrace

KEPT = CACHE / "bench"
QUICK_SCALE = 0.3
STEADY = 0.1


def main() -> None:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # in an orderly way: brokers and what they carry end with it
    install.PEERS["apache-kafka"].install()
    if options.only == "pipelines":
        suite.main(options)
        return
    install.PEERS["librdkafka"].install()
    # What pip does at installation. Python itself would do it at the first start, unless PYTHONDONTWRITEBYTECODE is set.
    compileall.compile_dir(PROJECT / "src", quiet=1)
    wanted = set(filter(None, options.only.split(",")))
    cases = [case for case in CASES if (case.name in wanted if wanted else case.quick or not options.quick)]
    targets = [Target(ApacheKafka, "Apache Kafka")]
    if not options.kafka_only:
        targets.append(Target(Headrace, "Headrace"))
    began = time.monotonic()
    results: report.Results = {}
    try:
        for case in cases:
            results[case.name] = _kept(case, options) or _measure(case, targets, options)
            report.print_case(case, results[case.name])
    finally:
        for target in targets:
            target.node.kill()
        shutil.rmtree(SCRATCH, ignore_errors=True)
    print(f"{len(cases)} cases in {(time.monotonic() - began) / 60:.1f} min")
    if not options.kafka_only:
        report.print_table(cases, results)
        if not wanted:
            report.write(cases, results, quick=options.quick)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less data, fewer cases; under 8 minutes")
    parser.add_argument(
        "--only", default="", help=f"cases, separated by commas: {', '.join(case.name for case in CASES)}; or pipelines"
    )
    parser.add_argument("--runs", type=int, help="measured runs of each case on each broker (3, some cases 5)")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    parser.add_argument("--kafka-only", action="store_true", help="to try the harness without Headrace")
    suite.arguments(parser)
    return parser.parse_args()


def _measure(case: Case, targets: list[Target], options: argparse.Namespace) -> dict[str, list[Measured]]:
    """Runs in turn, after unmeasured ones on each broker: neither a cold JVM nor a noisy minute decides."""
    scale = QUICK_SCALE if options.quick else 1.0
    runs: dict[str, list[Measured]] = {target.title: [] for target in targets}
    for target in targets:
        target.use(case.settings)
        if case.alone:
            target.stop()
        else:
            target.start()
            _warm_up(case, target, scale, target.warm_up_runs(quick=options.quick))
    for number in range(options.runs or case.runs):
        for target in targets:
            print(f"{case.name}: {target.title}, run {number + 1}", file=sys.stderr, flush=True)
            runs[target.title].append(case.run(target, scale))
    if case.alone:
        for target in targets:
            target.wipe()
    _keep(case, runs, options)
    return runs


def _warm_up(case: Case, target: Target, scale: float, most: int) -> None:
    """Unmeasured runs until the last two of them are about as fast, and never more than `most`."""
    rates: list[float] = []
    while case.warm_up and len(rates) < most and not steady(rates):
        measured = case.run(target, scale * case.warm_up)
        # The first rate; a case without one is judged by what it names first.
        metric = next((name for name in measured if METRICS[name].higher_is_better), next(iter(measured)))
        rates.append(measured[metric])
        print(f"{case.name}: {target.title}, warm-up {len(rates)}: {rates[-1]:.4g}", file=sys.stderr, flush=True)


def steady(rates: list[float]) -> bool:
    """Whether the last two differ by less than a tenth of the larger one."""
    return len(rates) > 1 and abs(rates[-1] - rates[-2]) < STEADY * max(rates[-2:])


def _fingerprint(options: argparse.Namespace) -> str:
    digest = hashlib.sha256(f"{options.quick}{options.runs}{options.kafka_only}".encode())
    for folder in (PROJECT / "src" / "headrace", PROJECT / "bench"):
        for path in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".java")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _keep(case: Case, runs: dict[str, list[Measured]], options: argparse.Namespace) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{case.name}.json").write_text(json.dumps({"fingerprint": _fingerprint(options), "runs": runs}))


def _kept(case: Case, options: argparse.Namespace) -> dict[str, list[Measured]] | None:
    path = KEPT / f"{case.name}.json"
    if options.fresh or not path.exists():
        return None
    kept = json.loads(path.read_text())
    runs: dict[str, list[Measured]] = kept["runs"]
    return runs if kept["fingerprint"] == _fingerprint(options) else None


if __name__ == "__main__":
    main()
