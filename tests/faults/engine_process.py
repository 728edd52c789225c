"""`headrace engine` as a process of its own, for as long as a `with` block."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headrace.testing import wait_until

START_TIMEOUT_S = 300.0


class EngineProcess:
    """`arguments` are those of the command, without `--port`. Its log goes to `log_file`."""

    def __init__(self, *arguments: str, log_file: Path) -> None:
        self._command = [
            sys.executable,
            "-m",
            "headrace",
            "engine",
            "--port",
            "0",
            "--json",
            "--stop-with-stdin",
        ]
        self._command += arguments
        self._log_file = log_file
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        with self._log_file.open("a") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        ready = select.select([self._process.stdout], [], [], START_TIMEOUT_S)[0]
        line = self._process.stdout.readline() if ready else ""
        if not line:
            self._end()
            raise AssertionError(f"the engine did not start:\n{self._log_file.read_text()[-3000:]}")
        self.url = json.loads(line)["url"]
        return self

    def wait_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Until Spark has started and the engine owns the pipelines of its cluster."""
        wait_until(self._is_ready, timeout_s=timeout_s, interval_s=0.5, message="an engine that is ready")

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=30) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError:
            return False

    def shown(self, pipeline: str) -> dict[str, Any]:
        """What `headrace stream show --json` says."""
        command = [
            sys.executable,
            "-m",
            "headrace",
            "stream",
            "show",
            pipeline,
            "--engine",
            self.url,
            "--json",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        shown: dict[str, Any] = json.loads(done.stdout)
        return shown

    def _end(self) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
