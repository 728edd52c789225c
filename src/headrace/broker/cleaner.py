"""Compaction: chooses the log that needs it most, has it cleaned by a worker process, and puts the outcome in place.

Owns how far each log is clean (`cleaner-offset-checkpoint` in every log directory) and the worker processes. The event loop
is the only one to change a log; the reading and writing of segments happens elsewhere, so that clients do not wait for it.
A log that turns out to be damaged is not tried again before the next start; an error of the disk takes its directory offline.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from headrace.broker.cleaner_worker import Worker
from headrace.replica.partition import Partition
from headrace.replica.replicas import ReplicaDirectory
from headrace.storage import checkpoint
from headrace.storage.checkpoint import TopicPartition
from headrace.storage.compaction import planning, swapping
from headrace.storage.compaction.cleaning import Finished, Task
from headrace.storage.compaction.planning import Cleanable
from headrace.storage.compaction.target import Cleaned
from headrace.storage.compaction.worker import RoundFailed

if TYPE_CHECKING:
    from headrace.broker.server import Broker

log = logging.getLogger("headrace.broker.cleaner")

CHECKPOINT = "cleaner-offset-checkpoint"
# What Kafka's map takes of the buffer for a key: a digest and an offset.
BYTES_PER_KEY = 24
Outcome = TypeVar("Outcome")


class CleanedTo(NamedTuple):
    """A log is clean before this offset. The id tells a topic from an earlier one of the same name."""

    topic_id: bytes
    offset: int


class Cleaner:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._cleaned_to: dict[TopicPartition, CleanedTo] = {}
        self._uncleanable: set[tuple[bytes, int]] = set()
        self._busy: set[Partition] = set()
        self._workers: set[Worker] = set()
        self._stopping = False
        self.rounds = 0
        self.bytes_read = 0
        self.bytes_written = 0
        self.max_dirty_ratio = 0.0
        """Of all compacted logs, when it was last looked for one to clean."""
        self._last_run_ms = broker.clock.now_ms()

    def start(self) -> None:
        """Learns how far the logs were cleaned before."""
        for directory in self._broker.replicas.directories:
            path = f"{directory.files.path}/{CHECKPOINT}"
            try:
                offsets = checkpoint.read_offsets(directory.files.fs, path)
            except checkpoint.CorruptCheckpoint as error:
                log.warning("%s; everything counts as not cleaned", error)
                continue
            for partition in directory.partitions:
                key = partition.topic, partition.partition
                if key in offsets and partition.topic_id is not None:
                    self._cleaned_to[key] = CleanedTo(partition.topic_id, offsets[key])

    async def run(self) -> None:
        """Cleans what is due, the dirtiest log first, until nothing is."""
        settings = self._broker.settings
        if settings["log.cleaner.enable"] and not self._stopping:
            await asyncio.gather(*(self._run_worker() for _ in range(settings["log.cleaner.threads"])))

    def stop(self) -> None:
        """Gives up what is under way, so that `run` ends soon; a round that is not finished begins anew another time."""
        self._stopping = True
        for worker in tuple(self._workers):
            worker.kill()

    def cleaned_to(self, partition: Partition) -> int | None:
        """The first dirty offset of a log, if it was ever cleaned."""
        known = self._cleaned_to.get((partition.topic, partition.partition))
        return known.offset if known is not None and known.topic_id == partition.topic_id else None

    @property
    def since_last_run_ms(self) -> int:
        return max(0, self._broker.clock.now_ms() - self._last_run_ms)

    @property
    def uncleanable_partitions(self) -> int:
        return len(self._uncleanable)

    def assess(self, partition: Partition) -> Cleanable:
        """What cleaning would find in a log now."""
        return planning.assess(
            partition.log, self.cleaned_to(partition), self._broker.clock.now_ms(), partition.last_stable_offset
        )

    async def _run_worker(self) -> None:
        worker: Worker | None = None
        try:
            while not self._stopping and (chosen := self._choose()) is not None:
                if worker is None:
                    worker = await Worker.start()
                    self._workers.add(worker)
                    continue  # much may have changed meanwhile
                if not await self._clean(worker, *chosen):
                    return
        finally:
            if worker is not None:
                self._workers.discard(worker)
                await worker.close()

    def _choose(self) -> tuple[Partition, Cleanable] | None:
        best: tuple[Partition, Cleanable] | None = None
        self._last_run_ms, self.max_dirty_ratio = self._broker.clock.now_ms(), 0.0
        for partition in self._broker.replicas.all():
            config = partition.log.config
            if not config.compact or not self._may_clean(partition):
                continue
            try:
                cleanable = self.assess(partition)
            except OSError as error:
                partition.directory.fail(error)
                continue
            self.max_dirty_ratio = max(self.max_dirty_ratio, cleanable.dirty_ratio)
            due = cleanable.is_due(config.min_cleanable_dirty_ratio)
            if due and (best is None or cleanable.dirty_ratio > best[1].dirty_ratio):
                best = partition, cleanable
        return best

    def _may_clean(self, partition: Partition) -> bool:
        known = partition.topic_id, partition.partition
        return not (
            partition.offline
            or partition.log.closed
            or partition in self._busy
            or known in self._uncleanable
            or len(partition.log.segments) == 1
        )

    async def _clean(self, worker: Worker, partition: Partition, cleanable: Cleanable) -> bool:
        """Whether the worker can go on with the next log; otherwise it is better to wait a while."""
        self._busy.add(partition)
        now_ms = self._broker.clock.now_ms()
        try:
            producers = planning.last_of_producers(partition.log)
            limits = self._max_keys(), self._bytes_per_second()
            task = await self._in_background(
                partition.directory, planning.make_task, partition.log, cleanable, producers, now_ms, *limits
            )
            finished = await self._follow(worker, task, partition, now_ms)
            if finished is None:
                return False
            self.rounds += 1
            self.bytes_read += finished.bytes_read
            self.bytes_written += finished.bytes_written
            log.info(
                "compacted %s-%d up to offset %d: %d keys, %.1f MB became %.1f MB, %.1f s of CPU",
                partition.topic,
                partition.partition,
                finished.first_dirty_offset,
                finished.keys,
                (cleanable.clean_bytes + cleanable.dirty_bytes) / 1e6,
                finished.bytes_written / 1e6,
                finished.cpu_seconds,
            )
            await self._remember(partition, finished.first_dirty_offset)
        except RoundFailed as error:
            return await self._failed(partition, error)
        except OSError as error:
            if not (partition.log.closed or isinstance(error, FileNotFoundError)):
                partition.directory.fail(error)
            return False
        finally:
            self._busy.discard(partition)
        return True

    def _max_keys(self) -> int:
        """As many as Kafka would take with the same settings, so that a log needs as many rounds."""
        settings = self._broker.settings
        keys = settings["log.cleaner.dedupe.buffer.size"] / max(1, settings["log.cleaner.threads"]) / BYTES_PER_KEY
        return max(1, int(keys * settings["log.cleaner.io.buffer.load.factor"]))

    def _bytes_per_second(self) -> float:
        settings = self._broker.settings
        return float(settings["log.cleaner.io.max.bytes.per.second"]) / max(1, settings["log.cleaner.threads"])

    async def _follow(self, worker: Worker, task: Task, partition: Partition, now_ms: int) -> Finished | None:
        """Puts each cleaned segment in place; None if the log changed under it."""
        outcome = await worker.begin(task)
        while isinstance(outcome, Cleaned):
            if not swapping.swap_in(partition.log, outcome, now_ms):
                worker.kill()
                return None
            outcome = await worker.next()
        return outcome

    async def _failed(self, partition: Partition, error: RoundFailed) -> bool:
        """Whether the worker can go on with another log."""
        if partition.log.closed:
            return False
        # A file that is gone was deleted by retention or with its topic, and the next round is about those that are there.
        if error.errno is not None and error.errno != errno.ENOENT:
            partition.directory.fail(OSError(error.errno, f"compaction of {partition.log!r}: {error}"))
            return True
        if error.corrupt and partition.topic_id is not None:
            self._uncleanable.add((partition.topic_id, partition.partition))
            log.error("%r is not compacted any more: %s", partition.log, error)
        elif not self._stopping:
            log.warning("compaction of %r is tried again later: %s", partition.log, error)
        try:
            await self._in_background(partition.directory, swapping.discard, partition.log.folder)
        except OSError as failure:
            partition.directory.fail(failure)
        return error.corrupt

    async def _remember(self, partition: Partition, offset: int) -> None:
        if partition.topic_id is None or partition.log.closed:
            return
        self._cleaned_to[partition.topic, partition.partition] = CleanedTo(partition.topic_id, offset)
        directory = partition.directory
        offsets = {
            (one.topic, one.partition): known
            for one in directory.partitions
            if (known := self.cleaned_to(one)) is not None
        }
        path = f"{directory.files.path}/{CHECKPOINT}"
        # Renames that came before are done before: the same thread makes them.
        await self._in_background(directory, checkpoint.write_offsets, directory.files.fs, path, offsets)

    async def _in_background(
        self, directory: ReplicaDirectory, function: Callable[..., Outcome], *arguments: Any
    ) -> Outcome:
        return await asyncio.get_running_loop().run_in_executor(directory.background, function, *arguments)
