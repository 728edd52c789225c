"""The registries that are measured, each as a process of its own on one core."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from conformance.cache import free_port

READY_TIMEOUT_S = 300.0
KARAPACE_DIR = "KARAPACE_DIR"


class Registry:
    """A registry process. `start` gives the seconds until its first answer."""

    name = ""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.topic = topic
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def missing() -> str | None:
        """Why it cannot be measured here; None when it can."""
        return None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> tuple[list[str], dict[str, str]]:
        raise NotImplementedError

    def start(self) -> float:
        command, environment = self.command()
        began = time.monotonic()
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(self._process.pid, cores[:1])
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() - began > READY_TIMEOUT_S:
                raise RuntimeError(f"{self.name} did not start")
            time.sleep(0.05)
        return time.monotonic() - began

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects?limit=1", timeout=60) as answer:
                return bool(json.load(answer) is not None)
        except (urllib.error.URLError, OSError, ValueError):
            return False

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Headrace(Registry):
    name = "Headrace"

    def command(self) -> tuple[list[str], dict[str, str]]:
        program = str(Path(sys.executable).parent / "headrace")
        options = ["--port", str(self.port), "--bootstrap-server", self.bootstrap_servers]
        return [program, "registry", *options, "--set", f"kafkastore.topic={self.topic}"], {}


class Karapace(Registry):
    """Aiven's registry in Python, from a checkout with an environment of its own in `.venv`."""

    name = "Karapace"

    @staticmethod
    def missing() -> str | None:
        folder = os.environ.get(KARAPACE_DIR)
        if not folder:
            return f"{KARAPACE_DIR} is not set"
        if not (Path(folder) / ".venv" / "bin" / "python").exists():
            return f"{KARAPACE_DIR} has no .venv with Karapace's dependencies"
        return None

    def command(self) -> tuple[list[str], dict[str, str]]:
        folder = Path(os.environ[KARAPACE_DIR])
        settings = {
            "BOOTSTRAP_URI": self.bootstrap_servers,
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "ADVERTISED_HOSTNAME": "127.0.0.1",
            "TOPIC_NAME": self.topic,
            "GROUP_ID": f"karapace-{self.topic}",
            "LOG_LEVEL": "WARNING",
            "KARAPACE_REGISTRY": "true",
        }
        environment = {f"KARAPACE_{name}": value for name, value in settings.items()}
        environment["PYTHONPATH"] = str(folder / "src")
        return [str(folder / ".venv" / "bin" / "python"), "-m", "schema_registry"], environment


SYSTEMS: tuple[type[Registry], ...] = (Headrace, Karapace)
