"""What every suite of others has in common: units that run one process each against a bootstrap server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from conformance.results import Result


class Suite:
    """A suite: what it needs, its units, the broker settings each unit wants, and how one unit runs."""

    name: str
    version: str
    """Of the suite and of its driver; Apache Kafka's kept column is valid for this version only."""
    jobs = 2

    @property
    def title(self) -> str:
        """Its heading on the page."""
        return self.version.split(",")[0]

    def install(self) -> None:
        raise NotImplementedError

    def units(self) -> list[str]:
        raise NotImplementedError

    def settings(self, unit: str) -> Mapping[str, str]:
        """Server settings of the broker that this unit needs; units with equal settings share one."""
        raise NotImplementedError

    def kafka_settings(self, unit: str) -> Mapping[str, str]:
        """The same on Apache Kafka, where features that Headrace does not have yet must be switched on."""
        return self.settings(unit)

    def run(self, unit: str, bootstrap_servers: str, log_file: Path) -> Result:
        raise NotImplementedError


def run_to_end(
    command: list[str], *, cwd: Path, environment: Mapping[str, str], log_file: Path, timeout: float
) -> tuple[int | None, float, str]:
    """Run a program in a process group of its own; exit status (None for a time-out), seconds, and its output without colours."""
    start = time.monotonic()
    with open(log_file, "wb") as log:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        status: int | None
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
    text = re.sub(r"\x1b\[[0-9;]*m", "", log_file.read_text(errors="replace"))
    return status, round(time.monotonic() - start, 1), text
