"""`headrace engine` as a process of its own, for tests that kill it and for pages that show it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from headrace.engine.http_client import RemoteEngine
from headrace.testing import wait_until

START_S = 120.0


class EngineProcess:
    """`headrace engine`, to be killed."""

    def __init__(self, bootstrap_servers: str, data_dir: Path) -> None:
        command = [sys.executable, "-m", "headrace", "engine", "--port", "0", "--json"]
        command += ["--data-dir", str(data_dir), "--bootstrap-server", bootstrap_servers]
        self._log = (data_dir.parent / "engine.log").open("ab")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, start_new_session=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, (data_dir.parent / "engine.log").read_text()
        self.remote = RemoteEngine(json.loads(line)["url"])

    def wait_until_ready(self) -> RemoteEngine:
        wait_until(lambda: not self.remote.problems(), timeout_s=START_S, message="the engine is ready", interval_s=0.1)
        return self.remote

    def children(self) -> list[int]:
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(text) for text in path.read_text().split()]

    def kill(self) -> None:
        """kill -9, and see that Java goes with it."""
        children = self.children()
        os.kill(self.process.pid, signal.SIGKILL)
        self._end()
        wait_until(lambda: not any(_alive(pid) for pid in children), timeout_s=20, message="Java has ended too")

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
            self._end()

    def _end(self) -> None:
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._log.close()


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
