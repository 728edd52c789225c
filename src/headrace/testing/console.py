"""A console as a child process, for tests and pictures: `headrace console` on a free port, gone with the process that started it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

STOP_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class RunningConsole:
    """Where it answers, and its process."""

    url: str
    pid: int


@contextmanager
def console_process(
    bootstrap_servers: str, *options: str, environment: Mapping[str, str] | None = None
) -> Iterator[RunningConsole]:
    """A console for the length of a `with` block. `options` are those of `headrace console`."""
    command = [sys.executable, "-m", "headrace", "console", "--port", "0", "--json", "--stop-with-stdin"]
    command += ["--bootstrap-server", bootstrap_servers, *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)  # noqa: S603 - our own program
    assert process.stdin is not None and process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the console ended with exit code {process.wait()}")
        yield RunningConsole(json.loads(line)["url"], process.pid)
    finally:
        process.stdin.close()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
