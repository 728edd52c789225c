"""KafkaJS from Node.js: old, non-flexible versions and its own consumer group protocol."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.reference_client import assert_one_aborted_one_committed

pytestmark = pytest.mark.peer("kafkajs")
PROGRAMS = Path(__file__).parent / "kafkajs"


def run(program: str, *arguments: str) -> str:
    from conformance.install import KAFKAJS

    command = ["node", str(PROGRAMS / program), str(KAFKAJS), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_round_trip(bootstrap_servers: str, name: str) -> None:
    seen = json.loads(run("round_trip.js", bootstrap_servers, name, f"{name}-group", "500"))
    assert sorted(seen["values"]) == sorted(f"kafkajs-{number}" for number in range(500))
    assert (seen["headers"], seen["end"], seen["committed"], seen["state"]) == (500, 500, 500, "Empty")


def test_transactions(bootstrap_servers: str, topic: str, name: str) -> None:
    run("transactions.js", bootstrap_servers, topic, name)
    assert_one_aborted_one_committed(bootstrap_servers, topic, name)
