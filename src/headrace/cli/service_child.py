"""A service as a child of `headrace up`: a process of its own, started once the broker answers and gone with its parent."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Sequence

STOP_TIMEOUT_S = 30.0


def chosen_port(port: int) -> int:
    """The port itself, or for 0 a free one: neighbours have to be told before anybody listens there."""
    if port:
        return port
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


class ServiceChild:
    """Runs `headrace <arguments>`; told to stop, and waited for, before the broker goes."""

    def __init__(self, arguments: Sequence[str], *, as_json: bool) -> None:
        self._arguments = [*arguments, *(["--json"] if as_json else [])]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, bootstrap_servers: str) -> None:
        command = [sys.executable, "-m", "headrace", *self._arguments]
        command += ["--stop-with-stdin", "--bootstrap-server", bootstrap_servers]
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
