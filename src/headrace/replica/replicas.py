"""All partitions on this node, over all log directories, kept in step with the cluster image.

Owns: the map from topic and partition to `Partition`, the directories with their writer and background threads, and what
happens when a directory fails. The event loop is its only caller; blocking work (creating, recovering, deleting, flushing
logs) runs in the directory's background thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sized
from concurrent.futures import Future as ThreadFuture
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from headrace.clock import Clock
from headrace.replica.image import ClusterImage, PartitionImage, TopicImage
from headrace.replica.partition import Partition
from headrace.replica.writer import DirectoryWriter
from headrace.storage.config import LogConfig
from headrace.storage.directory import LogDirectory
from headrace.storage.log import Log
from headrace.wire.uuids import from_text

log = logging.getLogger("headrace.replica")

Partitions = dict[int, Partition]


class ReplicaDirectory:
    """One log directory at work: its files, its threads, the partitions it holds."""

    def __init__(
        self,
        files: LogDirectory,
        loop: asyncio.AbstractEventLoop,
        failed: Callable[[ReplicaDirectory, OSError], None],
        slow_append_ms: int,
    ) -> None:
        self.files = files
        self.id = from_text(files.directory_id or "")
        self.writer = DirectoryWriter(files.path.name, loop, slow_append_ms)
        self.background = ThreadPoolExecutor(1, thread_name_prefix=f"headrace-disk-{files.path.name}")
        self.compressors = ThreadPoolExecutor(2, thread_name_prefix=f"headrace-compression-{files.path.name}")
        self.partitions: set[Partition] = set()
        self._loop = loop
        self._failed = failed

    def defer(self, job: Callable[[], None]) -> None:
        """Run a blocking job in the background; a disk that fails there takes the directory offline."""
        self.background.submit(job).add_done_callback(self._check)

    def fail(self, error: OSError) -> None:
        """The disk failed: every partition in here is gone until a restart."""
        if self.files.offline is None:
            self.files.offline = error
            log.error("log directory %s is offline: %s", self.files.path, error)
            for partition in self.partitions:
                partition.go_offline()
            self._failed(self, error)

    def flush(self, partition_log: Log) -> asyncio.Future[None]:
        """fsync one log in the background."""
        return self._loop.run_in_executor(self.background, partition_log.flush)

    def delete_expired(self, now_ms: int) -> None:
        """Remove files whose file.delete.delay.ms is over. Runs in the background thread."""
        self.files.delete_expired(now_ms)
        for partition_log in tuple(self.files.logs.values()):
            if partition_log.pending_deletes:
                partition_log.delete_expired_files(now_ms)

    def _check(self, done: ThreadFuture[None]) -> None:
        error = done.exception()
        if isinstance(error, OSError):
            self._loop.call_soon_threadsafe(self.fail, error)
        elif error is not None:
            log.error("a background job of %s failed", self.files.path, exc_info=error)

    def close_threads(self) -> None:
        self.writer.close()
        self.background.shutdown(wait=True)
        self.compressors.shutdown(wait=True)


class Replicas:
    """The partitions of this node."""

    def __init__(
        self,
        directories: Iterable[LogDirectory],
        *,
        clock: Clock,
        log_config: Callable[[ClusterImage, str], LogConfig],
        on_directory_failure: Callable[[ReplicaDirectory, OSError], None],
        node_id: int,
        slow_append_ms: int,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._log_config = log_config
        self.topics: dict[str, Partitions] = {}
        self.topics_by_id: dict[bytes, Partitions] = {}
        self.directories = [
            ReplicaDirectory(files, self._loop, on_directory_failure, slow_append_ms) for files in directories
        ]
        self._node_id = node_id
        self._giving_up = False

    def get(self, topic: str, partition: int) -> Partition | None:
        partitions = self.topics.get(topic)
        return partitions.get(partition) if partitions is not None else None

    def get_by_id(self, topic_id: bytes, partition: int) -> Partition | None:
        partitions = self.topics_by_id.get(topic_id)
        return partitions.get(partition) if partitions is not None else None

    def all(self) -> Iterable[Partition]:
        for partitions in self.topics.values():
            yield from partitions.values()

    @property
    def partition_count(self) -> int:
        return sum(map(len, self.topics.values()))

    # Start, change, stop.

    async def open(self, image: ClusterImage) -> None:
        """Open every log that the image names; set aside directories that it does not."""
        await asyncio.gather(
            *(
                self._loop.run_in_executor(directory.background, self._open_directory, directory, image)
                for directory in self.directories
            )
        )
        for directory in self.directories:
            for partition in directory.partitions:
                self._add(partition)
        self._warn_of_lost(image)
        await self._create_missing(image, image.topics.values())

    def locations(self) -> Iterable[tuple[bytes, int, bytes]]:
        """Topic id, partition and directory id of every partition, for the metadata to say the same."""
        for directory in self.directories:
            for partition in directory.partitions:
                yield partition.topic_id, partition.partition, directory.id

    def give_up(self) -> None:
        """The start is called off: open no further logs."""
        self._giving_up = True

    async def apply(self, image: ClusterImage, created: Iterable[str], deleted: Iterable[tuple[str, bytes]]) -> None:
        """Follow a metadata change: create and delete logs. Returns when the disks show it."""
        for name, topic_id in deleted:
            await self._delete(name, topic_id)
        await self._create_missing(image, [image.topics[name] for name in created if name in image.topics])

    def apply_configs(self, image: ClusterImage, topics: Iterable[str]) -> None:
        """Give the logs of these topics the settings that the image now holds."""
        for name in topics:
            partitions = self.topics.get(name)
            if partitions:
                config = self._log_config(image, name)
                for partition in partitions.values():
                    partition.use_config(config)

    async def close(self, *, clean: bool, broker_epoch: int) -> None:
        """Flush and close every log, write the checkpoints and the clean-shutdown marker, end the threads."""
        await asyncio.gather(*(self._close(directory, clean, broker_epoch) for directory in self.directories))

    async def _close(self, directory: ReplicaDirectory, clean: bool, broker_epoch: int) -> None:
        await self._loop.run_in_executor(None, directory.writer.close)
        try:
            await self._loop.run_in_executor(
                directory.background, self._close_directory, directory, clean, broker_epoch
            )
        except OSError as error:
            directory.fail(error)
        directory.background.shutdown(wait=True)
        directory.compressors.shutdown(wait=True)

    # Housekeeping, called from the broker's timers.

    async def apply_retention(self) -> int:
        """Delete segments that are too old or too many; the number deleted."""
        now_ms, deleted = self._clock.now_ms(), 0
        for position, partition in enumerate(tuple(self.all())):
            if not partition.offline:
                deleted += (
                    self._guarded(partition, partition.log.apply_retention, now_ms, partition.high_watermark) or 0
                )
            if position % 200 == 199:
                await asyncio.sleep(0)
        return deleted

    async def delete_expired(self) -> None:
        """Remove the files of segments and topics that were given up a while ago."""
        now_ms = self._clock.now_ms()
        for directory in self.directories:
            if directory.files.offline is None:
                await self._loop.run_in_executor(directory.background, directory.delete_expired, now_ms)

    async def expire_producers(self) -> None:
        """Forget idempotent producers that were silent for producer.id.expiration.ms."""
        now_ms = self._clock.now_ms()
        for position, partition in enumerate(tuple(self.all())):
            if not partition.offline:
                partition.log.producers.expire(now_ms, partition.log.config.producer_id_expiration_ms)
            if position % 200 == 199:
                await asyncio.sleep(0)

    async def write_checkpoints(self) -> None:
        """Recovery points and log starts, so that the next start knows what is safe on disk."""
        for directory in self.directories:
            if directory.files.offline is None:
                try:
                    await self._loop.run_in_executor(directory.background, directory.files.write_checkpoints)
                except OSError as error:
                    directory.fail(error)

    async def flush_due(self) -> None:
        """fsync the logs whose flush.ms has passed."""
        now_ms = self._clock.now_ms()
        for partition in tuple(self.all()):
            if not partition.offline and partition.log.flush_due(now_ms):
                try:
                    await partition.directory.flush(partition.log)
                except OSError as error:
                    partition.directory.fail(error)

    def _guarded(self, partition: Partition, action: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return action(*arguments)
        except OSError as error:
            partition.directory.fail(error)
            return None

    # Inside.

    def _add(self, partition: Partition) -> None:
        partitions = self.topics.setdefault(partition.topic, {})
        partitions[partition.partition] = partition
        self.topics_by_id[partition.topic_id] = partitions

    def _partition(self, directory: ReplicaDirectory, opened: Log, leader_epoch: int) -> Partition:
        partition = Partition(opened, leader_epoch=leader_epoch, directory=directory)
        directory.partitions.add(partition)
        return partition

    def _open_directory(self, directory: ReplicaDirectory, image: ClusterImage) -> None:
        configs: dict[str, LogConfig] = {}
        for found in directory.files.list_logs():
            if self._giving_up:
                return
            topic = image.topics.get(found.topic)
            if topic is None or topic.id != found.topic_id or found.partition >= len(topic.partitions):
                log.warning("%s is not in the cluster metadata; it is set aside, not deleted", found.path)
                directory.files.set_aside(found)
                continue
            assigned = self._assigned(topic.partitions[found.partition])
            if assigned not in (None, directory) and assigned.files.find_log(found.topic, found.partition):
                log.error("%s is also in %s, where it belongs; this one is set aside", found.path, assigned.files.path)
                directory.files.set_aside(found)
                continue
            config = configs.get(found.topic)
            if config is None:
                config = configs[found.topic] = self._log_config(image, found.topic)
            opened = directory.files.open_log(found, config, defer=directory.defer)
            self._partition(directory, opened, topic.partitions[found.partition].leader_epoch)

    def _warn_of_lost(self, image: ClusterImage) -> None:
        lost = [
            f"{topic.name}-{partition.partition}"
            for topic in image.topics.values()
            for partition in topic.partitions
            if self._node_id in partition.replicas and self.get(topic.name, partition.partition) is None
        ]
        if lost:
            log.error(
                "%d partitions have no log in any directory of log.dirs and start empty: %s%s",
                len(lost),
                ", ".join(lost[:10]),
                ", ..." if len(lost) > 10 else "",
            )

    async def _create_missing(self, image: ClusterImage, topics: Iterable[TopicImage]) -> None:
        wanted: dict[ReplicaDirectory, list[tuple[TopicImage, int, LogConfig]]] = {}
        for topic in topics:
            present = self.topics_by_id.get(topic.id, {})
            config: LogConfig | None = None
            for partition in topic.partitions:
                if partition.partition not in present:
                    directory = self._place_of(partition, wanted)
                    if directory is not None:
                        config = config or self._log_config(image, topic.name)
                        wanted.setdefault(directory, []).append((topic, partition.partition, config))
        for directory, missing in wanted.items():
            try:
                made = await self._loop.run_in_executor(directory.background, self._create_logs, directory, missing)
            except OSError as error:
                directory.fail(error)
                continue
            for partition in made:
                self._add(partition)

    def _place_of(
        self, partition: PartitionImage, planned: Mapping[ReplicaDirectory, Sized]
    ) -> ReplicaDirectory | None:
        """Where a partition that has no log yet gets one: where its record says, else where the fewest are.

        A directory that is not among ours was taken away for good: like Kafka, the partition starts anew elsewhere.
        """
        if self._node_id not in partition.replicas:
            return None
        assigned = self._assigned(partition)
        if assigned is not None:
            return assigned if assigned.files.offline is None else None
        online = [directory for directory in self.directories if directory.files.offline is None]
        return min(online, key=lambda one: len(one.partitions) + len(planned.get(one, ())), default=None)

    def _assigned(self, partition: PartitionImage) -> ReplicaDirectory | None:
        """The directory of ours that the metadata names for this node's replica."""
        for replica, directory_id in zip(partition.replicas, partition.directories, strict=False):
            if replica == self._node_id:
                return next((one for one in self.directories if one.id == directory_id), None)
        return None

    def _create_logs(
        self, directory: ReplicaDirectory, missing: list[tuple[TopicImage, int, LogConfig]]
    ) -> list[Partition]:
        made = []
        for topic, index, config in missing:
            created = directory.files.create_log(topic.name, index, topic.id, config, defer=directory.defer)
            made.append(self._partition(directory, created, topic.partitions[index].leader_epoch))
        return made

    async def _delete(self, name: str, topic_id: bytes) -> None:
        partitions = self.topics_by_id.pop(topic_id, None)
        if partitions is None:
            return
        if self.topics.get(name) is partitions:
            del self.topics[name]
        for partition in partitions.values():
            directory = partition.directory
            assert isinstance(directory, ReplicaDirectory)
            directory.partitions.discard(partition)
            partition.go_offline()
            if directory.files.offline is None:
                await self._loop.run_in_executor(directory.background, directory.files.delete_log, partition.log)

    def _close_directory(self, directory: ReplicaDirectory, clean: bool, broker_epoch: int) -> None:
        if directory.files.offline is None:
            directory.files.close(clean=clean, broker_epoch=broker_epoch)
