"""Kafka Streams' own answers: a small Java program builds a plan with its DSL and runs the records through TopologyTestDriver."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conformance import apache_kafka
from conformance.cache import CACHE

SOURCES = Path(__file__).parent / "java"
TIMEOUT_S = 600


class OracleError(Exception):
    """Kafka Streams could not run a case."""


def answers(cases: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each `{"plan", "records", "topics"}` the outputs by topic, or `{"error"}`."""
    lines = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
    command = apache_kafka.java_command("Oracle", classes=compiled(), heap="512m")
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode:
        raise OracleError(done.stderr[-4000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def compiled() -> Path:
    """The folder of the compiled classes, made anew when a source changes."""
    libs = apache_kafka.install()
    sources = sorted(SOURCES.glob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = CACHE / f"streams-oracle-{digest}"
    if not (folder / "Oracle.class").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["javac", "-nowarn", "-d", str(folder), "-cp", f"{libs}/*", *map(str, sources)],
            check=True,
            capture_output=True,
            text=True,
        )
    return folder
