"""The engine as a child of `headrace up`: a process of its own, because Spark must not share the broker's event loop, and gone with its parent."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

STOP_TIMEOUT_S = 30.0


def is_installed() -> bool:
    """Whether this Python has what an engine needs."""
    return importlib.util.find_spec("pyspark") is not None


class EngineChild:
    """Started once the broker answers; told to stop, and waited for, before the broker goes."""

    def __init__(self, port: int, broker_data: Path, *, as_json: bool) -> None:
        self._port = port
        self._data_dir = broker_data.parent / f"{broker_data.name}-engine"
        self._as_json = as_json
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, bootstrap_servers: str) -> None:
        command = [sys.executable, "-m", "headrace", "engine", "--stop-with-stdin", "--port", str(self._port)]
        command += ["--bootstrap-server", bootstrap_servers, "--data-dir", str(self._data_dir)]
        command += ["--json"] if self._as_json else []
        # In a session of its own: a Ctrl-C at the terminal is the parent's to handle.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603 - our own program

    def stop(self) -> None:
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
