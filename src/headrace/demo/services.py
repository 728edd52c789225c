"""The processes of the demo: a broker and an engine, each `headrace` itself as a child, started again when it dies and gone when the demo is."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

READY_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 40.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0


class ServiceDied(Exception):
    """A service ended before it was ready; the message holds the last that it said."""


class Service:
    """One child. `arguments(started)` are those of `headrace`, given what the last start announced: so a port stays the same."""

    def __init__(
        self,
        name: str,
        arguments: Callable[[dict[str, Any]], list[str]],
        log_file: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log_file = log_file
        self.started: dict[str, Any] = {}
        self.restarts = 0
        self._arguments = arguments
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, f"the {self.name} was never started"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it says that it answers."""
        command = [sys.executable, "-m", "headrace", *self._arguments(self.started), "--json", "--stop-with-stdin"]
        with self.log_file.open("ab") as log:
            # In a session of its own: a Ctrl-C at the terminal is the demo's to handle.
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )
        self._wait_ready(time.monotonic() + READY_TIMEOUT_S)

    def _wait_ready(self, deadline: float) -> None:
        assert self._process is not None and self._process.stdout is not None
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ServiceDied(f"the {self.name} was not ready within {READY_TIMEOUT_S:g} s; see {self.log_file}")
            if not select.select([self._process.stdout], [], [], min(left, 1.0))[0]:
                continue
            line = self._process.stdout.readline()
            if not line:
                self._process.wait()
                raise ServiceDied(f"the {self.name} did not start: {self._last_words()}")
            event = json.loads(line)
            if event.get("event") == "started":
                self.started = event
                return

    def _last_words(self) -> str:
        said = self.log_file.read_text(errors="replace").strip().splitlines() if self.log_file.exists() else []
        return said[-1].removeprefix("Error: ") if said else f"see {self.log_file}"

    def kill(self) -> None:
        """`kill -9`."""
        assert self._process is not None
        self._process.kill()

    def stop(self) -> None:
        """SIGTERM, patience, and then no more of it."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class Keeper(threading.Thread):
    """Starts again whatever died, and says so. `tell` is called with a sentence."""

    def __init__(self, services: list[Service], tell: Callable[[str], None]) -> None:
        super().__init__(name="demo-keeper", daemon=True)
        self._services = services
        self._tell = tell
        self._stopping = threading.Event()
        self._pauses: dict[str, float] = {}

    def run(self) -> None:
        while not self._stopping.wait(0.2):
            for service in self._services:
                if not service.running:
                    self._revive(service)

    def stop(self) -> None:
        self._stopping.set()
        self.join(READY_TIMEOUT_S)

    def _revive(self, service: Service) -> None:
        pause = self._pauses.get(service.name, FIRST_PAUSE_S)
        self._pauses[service.name] = min(LONGEST_PAUSE_S, pause * 2)
        self._tell(f"The {service.name} is gone; starting it again in {pause:g} s")
        if self._stopping.wait(pause):
            return
        begin = time.monotonic()
        service.stop()
        try:
            service.start()
        except ServiceDied as error:
            self._tell(str(error))
        else:
            service.restarts += 1
            self._tell(f"The {service.name} answers again, {time.monotonic() - begin:.1f} s after it was started")


def broker(data_dir: Path, port: int, log_file: Path) -> Service:
    settings = ("log.retention.bytes=536870912", "log.segment.bytes=67108864")

    def arguments(started: dict[str, Any]) -> list[str]:
        return [
            "broker", "--data-dir", str(data_dir), "--port", str(started.get("port", port)),
            *(part for setting in settings for part in ("--set", setting)),
        ]  # fmt: skip

    return Service("broker", arguments, log_file)


def engine(bootstrap_servers: str, data_dir: Path, log_file: Path) -> Service:
    def arguments(started: dict[str, Any]) -> list[str]:
        port = str(started["url"]).rpartition(":")[2] if started else "0"
        return ["engine", "--bootstrap-server", bootstrap_servers, "--data-dir", str(data_dir), "--port", port]

    return Service("engine", arguments, log_file)


def console(bootstrap_servers: str, engine_url: str, port: int, log_file: Path) -> Service:
    def arguments(started: dict[str, Any]) -> list[str]:
        chosen = str(started["url"]).rpartition(":")[2] if started else str(port)
        return ["console", "--bootstrap-server", bootstrap_servers, "--engine", engine_url, "--port", chosen]

    # The page of the demo is in the menu only where there is one.
    return Service("console", arguments, log_file, {"HEADRACE_DEMO": "1"})


def free_port(wanted: int) -> int:
    """The port, if nobody has it; else 0, which is any."""
    if wanted == 0:
        return 0
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
    return wanted


def java_below(pid: int) -> int | None:
    """The Java process that an engine started, for those who want to see it die."""
    return next((child for child in _descendants(pid) if _name(child) == "java"), None)


def _descendants(pid: int) -> Iterator[int]:
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            yield child
            yield from _descendants(child)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
