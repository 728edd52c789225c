"""What a unit of a suite came to, and where that is remembered.

A column is one broker's outcomes in one suite. Headrace's lives in the cache, one file per unit, so a run cut short goes on
where it stopped; a unit counts as done only for the sources it ran on. Apache Kafka's is committed under `expected/` and made
anew only when the suite or its driver changes.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from conformance.cache import CACHE, PROJECT

EXPECTED = PROJECT / "conformance" / "expected"
RESULTS = CACHE / "conformance"
OUTCOMES = ("pass", "fail", "skip")


@dataclass(frozen=True)
class Result:
    """One unit's outcome on one broker; `reason` is the first line that says why it is not a pass."""

    unit: str
    outcome: str
    seconds: float
    reason: str = ""
    attempts: int = 1


class CachedColumn:
    """Outcomes as files in the cache, each with the fingerprint of what it ran on."""

    def __init__(self, suite: str, broker: str, fingerprint: str) -> None:
        self.folder = RESULTS / suite / broker
        self.folder.mkdir(parents=True, exist_ok=True)
        self._fingerprint = fingerprint

    def log_file(self, unit: str) -> Path:
        return self.folder / f"{_file_name(unit)}.log"

    def get(self, unit: str, *, any_fingerprint: bool = False) -> Result | None:
        path = self.folder / f"{_file_name(unit)}.json"
        if not path.exists():
            return None
        kept = json.loads(path.read_text())
        if kept.pop("fingerprint") != self._fingerprint and not any_fingerprint:
            return None
        return Result(**kept)

    def put(self, result: Result) -> None:
        path = self.folder / f"{_file_name(result.unit)}.json"
        path.write_text(json.dumps({**asdict(result), "fingerprint": self._fingerprint}))


def _file_name(unit: str) -> str:
    return "".join(character if character.isalnum() or character in "-_." else "_" for character in unit)


def read_expected(suite: str, fingerprint: str) -> dict[str, Result] | None:
    """Apache Kafka's column as committed; None when the suite has changed since, or was never run."""
    path = EXPECTED / f"{suite}.json"
    if not path.exists():
        return None
    kept = json.loads(path.read_text())
    if kept["suite"] != fingerprint:
        return None
    return {each["unit"]: Result(**each) for each in kept["results"]}


def write_expected(suite: str, fingerprint: str, broker: str, results: list[Result]) -> None:
    EXPECTED.mkdir(parents=True, exist_ok=True)
    ordered = sorted((_portable(result) for result in results), key=lambda each: each.unit)
    rows = ",\n".join("  " + json.dumps(asdict(result)) for result in ordered)
    head = f'"suite": {json.dumps(fingerprint)},\n "broker": {json.dumps(broker)}'
    (EXPECTED / f"{suite}.json").write_text(f'{{{head},\n "results": [\n{rows}\n]}}\n')


def _portable(result: Result) -> Result:
    """Without this machine's folders and this run's ports and random names."""
    reason = result.reason.replace(f"{PROJECT}/", "")
    reason = re.sub(r"127\.0\.0\.1:\d+", "HOST:PORT", re.sub(r"_rnd[0-9a-f]+_", "_rnd_", reason))
    return replace(result, reason=reason)
