"""A Java program that runs beside the test: its output as it comes, SIGTERM, kill -9, and no process left behind."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

from conformance.apache_kafka import LIBS, java_command
from headrace.testing import wait_until

TIMEOUT_S = 120.0
SOURCES = Path(__file__).parent / "java"
Outcome = TypeVar("Outcome")


def compile_java(source: str, classes: Path) -> Path:
    """Compile one of the sources in `tests/clients/java/` against Kafka's jars; returns the folder of classes."""
    command = ["javac", "-cp", f"{LIBS}/*", "-d", str(classes), str(SOURCES / source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return classes


class JavaProgram:
    """For `with`: the program runs until the block ends, if it does not end by itself. Owns its process and its output files."""

    def __init__(self, folder: Path, main_class: str, *arguments: str, classes: Path | None = None) -> None:
        self._name = main_class.rsplit(".", 1)[-1]
        number = len(list(folder.glob(f"{self._name}-*.out")))
        self._out = folder / f"{self._name}-{number}.out"
        self._err = folder / f"{self._name}-{number}.err"
        command = java_command(main_class, *arguments, heap="512m", classes=classes)
        with open(self._out, "wb") as out, open(self._err, "wb") as err:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def events(self, name: str | None = None) -> list[dict[str, Any]]:
        """What it has printed so far, one JSON object per line; with `name` those of that name."""
        lines = self._out.read_text().split("\n")[:-1]
        parsed = [json.loads(line) for line in lines if line.startswith("{")]
        return parsed if name is None else [event for event in parsed if event["name"] == name]

    def until(self, condition: Callable[[], Outcome], message: str, timeout_s: float = TIMEOUT_S) -> Outcome:
        """Wait for the condition as long as the program lives."""

        def checked() -> Outcome:
            assert self._process.poll() is None, f"{self._name} ended with {self._process.poll()}: {self.tail()}"
            return condition()

        return wait_until(checked, timeout_s=timeout_s, message=message, interval_s=0.05)

    def wait(self, timeout_s: float = TIMEOUT_S) -> int:
        """Its exit status, once it has ended by itself."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self._name} has not ended after {timeout_s:g} s: {self.tail()}") from None

    def terminate(self, timeout_s: float = TIMEOUT_S) -> int:
        self._process.terminate()
        return self.wait(timeout_s)

    def kill(self) -> None:
        """As kill -9 does; it must have been running until now."""
        assert self._process.poll() is None, f"{self._name} ended before it was killed: {self.tail()}"
        self._process.kill()
        self._process.wait()

    def tail(self) -> str:
        return self._out.read_text()[-1000:] + self._err.read_text()[-3000:]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
