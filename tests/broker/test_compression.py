"""A topic's compression.type, on a running broker: what is stored, and in which order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from headrace.testing import LocalBroker, broker
from headrace.wire.batch import iter_batches
from headrace.wire.compression import Codec


@pytest.fixture(scope="module")
def server() -> Iterator[LocalBroker]:
    with broker() as running:
        yield running


def codecs(server: LocalBroker, topic: str) -> list[Codec]:
    data = (server.data_dir / f"{topic}-0" / f"{0:020d}.log").read_bytes()
    return [Codec(header.codec) for _, header in iter_batches(data)]


@pytest.mark.parametrize("wanted", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_batches_are_stored_as_the_topic_says(server: LocalBroker, wanted: str) -> None:
    topic = f"to-{wanted}"
    server.create_topic(topic, compression_type=wanted)
    values = []
    for sent in ("none", "gzip", "snappy", "lz4", "zstd"):
        for idempotent in (False, True):
            mine = [f"{sent} {idempotent} {number} ".encode() * 20 for number in range(30)]
            server.produce(topic, mine, compression_type=sent, enable_idempotence=idempotent)
            values += mine
    assert [one.value() for one in server.records(topic, len(values))] == values
    assert set(codecs(server, topic)) == {Codec.NONE if wanted == "uncompressed" else Codec[wanted.upper()]}


def test_the_order_is_kept_while_batches_are_on_their_way(server: LocalBroker) -> None:
    server.create_topic("ordered", compression_type="zstd", compression_zstd_level=12)
    producer = server.producer(linger_ms=0, batch_num_messages=5, compression_type="none")
    values = [b"%d " % number * (2000 if number % 50 == 0 else 2) for number in range(2000)]
    for value in values:
        producer.produce("ordered", value)
        producer.poll(0)
    assert producer.flush(30) == 0
    assert [one.value() for one in server.records("ordered", len(values), timeout_s=30)] == values


def test_the_setting_may_change(server: LocalBroker) -> None:
    server.create_topic("changing")
    admin = server.admin()
    for value in ("zstd", "producer", "gzip"):
        entry = ConfigEntry("compression.type", value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, "changing", incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(10)
        server.produce("changing", [b"x" * 1000], compression_type="lz4")
    assert codecs(server, "changing") == [Codec.ZSTD, Codec.LZ4, Codec.GZIP]
