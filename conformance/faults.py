"""The long runs of our own: crashes, ten thousand partitions, a slow disk, hours of coming and going, registries and apps on Spark that are killed, a backlog, a cluster.

`make test` runs a slice of each. A run that has ended well is kept until the sources change.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from conformance.cache import CACHE, PROJECT

Figures = Mapping[str, Any]

RUNS: dict[str, tuple[list[str], Callable[[Figures], bool]]] = {
    "crash": (["--rounds", "300"], lambda f: f["rounds"] >= 300 and f["read"] >= f["acknowledged"]),
    "many_partitions": (
        ["--partitions", "10000"],
        lambda f: (
            max(f["file_descriptors"], f["file_descriptors_after"]) <= 12_000
            and f["clean_restart_s"] < 10
            and f["restart_after_kill_s"] < 30
            and max(f["rss_mb"], f["rss_after_mb"]) < 500
        ),
    ),
    "slow_disk": (
        ["--seconds", "20"],
        lambda f: f["heartbeat_p99_ms"] < 50 and f["fetch_p99_ms"] < 50 and not f["group_error"],
    ),
    "soak": (
        ["--minutes", "10"],
        lambda f: (
            f["at_the_end"]["rss_mb"] < f["after_warm_up"]["rss_mb"] * 1.05
            and f["at_the_end"]["file_descriptors"] < f["after_warm_up"]["file_descriptors"] * 1.2
        ),
    ),
    "registry_kills": (
        ["--rounds", "20"],
        lambda f: set(f) == {"headrace", "kafka"} and not any(each["problems"] for each in f.values()),
    ),
    "spark_kills": ([], lambda f: len(f["runs"]) == 16 and not f["failed"]),
    "backlog": (
        ["--records", "10000000"],
        lambda f: (
            len(f["runs"]) == 10
            and not f["failed"]
            and all(one["sent"] >= 10_000_000 and one["peak_java_mb"] < 1_500 for one in f["runs"].values())
        ),
    ),
    "cluster": ([], lambda f: len(f["runs"]) == 2 and not f["failed"]),
}
"""Module in `tests/faults`, its arguments, and what its figures must show."""


def run(fingerprint: str, *, fresh: bool) -> bool:
    """Run what has not ended well on these sources; true when everything has."""
    good = True
    for name, (arguments, holds) in RUNS.items():
        kept = CACHE / "conformance" / "faults" / f"{name}-{fingerprint}.json"
        if fresh or not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            part = kept.with_suffix(".part")
            print(f"faults: {name} {' '.join(arguments)}", flush=True)
            command = [sys.executable, "-m", f"tests.faults.{name}", *arguments, "--out", str(part)]
            if subprocess.run(command, cwd=PROJECT, stdout=subprocess.DEVNULL).returncode:
                print(f"faults: {name}: failed", flush=True)
                good = False
                continue
            part.rename(kept)
        figures = json.loads(kept.read_text())
        passed = holds(figures)
        good &= passed
        shown = {key: value for key, value in figures.items() if key != "samples"}
        print(f"faults: {name}: {'pass' if passed else 'fail'} {json.dumps(shown)}", flush=True)
    return good
