"""KafkaJS from Node.js: old, non-flexible versions and its own consumer group protocol."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.peer("kafkajs")
PROGRAM = Path(__file__).parent / "kafkajs" / "round_trip.js"


def test_round_trip(bootstrap_servers: str, name: str) -> None:
    from conformance.install import KAFKAJS

    command = ["node", str(PROGRAM), str(KAFKAJS), bootstrap_servers, name, f"{name}-group", "500"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert sorted(seen["values"]) == sorted(f"kafkajs-{number}" for number in range(500))
    assert (seen["headers"], seen["end"], seen["committed"], seen["state"]) == (500, 500, 500, "Empty")
