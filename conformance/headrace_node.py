"""Headrace as a process of its own, started by its command line as a user would."""

from __future__ import annotations

import sys
from pathlib import Path

from conformance.node import Node


class Headrace(Node):
    """`headrace broker` on a data directory; settings are Kafka's own server settings."""

    name = "headrace"

    def _command(self) -> list[str]:
        # Said outright, as the properties of Apache Kafka do: clients are shown where a setting comes from.
        given = {"advertised.listeners": f"PLAINTEXT://{self.bootstrap_servers}", "log.dirs": str(self.data_dir)}
        settings = [part for key, value in (given | self.settings).items() for part in ("--set", f"{key}={value}")]
        program = Path(sys.executable).parent / "headrace"
        return [str(program), "broker", "--port", str(self.port), *settings]
