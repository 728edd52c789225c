"""`headrace version`: of Headrace and of what it runs on."""

from __future__ import annotations

import platform
import sys

import typer

from headrace import __version__
from headrace.cli.command import Json, command
from headrace.cli.output import print_json


def register(app: typer.Typer) -> None:
    @command(app, "version", examples=("headrace version", "headrace version --json"))
    def version(as_json: Json = False) -> None:
        """Print versions. Of Headrace, Python and the client library."""
        import confluent_kafka

        versions = {
            "headrace": __version__,
            "python": platform.python_version(),
            "confluent-kafka": confluent_kafka.__version__,
            "librdkafka": confluent_kafka.libversion()[0],
            "platform": platform.platform(),
        }
        if as_json:
            print_json(versions)
            return
        for name, value in versions.items():
            sys.stdout.write(f"{name} {value}\n")
