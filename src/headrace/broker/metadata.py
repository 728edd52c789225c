"""Changes to cluster metadata: one at a time, on disk before anybody sees them, then followed by the partitions.

A change is a pure function of the image (`controller`), so two requests that arrive together must not both be computed
from the same one. `change` computes, writes, applies and creates or deletes logs under one lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.replica.image import ClusterImage
from headrace.replica.metadata_log import MetadataLog
from headrace.wire.records.metadata import ConfigRecord, PartitionRecord, RemoveTopicRecord, TopicRecord

if TYPE_CHECKING:
    from headrace.replica.replicas import Replicas

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
Outcome = TypeVar("Outcome")
Response = TypeVar("Response")


class Metadata:
    """The metadata log with its lock, its image and those who follow it."""

    def __init__(self, metadata_log: MetadataLog) -> None:
        self._log = metadata_log
        self._lock = asyncio.Lock()
        self._broken: OSError | None = None
        self.image: ClusterImage = metadata_log.image
        self.replicas: Replicas | None = None
        self.on_broker_configs: Callable[[ClusterImage], None] | None = None
        self.on_failure: Callable[[OSError], None] | None = None
        self.on_topics_deleted: list[Callable[[Sequence[tuple[str, bytes]]], None]] = []

    async def change(self, compute: Callable[[ClusterImage], tuple[Sequence[Any], Response]]) -> Response:
        """Compute records from the current image and make them so. The response is good once this returns.

        A client that goes away meanwhile cancels its own waiting, not the change: half of one would be worse than none.
        """
        return await asyncio.shield(asyncio.ensure_future(self._change(compute)))

    async def _change(self, compute: Callable[[ClusterImage], tuple[Sequence[Any], Response]]) -> Response:
        async with self._lock:
            records, response = compute(self.image)
            if records:
                await self._write(records)
            return response

    async def write(self, records: Sequence[Any]) -> ClusterImage:
        """Append records that do not depend on the image."""
        await self.change(lambda image: (records, None))
        return self.image

    async def _write(self, records: Sequence[Any]) -> None:
        before = self.image
        self.image = image = await self._on_disk(self._log.append, records)
        created, deleted, topic_configs, broker_configs = _summary(records, before, image)
        if self.replicas is not None:
            await self.replicas.apply(image, created, deleted)
            self.replicas.apply_configs(image, topic_configs)
        if broker_configs and self.on_broker_configs is not None:
            self.on_broker_configs(image)
        if deleted:
            for follow in self.on_topics_deleted:
                follow(deleted)

    async def snapshot_if_due(self) -> None:
        """Write a snapshot when enough was appended since the last one."""
        async with self._lock:
            await self._on_disk(self._log.maybe_snapshot)

    async def close(self) -> None:
        async with self._lock:
            await self._on_disk(self._log.close)

    async def _on_disk(self, work: Callable[..., Outcome], *arguments: Any) -> Outcome:
        """Do something with the log in a thread. After an error of the disk the log may hold what the image does not,
        so nothing follows it."""
        if self._broken is not None:
            raise self._broken
        try:
            return await asyncio.get_running_loop().run_in_executor(None, work, *arguments)
        except OSError as error:
            self._broken = error
            if self.on_failure is not None:
                self.on_failure(error)
            raise


def _summary(
    records: Iterable[Any], before: ClusterImage, after: ClusterImage
) -> tuple[list[str], list[tuple[str, bytes]], set[str], bool]:
    """What a list of records touches: topics to create (or grow), topics gone, topics and brokers with new settings."""
    created: dict[str, None] = {}
    deleted: list[tuple[str, bytes]] = []
    topic_configs: set[str] = set()
    broker_configs = False
    for record in records:
        if isinstance(record, TopicRecord | PartitionRecord):
            topic = after.topics_by_id.get(record.topic_id)
            if topic is not None:
                created[topic.name] = None
        elif isinstance(record, RemoveTopicRecord):
            topic = before.topics_by_id.get(record.topic_id)
            if topic is not None:
                deleted.append((topic.name, topic.id))
        elif isinstance(record, ConfigRecord):
            if record.resource_type == TOPIC_RESOURCE:
                topic_configs.add(record.resource_name)
            elif record.resource_type == BROKER_RESOURCE:
                broker_configs = True
    return list(created), deleted, topic_configs, broker_configs
