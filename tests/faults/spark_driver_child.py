"""The driver of the Spark kill test as its parent sees it: a child process that is started, listened to, killed and started again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace.testing import wait_until
from tests.faults.spark_workloads import Run

START_TIMEOUT_S = 180.0


class Driver:
    """The process that runs the pipeline, always on the same checkpoints. One that ends by itself is started again; `failed` is told why."""

    def __init__(self, run: Run, failed: Callable[[str], None]) -> None:
        self.run = run
        self.java = 0
        self.caught_up_at = 0.0
        """All that was in the topics at this time is processed."""
        self._failed = failed
        self._process: subprocess.Popen[str] | None = None
        self._running = threading.Event()
        self._lock = threading.RLock()

    def start(self) -> None:
        with self._lock:
            self._running.clear()
            self.java = 0
            command = [sys.executable, "-m", "tests.faults.spark_driver", self.run.to_json()]
            with open(f"{self.run.log_file}.driver", "ab") as log:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
                )
            threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        """Take what the driver says until it ends; one that ends by itself is started again."""
        assert process.stdout is not None
        for line in process.stdout:
            if process is self._process and line.startswith("{"):
                self._take(json.loads(line))
        process.wait()
        with self._lock:
            if process is self._process:
                self.start()

    def _take(self, event: dict[str, Any]) -> None:
        if event["event"] == "session":
            self.java = event["java"]
        elif event["event"] == "running":
            self._running.set()
        elif event["event"] == "caught_up":
            self.caught_up_at = event["at"]
        elif event["event"] == "failed":
            self._failed(event["reason"])

    def wait_java(self) -> None:
        wait_until(lambda: self.java, timeout_s=START_TIMEOUT_S, message=f"the start of Java; {self.log()}")

    def wait_running(self) -> None:
        assert self._running.wait(START_TIMEOUT_S), f"the driver did not start:\n{self.log()}"

    def kill(self) -> None:
        """Java and Python, both with -9, as when the machine is switched off."""
        with self._lock:
            process, self._process = self._process, None
            assert process is not None
            for pid in filter(None, (self.java, process.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()
            assert process.stdin is not None
            process.stdin.close()

    def stop(self, timeout_s: float = 60.0) -> None:
        """End it in an orderly way, or at once if that takes too long."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            with self._lock:
                self._process = process
            self.kill()

    def log(self) -> str:
        path = Path(f"{self.run.log_file}.driver")
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""
