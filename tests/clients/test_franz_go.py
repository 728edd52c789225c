"""franz-go from Go: the newest versions of the protocol, topic ids and fetch sessions."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.clients.reference_client import read_values

pytestmark = pytest.mark.peer("franz-go-client")


def test_round_trip(bootstrap_servers: str, topic: str, name: str) -> None:
    from conformance.install import FRANZ_GO_CLIENT

    command = [str(FRANZ_GO_CLIENT), bootstrap_servers, topic, f"{name}-group", "500"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    expected = sorted(f"franz-{number}" for number in range(500))
    assert sorted(seen["values"]) == expected
    assert (seen["produced"], seen["headers"], seen["committed"], seen["partitions"]) == (500, 500, 500, 3)
    assert read_values(bootstrap_servers, topic, 500) == expected
