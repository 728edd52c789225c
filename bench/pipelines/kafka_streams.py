"""The jobs in Kafka Streams: one Java program, compiled once, on the jars that Maven Central has."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance import apache_kafka
from conformance.cache import CACHE

SOURCES = Path(__file__).parent / "java"
HEAP = "512m"


def command(where: Mapping[str, Any], threads: int) -> list[str]:
    """The command line of a run with Kafka Streams' default settings; heap as Spark's driver has it."""
    from bench.pipelines.spark_process import java_options

    arguments = [
        where[name] for name in ("job", "name", "bootstrap_servers", "checkpoints", "events", "users", "output")
    ]
    java, *rest = apache_kafka.java_command(
        "BoundedRun", *arguments, str(where["count"]), str(threads), heap=HEAP, short_lived=False, classes=compiled()
    )
    return [java, *java_options(where["name"]), *rest]


def compiled() -> Path:
    """The folder of the compiled classes, made anew when a source changes."""
    libs = apache_kafka.install()
    sources = sorted(SOURCES.glob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = CACHE / f"bench-streams-{digest}"
    if not (folder / "BoundedRun.class").exists():
        folder.mkdir(parents=True, exist_ok=True)
        compiler = ["javac", "-nowarn", "-d", str(folder), "-cp", f"{libs}/*", *map(str, sources)]
        subprocess.run(compiler, check=True, capture_output=True, text=True)
    return folder
