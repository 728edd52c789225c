"""A broker as a child process, for tests that kill it: `kill -9`, restart on the same data and port, signals, exit codes.

It runs the real `headrace broker` command, learns from its first line of JSON that it is ready, and holds the other end of its
standard input: when the test process dies, however it dies, the broker ends too.
"""

from __future__ import annotations

import contextlib
import json
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headrace.testing.clients import TEST_SETTINGS, Clients, dotted

READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0


class BrokerDied(Exception):
    """The process ended before it was ready; the message holds what it said."""


class BrokerProcess(Clients):
    """One `headrace broker` process on one data directory. After `kill` or `stop`, `restart` brings it back on its port."""

    def __init__(self, settings: Mapping[str, Any], data_dir: Path, log_file: Path, *, port: int = 0) -> None:
        self.settings = dict(settings)
        self.data_dir = data_dir
        self.log_file = log_file
        self.port = port
        self.started: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:  # type: ignore[override]
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker was never started"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """What the process wrote to standard error over all its lives."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def start(self, *, wait: bool = True) -> BrokerProcess:
        """Start the process and, unless `wait` is false, wait until it answers."""
        assert not self.running, "the broker runs already"
        command = [sys.executable, "-m", "headrace", "broker", "--json", "--stop-with-stdin"]
        command += ["--data-dir", str(self.data_dir), "--port", str(self.port)]
        for name, value in self.settings.items():
            command += ["--set", f"{name}={value}"]
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 (our own command line)
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> BrokerProcess:
        """Wait for the line that says the broker answers; BrokerDied when the process ends before."""
        assert self._process is not None and self._process.stdout is not None, "the broker was never started"
        deadline = time.monotonic() + timeout_s
        while self.started.get("pid") != self.pid:
            left = deadline - time.monotonic()
            if left <= 0:
                raise BrokerDied(f"not ready within {timeout_s:g} s:\n{self.log[-2000:]}")
            if not select.select([self._process.stdout], [], [], left)[0]:
                continue
            line = self._process.stdout.readline()
            if not line:
                raise BrokerDied(f"ended with exit code {self._process.wait()}:\n{self.log[-2000:]}")
            self._take(line)
        return self

    def _take(self, line: bytes) -> None:
        event = json.loads(line)
        if event.get("event") == "started":
            self.started = event
            self.port = event["port"]

    def kill(self) -> None:
        """`kill -9`: no flush, no clean marker, no goodbye."""
        self._end(signal.SIGKILL)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """SIGTERM and wait; returns the exit code, which is 0 after a clean shutdown."""
        return self._end(signal.SIGTERM, timeout_s)

    def _end(self, how: signal.Signals, timeout_s: float = STOP_TIMEOUT_S) -> int:
        assert self._process is not None, "the broker was never started"
        if self.running:
            self._process.send_signal(how)
        try:
            return self._process.wait(timeout_s)
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()

    def restart(self, *, wait: bool = True, **settings: Any) -> BrokerProcess:
        """Start again on the same data and port, cleanly stopped first if it still runs, with `settings` changed."""
        if self.running:
            self.stop()
        self.settings |= dotted(settings)
        return self.start(wait=wait)


@contextlib.contextmanager
def broker_process(
    settings: Mapping[str, Any] | None = None,
    /,
    *,
    data_dir: Path | str | None = None,
    wait: bool = True,
    **more_settings: Any,
) -> Iterator[BrokerProcess]:
    """A broker process for the length of a `with` block; its data goes with it unless `data_dir` is given."""
    scratch = Path(tempfile.mkdtemp(prefix="headrace-test-"))
    process = BrokerProcess(
        {**TEST_SETTINGS, **(settings or {}), **dotted(more_settings)},
        Path(data_dir) if data_dir else scratch / "data",
        scratch / "broker.log",
    )
    try:
        yield process.start(wait=wait)
    finally:
        if process.running:
            process.kill()
        shutil.rmtree(scratch, ignore_errors=True)
