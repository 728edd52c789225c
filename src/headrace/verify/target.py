"""Broker processes that may be harmed: those that this run started itself, or whose owner gave their number or command.

A process of anybody else is never signalled.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import time
from typing import Protocol

START_TIMEOUT_S = 120.0


class Target(Protocol):
    """What the nemesis needs of a broker process."""

    def kill(self) -> None: ...

    def restart(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class GivenProcess:
    """A broker that somebody else started and gave us the number of: it can be paused, not killed, as nobody would start it again."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def kill(self) -> None:
        raise NotImplementedError("only a process with a start command can be killed")

    def restart(self) -> None:
        """It never went away."""

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)


class OwnProcess:
    """A broker that this run starts by its command, in a process group of its own, which gets the signals as a whole."""

    def __init__(self, command: str, bootstrap_servers: str) -> None:
        self.command = shlex.split(command)
        self.address = bootstrap_servers.split(",")[0].strip()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 (the command is the user's own)
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            if self._process.poll() is not None:
                raise RuntimeError(f"`{shlex.join(self.command)}` ended with exit code {self._process.returncode}")
            if time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"`{shlex.join(self.command)}` does not listen at {self.address}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        host, _, port = self.address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), 1).close()
        except OSError:
            return False
        return True

    def _signal(self, number: int) -> None:
        assert self._process is not None, "not started"
        if self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        assert self._process is not None
        self._process.wait()

    def restart(self) -> None:
        self.start()

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it for good: asked first, killed if it does not listen."""
        if self._process is None or self._process.poll() is not None:
            return
        self.resume()
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
