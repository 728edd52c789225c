"""Our own differential suite: the answers that `tests/oracle` has on file, asked for again.

On Apache Kafka it shows that what is on file is still what Kafka says; on Headrace, that the only differences are the listed ones.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from pathlib import Path

from conformance import apache_kafka
from conformance.cache import PROJECT
from conformance.results import Result
from conformance.suites.suite import Suite
from tests.oracle import play


class DifferentialSuite(Suite):
    """Units are profiles: scripts that share a broker."""

    name = "differential"
    title = "Recorded requests, answer by answer"
    jobs = 1

    @property
    def version(self) -> str:  # type: ignore[override]
        """Of the scripts and of the answers on file: when they change, Kafka is asked again."""
        digest = hashlib.sha256()
        for path in sorted((PROJECT / "tests" / "oracle").rglob("*")):
            if path.suffix in (".py", ".jsonl") and not path.name.startswith("test_"):
                digest.update(path.read_bytes())
        return f"scripts {digest.hexdigest()[:12]}, Apache Kafka {apache_kafka.VERSION}"

    def install(self) -> None:
        apache_kafka.install()

    def units(self) -> list[str]:
        return list(play.PROFILES)

    def settings(self, unit: str) -> Mapping[str, str]:
        return play.PROFILES[unit].settings

    def run(self, unit: str, bootstrap_servers: str, log_file: Path) -> Result:
        start = time.monotonic()
        answers = play.play(unit, int(bootstrap_servers.rsplit(":", 1)[1]))
        found = [
            each for script, ours in answers.items() for each in play.compare(script, play.read_golden(script), ours)
        ]
        wrong = play.unexplained(found)
        log_file.write_text("\n".join(map(str, found)))
        seconds = round(time.monotonic() - start, 1)
        asked = sum(map(len, answers.values()))
        if wrong:
            return Result(unit, "fail", seconds, f"{len(wrong)} of {asked} answers, the first: {wrong[0].label}"[:200])
        return Result(unit, "pass", seconds)
