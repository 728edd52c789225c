"""aiokafka: the oldest, non-flexible versions of the protocol."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.clients.reference_client import assert_one_aborted_one_committed, produce, read_values

pytestmark = pytest.mark.peer("aiokafka")
VALUES = sorted(f"value-{number}" for number in range(100))


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_what_it_writes_another_client_reads(bootstrap_servers: str, topic: str, codec: str | None) -> None:
    async def write() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap_servers, compression_type=codec) as producer:
            sent = [await producer.send(topic, value.encode()) for value in VALUES]
            await asyncio.gather(*sent)

    asyncio.run(asyncio.wait_for(write(), 30))
    assert read_values(bootstrap_servers, topic, 100) == VALUES


def test_idempotent_producer(bootstrap_servers: str, topic: str) -> None:
    async def write() -> list[int]:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap_servers, enable_idempotence=True) as producer:
            sent = [await producer.send(topic, value.encode(), partition=2) for value in VALUES]
            return [metadata.offset for metadata in await asyncio.gather(*sent)]

    assert asyncio.run(asyncio.wait_for(write(), 30)) == list(range(100))


def test_transactions(bootstrap_servers: str, topic: str, name: str) -> None:
    async def write() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap_servers, transactional_id=name) as producer:
            for word in ("aborted", "committed"):
                await producer.begin_transaction()
                for partition in range(3):
                    await producer.send(topic, f"{word}-{partition}".encode(), partition=partition)
                await producer.send_offsets_to_transaction({TopicPartition(topic, 1): 1}, name)
                await (producer.commit_transaction() if word == "committed" else producer.abort_transaction())

    asyncio.run(asyncio.wait_for(write(), 30))
    assert_one_aborted_one_committed(bootstrap_servers, topic, name)


def test_group_reads_and_commits(bootstrap_servers: str, topic: str, name: str) -> None:
    produce(bootstrap_servers, topic, VALUES)

    async def read() -> tuple[list[str], int]:
        consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap_servers,
            group_id=name,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        async with consumer:
            values = [(await consumer.getone()).value.decode() for _ in VALUES]
            await consumer.commit()
            committed = [await consumer.committed(TopicPartition(topic, partition)) or 0 for partition in range(3)]
            ends = await consumer.end_offsets([TopicPartition(topic, partition) for partition in range(3)])
        assert sum(ends.values()) == 100
        return values, sum(committed)

    values, committed = asyncio.run(asyncio.wait_for(read(), 30))
    assert (sorted(values), committed) == (VALUES, 100)


def test_admin(bootstrap_servers: str, name: str) -> None:
    async def manage() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(name, 2, 1)])
            assert name in await admin.list_topics()
            (described,) = await admin.describe_topics([name])
            assert len(described["partitions"]) == 2
            await admin.delete_topics([name])
            assert name not in await admin.list_topics()
        finally:
            await admin.close()

    asyncio.run(asyncio.wait_for(manage(), 30))
