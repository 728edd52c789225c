"""`python -m conformance.streams`: every topology and record sequence through Headrace, in each mode, held against Kafka Streams 4.3.

Resumable: what was compared with these sources is not run again. Ends with status 1 when something differs that `differences.toml` does not explain.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from conformance.cache import CACHE, PROJECT
from conformance.streams import compare, expected
from conformance.streams.case import Case, all_cases

KNOWN = Path(__file__).parent / "differences.toml"
PACKAGES = ("plan", "functions", "formats", "streams", "spark", "testing")
RESULTS = CACHE / "conformance" / "streams.jsonl"


def main() -> None:
    options = _options()
    cases = [case for case in all_cases() if case.name.startswith(tuple(options.only.split(",")))]
    if options.record:
        print(f"recorded {expected.record(all_cases())} answers of Kafka Streams in {expected.PATH.name}")
        return
    todo = [(case, mode) for mode in options.modes.split(",") for case in cases if compare.applies(case, mode)]
    sources = fingerprint()
    done = {} if options.fresh else _done(None if options.stale else sources)
    answers = expected.read()
    from headrace.testing import broker
    from headrace.testing.spark import spark_session

    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with spark_session() as spark, RESULTS.open("w" if options.fresh else "a") as log:
        for number, (case, mode) in enumerate(todo, 1):
            if (case.name, mode) in done and not (options.failed and done[case.name, mode]):
                continue
            with broker() as kafka:
                wrong = _compare(case, mode, answers[case.name], spark, kafka)
            done[case.name, mode] = wrong
            log.write(json.dumps({"case": case.name, "mode": mode, "wrong": wrong, "sources": sources}) + "\n")
            log.flush()
            print(f"{number}/{len(todo)} {mode} {case.name}: {'equal' if not wrong else wrong[0][:300]}", flush=True)
    sys.exit(_report(todo, done))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance.streams", description=__doc__)
    parser.add_argument("--only", default="", help="beginnings of cases' names, separated by commas")
    parser.add_argument("--modes", default=",".join(compare.MODES), help="micro_batch, real_time, exactly_once")
    parser.add_argument("--record", action="store_true", help="ask Kafka Streams anew and keep its answers")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--stale", action="store_true", help="keep results of earlier sources")
    parser.add_argument("--failed", action="store_true", help="run again what differed")
    return parser.parse_args()


def _compare(case: Case, mode: str, answer: dict[str, Any], spark: Any, kafka: Any) -> list[str]:
    try:
        return compare.differences(case, answer, compare.run(case, mode, spark, kafka))
    except Exception as error:
        return [f"{type(error).__name__}: {error}"[:1000]]


def fingerprint() -> str:
    """Of everything that a result depends on: what a plan is made, lowered and run by, and the cases."""
    digest = hashlib.sha256()
    folders = [*(PROJECT / "src" / "headrace" / name for name in PACKAGES), PROJECT / "conformance" / "streams"]
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        if path.suffix in (".py", ".scala", ".java"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _done(sources: str | None) -> dict[tuple[str, str], list[str]]:
    """Earlier results; with `sources` only those of the same ones."""
    if not RESULTS.exists():
        return {}
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    return {(line["case"], line["mode"]): line["wrong"] for line in lines if sources in (None, line.get("sources"))}


def _report(todo: list[tuple[Case, str]], done: dict[tuple[str, str], list[str]]) -> int:
    known: dict[str, str] = tomllib.loads(KNOWN.read_text()).get("differences", {}) if KNOWN.exists() else {}
    unexplained = 0
    for mode in dict.fromkeys(mode for _, mode in todo):
        mine = [case for case, each in todo if each == mode]
        differing = [case for case in mine if done.get((case.name, mode))]
        new = [case for case in differing if case.topology.name not in known and case.name not in known]
        unexplained += len(new)
        print(
            f"{mode}: {len(mine)} cases, {len(mine) - len(differing)} equal, {len(differing) - len(new)} known to differ"
        )
        for case in new:
            print(f"  differs: {case.name}: {done[case.name, mode][0][:300]}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    main()
