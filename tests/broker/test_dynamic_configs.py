"""Settings that an admin client changes on a running broker take effect at once, and again after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from headrace.testing import LocalBroker, broker, wait_until
from headrace.wire.errors import ErrorCode
from tests.broker.raw import RawClient, batch


@pytest.fixture
def server() -> Iterator[LocalBroker]:
    with broker() as running:
        running.create_topic("t")
        yield running


def alter(server: LocalBroker, kind: ResourceType, name: str, key: str, value: str | None) -> None:
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(key, value, incremental_operation=operation)
    admin = server.admin()
    (future,) = admin.incremental_alter_configs([ConfigResource(kind, name, incremental_configs=[entry])]).values()
    future.result(10)


def log_config(server: LocalBroker) -> Any:
    return server.call(lambda b: b.replicas.get("t", 0).log.config)


def test_a_default_of_all_topics(server: LocalBroker) -> None:
    too_large = batch(b"x" * 5000)
    with RawClient(server.port) as client:
        assert client.produce("t", too_large).error_code == ErrorCode.NONE
        alter(server, ResourceType.BROKER, "1", "message.max.bytes", "1000")
        assert client.produce("t", too_large).error_code == ErrorCode.MESSAGE_TOO_LARGE
        # A topic's own setting comes first.
        alter(server, ResourceType.TOPIC, "t", "max.message.bytes", "10000")
        assert client.produce("t", too_large).error_code == ErrorCode.NONE
        alter(server, ResourceType.TOPIC, "t", "max.message.bytes", None)
        assert client.produce("t", too_large).error_code == ErrorCode.MESSAGE_TOO_LARGE
    server.restart()
    with RawClient(server.port) as client:
        assert client.produce("t", too_large).error_code == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize(
    ("setting", "value", "field", "expected"),
    [
        ("log.retention.ms", "12345", "retention_ms", 12345),
        ("log.retention.bytes", "77777", "retention_bytes", 77777),
        ("log.segment.bytes", "1048576", "segment_bytes", 1048576),
        ("log.roll.ms", "5000", "segment_ms", 5000),
        ("log.flush.interval.messages", "3", "flush_messages", 3),
        ("log.segment.delete.delay.ms", "7", "file_delete_delay_ms", 7),
        ("log.message.timestamp.type", "LogAppendTime", "message_timestamp_type", "LogAppendTime"),
        ("producer.id.expiration.ms", "99", "producer_id_expiration_ms", 99),
    ],
)
def test_logs_follow_the_settings_of_their_broker(
    server: LocalBroker, setting: str, value: str, field: str, expected: object
) -> None:
    before = getattr(log_config(server), field)
    alter(server, ResourceType.BROKER, "1", setting, value)
    assert getattr(log_config(server), field) == expected
    alter(server, ResourceType.BROKER, "1", setting, None)
    assert getattr(log_config(server), field) == before


def test_reader_threads(server: LocalBroker) -> None:
    assert server.call(lambda b: b._readers._max_workers) == 8
    alter(server, ResourceType.BROKER, "1", "num.io.threads", "2")
    wait_until(lambda: server.call(lambda b: b._readers._max_workers) == 2)
    assert server.call(lambda b: b.run_reader(lambda: "read")) == "read"
    server.restart()
    assert server.call(lambda b: b._readers._max_workers) == 2


def test_silent_producers_are_forgotten(server: LocalBroker) -> None:
    server.restart(producer_id_expiration_check_interval_ms=50, producer_id_expiration_ms=1)
    with RawClient(server.port) as client:
        written = batch(b"x", producer_id=5, producer_epoch=0, base_sequence=0, timestamp=0)
        assert client.produce("t", written).error_code == ErrorCode.NONE
    wait_until(lambda: not server.call(lambda b: b.replicas.get("t", 0).log.producers.entries))


def test_the_slow_append_threshold_reaches_the_writer() -> None:
    with broker(headrace_slow_append_ms=250) as server:
        assert server.call(lambda b: [one.writer.slow_seconds for one in b.replicas.directories]) == [0.25]
