"""One broker process on a data directory, whoever wrote it: start until ready, stop, kill, restart, look at its log.

`ApacheKafka` and `Headrace` differ only in how the directory is prepared and the command line is made, so every suite,
test and benchmark treats both alike.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from conformance.cache import free_port

START_TIMEOUT_S = 120.0
DATA_DIR = "$DATA_DIR"
"""Stands in settings for the data directory, which is known only when a node is made."""


def placed(settings: Mapping[str, str], data_dir: Path) -> dict[str, str]:
    """Settings with the data directory in its place."""
    return {name: value.replace(DATA_DIR, str(data_dir)) for name, value in settings.items()}


class Node:
    """A broker as a process of its own. `close` ends it and removes the directory if the node made it."""

    name = "broker"

    def __init__(
        self, settings: Mapping[str, str] | None = None, *, port: int | None = None, data_dir: Path | None = None
    ) -> None:
        self._scratch = None if data_dir else Path(tempfile.mkdtemp(prefix=f"{self.name}-"))
        self.data_dir = data_dir or (self._scratch or Path()) / "data"
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self.port = port or free_port()
        self.bootstrap_servers = f"127.0.0.1:{self.port}"
        self.log_file = self.data_dir.parent / f"{self.data_dir.name}.{self.name}.log"
        self.settings = placed(settings or {}, self.data_dir)
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Make the data directory ready for a first start."""

    def _command(self) -> list[str]:
        raise NotImplementedError

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        self.prepare()
        self.launch()
        self.wait_until_ready()
        return self

    def launch(self) -> None:
        """Start the process on a prepared directory without waiting for it: benchmarks do that with a clock in hand."""
        with open(self.log_file, "ab") as log:
            self._process = subprocess.Popen(self._command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def wait_until_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Ready means that a topic can be created: an open port alone does not say that the controller works."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient, NewTopic

        deadline = time.monotonic() + timeout_s
        while self.alive and not self._listens() and time.monotonic() < deadline:
            time.sleep(0.01)
        admin = AdminClient(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "log_level": 0,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 50,
            }
        )
        while time.monotonic() < deadline:
            if not self.alive:
                raise RuntimeError(f"{self.name} ended before it was ready:\n{self.log_tail()}")
            try:
                admin.create_topics([NewTopic("ready", 1, 1)], validate_only=True, request_timeout=2)["ready"].result()
                return
            except KafkaException:
                time.sleep(0.02)
        self.stop()
        raise RuntimeError(f"{self.name} was not ready after {timeout_s:.0f} s:\n{self.log_tail()}")

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def log_tail(self, lines: int = 30) -> str:
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])

    def stop(self, sig: int = signal.SIGTERM) -> int | None:
        """End the process; returns its exit status, None when there was none to end."""
        if self._process is None:
            return None
        process, self._process = self._process, None
        if process.poll() is None:
            process.send_signal(sig)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        return process.returncode

    def kill(self) -> None:
        """End the process at once, as kill -9 does; the data directory stays."""
        self.stop(signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        self.stop()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()
