"""The real command line against a real broker: one for the whole run, every test with topics and groups of its own.

HEADRACE_TEST_BOOTSTRAP runs the same tests against another broker, such as an Apache Kafka.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.main import main


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command line printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Outcome]


@pytest.fixture(scope="session")
def bootstrap(request: pytest.FixtureRequest) -> str:
    given = os.environ.get("HEADRACE_TEST_BOOTSTRAP")
    return given or request.getfixturevalue("headrace_shared_broker").bootstrap_servers


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads or writes the user's own configuration."""
    for name in ("HEADRACE_BOOTSTRAP", "HEADRACE_DEBUG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process."""

    def run_command(*arguments: str, stdin: str | bytes = b"") -> Outcome:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run_command


@pytest.fixture
def cli(run: Run, bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same, with a broker that the command finds by itself."""
    monkeypatch.setenv("HEADRACE_BOOTSTRAP", bootstrap)
    return run


_names = iter(range(1_000_000))


@pytest.fixture
def name() -> str:
    """A name nobody else uses, for a topic or a group."""
    return f"t{os.getpid()}-{next(_names)}"


@pytest.fixture
def topic(cli: Run, name: str) -> str:
    """A new topic with three partitions."""
    assert cli("topic", "create", name, "--partitions", "3").code == 0
    return name


@pytest.fixture
def spawn(bootstrap: str, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the command as a process; whatever still runs at the end is killed."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str, with_broker: bool = True, **options: Any) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
        environment.pop("HEADRACE_BOOTSTRAP", None)
        if with_broker:
            environment["HEADRACE_BOOTSTRAP"] = bootstrap
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": tmp_path}
        process = subprocess.Popen(
            [sys.executable, "-m", "headrace", *arguments], env=environment, **{**pipes, **options}
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
