"""Near the limit of file descriptors connections are refused and topics too; appends never."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest
from confluent_kafka import KafkaException

from headrace.testing import broker_process
from headrace.wire.messages.api_versions import ApiVersionsRequest
from tests.broker.raw import Closed, RawClient, batch

LIMIT = 600


@pytest.fixture
def few_descriptors(monkeypatch: pytest.MonkeyPatch):
    """Child processes started in here may open few files."""
    real = subprocess.Popen

    def limited(*arguments, **options):
        return real(
            *arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT)), **options
        )

    monkeypatch.setattr("headrace.testing.process.subprocess.Popen", limited)


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors the Linux way")
def test_connections_are_refused_before_appends_fail(few_descriptors: None) -> None:
    with broker_process() as server:
        server.create_topic("t", 100)
        with pytest.raises(KafkaException, match="file descriptors"):
            server.create_topic("too-many", 300)
        with RawClient(server.port) as writer:
            clients, refused = [], 0
            try:
                for _ in range(LIMIT):
                    client = RawClient(server.port)
                    clients.append(client)
                    try:
                        client.call(ApiVersionsRequest(), 0)
                    except Closed:
                        refused += 1
                        if refused == 5:
                            break
                assert refused == 5, "the broker took connections beyond its limit"
                for partition in range(100):
                    assert writer.produce("t", batch(b"x"), partition=partition).error_code == 0
            finally:
                for client in clients:
                    client.socket.close()
        assert "file descriptors" in server.log
        assert server.stop() == 0
