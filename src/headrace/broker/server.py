"""The broker put together: start → serve → stop.

Start: lock the directories, bind the ports, replay the metadata, recover the logs, load the groups and transactions, and only then accept
connections, so that a client which gets in gets answers. Stop: accept nothing new, finish what is in flight, flush, write
the clean-shutdown markers.

One event loop owns everything here. What blocks (disks) runs in threads that hand their outcome back to the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.broker import api, descriptors, startup
from headrace.broker.cleaner import Cleaner
from headrace.broker.consumed import Consumed
from headrace.broker.dispatch import Dispatcher
from headrace.broker.fetch_sessions import FetchSessions
from headrace.broker.groups import Groups
from headrace.broker.http import HttpServer
from headrace.broker.listeners import ConnectionLimits, Listener, SocketOptions
from headrace.broker.metadata import Metadata
from headrace.broker.meters import Meters
from headrace.broker.producer_ids import ProducerIds
from headrace.broker.startup import StartError
from headrace.broker.timers import Timers
from headrace.broker.transactions import Transactions
from headrace.broker.verification import Verifications
from headrace.clock import Clock
from headrace.fs import Fs
from headrace.replica import controller
from headrace.replica.image import ClusterImage
from headrace.replica.metadata_log import MetadataLog
from headrace.replica.replicas import ReplicaDirectory, Replicas
from headrace.replica.topic_config import log_config
from headrace.settings.broker import BrokerSettings
from headrace.storage.directory import LogDirectory
from headrace.wire.schema import Message

if TYPE_CHECKING:
    from headrace.broker.api.fetch import Reading

log = logging.getLogger("headrace.broker")

DRAIN_SECONDS = 10.0
"""How long a shutdown waits for requests that are being worked on: a slow disk may hold them up."""
SLOW_READER_SECONDS = 0.5
"""How long it waits for clients that do not take their answers."""
Outcome = TypeVar("Outcome")


class Broker:
    """One node. `await start()`, then `await stop()`."""

    def __init__(self, settings: BrokerSettings, *, clock: Clock | None = None, fs: Fs | None = None) -> None:
        self.settings = settings
        self.clock = clock or Clock()
        self.fs = fs or Fs()
        self.node_id: int = settings.node_id
        self.meters = Meters()
        self.fetch_sessions = FetchSessions(settings["max.incremental.fetch.session.cache.slots"])
        self.fetch_max_bytes: int = settings["fetch.max.bytes"]
        self.long_polls: set[Reading] = set()
        self.verifications = Verifications(lambda: settings["transaction.partition.verification.enable"])
        self.timers = Timers(self.clock)
        self.limits = ConnectionLimits()
        options = SocketOptions(
            settings["socket.listen.backlog.size"],
            settings["socket.send.buffer.bytes"],
            settings["socket.receive.buffer.bytes"],
        )
        advertised = settings.advertised_listeners
        self.listeners = [
            Listener(endpoint, advertised.get(endpoint.name), self.limits, options) for endpoint in settings.listeners
        ]
        self.dispatcher = Dispatcher(self, api.HANDLERS)
        self.http = HttpServer(self)
        self.failed: asyncio.Event = asyncio.Event()
        """Set when the broker cannot go on (its last log directory, or the one with the metadata, is gone)."""
        self.loop: asyncio.AbstractEventLoop
        self.descriptors: descriptors.Descriptors
        self.metadata: Metadata
        self.replicas: Replicas
        self.groups: Groups
        self.transactions: Transactions
        self.cleaner: Cleaner
        self.consumed: Consumed
        self.producer_ids: ProducerIds
        self._reader_threads = 0
        self._readers: ThreadPoolExecutor
        self._use_reader_threads(settings["num.io.threads"])
        self._directories: list[LogDirectory] = []
        self._logs_open = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = True

    @property
    def image(self) -> ClusterImage:
        return self.metadata.image

    @property
    def cluster_id(self) -> str:
        return self.image.cluster_id

    @property
    def port(self) -> int:
        """The port of the first listener, known once started."""
        return self.listeners[0].port

    def advertised(self, listener_name: str) -> tuple[str, int]:
        """Where clients of this listener should connect."""
        for listener in self.listeners:
            if listener.name == listener_name:
                return listener.advertised.host, listener.advertised.port
        raise KeyError(listener_name)

    async def run_reader(self, function: Callable[..., Outcome], *arguments: Any) -> Outcome:
        """Run something that may wait for a disk in a reader thread."""
        return await self.loop.run_in_executor(self._readers, function, *arguments)

    # Start.

    async def start(self) -> None:
        """Come up, or raise StartError with nothing left behind."""
        self.loop = asyncio.get_running_loop()
        try:
            with startup.one_line():
                self._open_directories()
            await self._bind()
            with startup.one_line():
                await self._replay_metadata()
                await self._open_logs()
            self._start_timers()
            await self._serve()
            self._stopping = False
        except BaseException:
            await self._give_up()
            raise
        log.info(
            "broker %d of cluster %s is ready on %s with %d partitions",
            self.node_id,
            self.cluster_id,
            ", ".join(str(listener.advertised) for listener in self.listeners),
            self.replicas.partition_count,
        )

    def _open_directories(self) -> None:
        limit = descriptors.raise_limit()
        cached = descriptors.cached_files(limit, self.settings["headrace.max.open.files"], len(self.settings.log_dirs))
        startup.open_directories(self.settings, self._directories, fs=self.fs, clock=self.clock, max_open_files=cached)
        self.descriptors = descriptors.Descriptors(limit, self._directories, lambda: self.limits.total)
        self.limits.descriptors = self.descriptors
        self.settings.partition_capacity = self.descriptors.partition_capacity

    async def _bind(self) -> None:
        """Take all ports before any log is opened: a port in use must not cost a recovery at the next start."""
        for listener in self.listeners:
            try:
                await listener.start(self.dispatcher)
            except OSError as error:
                raise self._cannot_listen(listener, error) from error
        try:
            self.http.bind()
        except OSError as error:
            raise StartError(
                f"cannot serve HTTP on {self.settings['headrace.http.host']}:{self.settings['headrace.http.port']}: "
                f"{error.strerror or error}. Choose another with headrace.http.port (--http-port on the command line), or -1 for none."
            ) from error

    def _cannot_listen(self, listener: Listener, error: OSError) -> StartError:
        return StartError(
            f"cannot listen on {listener.endpoint}: {error.strerror or error}. "
            "Stop what uses that address, or choose another with listeners (--port on the command line)."
        )

    async def _replay_metadata(self) -> None:
        directory = self._directories[0]
        opened = await self.loop.run_in_executor(
            None, lambda: MetadataLog.open(directory, settings=self.settings, fs=self.fs, clock=self.clock)
        )
        self.metadata = Metadata(opened)
        node = startup.registration(self.settings, self.listeners, self._directories)

        def come_up(image: ClusterImage) -> tuple[list[Message], tuple[int, int]]:
            # A first block of producer ids comes with the registration: one wait for the disk instead of two.
            registration = controller.on_register_broker(image, node)
            reservation, block = controller.on_allocate_producer_ids(image, self.node_id)
            return [*registration, *reservation], block

        block = await self.metadata.change(come_up)
        self.producer_ids = ProducerIds(
            block, lambda: self.metadata.change(lambda image: controller.on_allocate_producer_ids(image, self.node_id))
        )

    async def _open_logs(self) -> None:
        self.replicas = Replicas(
            self._directories,
            clock=self.clock,
            log_config=lambda image, topic: log_config(image, topic, self.settings),
            on_directory_failure=self._directory_failed,
            node_id=self.node_id,
            slow_append_ms=self.settings["headrace.slow.append.ms"],
        )
        await self.replicas.open(self.image)
        self._logs_open = True
        locations = list(self.replicas.locations())
        await self.metadata.change(
            lambda image: (controller.on_assign_directories(image, self.node_id, locations), None)
        )
        self.metadata.replicas = self.replicas
        self.metadata.on_broker_configs = self._broker_configs_changed
        self.metadata.on_failure = self.replicas.directories[0].fail
        await self._use_settings()
        self.groups = Groups(self)
        await self.groups.start()
        self.transactions = Transactions(self)
        await self.transactions.start()
        self.cleaner = Cleaner(self)
        self.cleaner.start()
        self.consumed = Consumed(self)
        self.consumed.start()

    def _start_timers(self) -> None:
        settings, every = self.settings, self.timers.every
        every("retention", lambda: settings["log.retention.check.interval.ms"], self.apply_retention)
        every("groups that delete", lambda: 1000, self.consumed.note)
        every(
            "checkpoints",
            lambda: min(
                settings["log.flush.offset.checkpoint.interval.ms"],
                settings["log.flush.start.offset.checkpoint.interval.ms"],
            ),
            self.replicas.write_checkpoints,
        )
        every(
            "silent producers",
            lambda: settings["producer.id.expiration.check.interval.ms"],
            self.replicas.expire_producers,
        )
        every("deleted files", lambda: 1000, self.replicas.delete_expired)
        every("compaction", lambda: settings["log.cleaner.backoff.ms"], self.cleaner.run)
        every("flush", lambda: min(settings["log.flush.scheduler.interval.ms"], 1000), self.replicas.flush_due)
        every("metadata snapshot", lambda: 60_000, self.metadata.snapshot_if_due)
        idle_ms = settings["connections.max.idle.ms"]
        every("idle connections", lambda: max(100, min(10_000, idle_ms // 2)), self._close_idle_connections)
        self.timers.start()

    async def _serve(self) -> None:
        await self.http.start()
        for listener in self.listeners:
            try:
                await listener.serve()
            except OSError as error:
                raise self._cannot_listen(listener, error) from error
        if self.settings.unused:
            log.warning("settings of Kafka without effect here: %s", ", ".join(sorted(self.settings.unused)))

    # While it runs.

    def problems(self) -> list[str]:
        """Why this broker is not healthy; nothing when it is."""
        found = [
            f"log directory {directory.files.path} is offline: {directory.files.offline}"
            for directory in self.replicas.directories
            if directory.files.offline is not None
        ]
        return [*found, "the broker is shutting down"] if self._stopping else found

    def _broker_configs_changed(self, image: ClusterImage) -> None:
        self.replicas.apply_configs(image, image.topics)
        self._later(self._use_settings())

    async def _use_settings(self) -> None:
        """Follow settings that can change while the broker runs and that nobody asks for each time."""
        self.limits.max_connections = self.settings["max.connections"]
        self.limits.max_per_address = self.settings["max.connections.per.ip"]
        self._use_reader_threads(self.settings["num.io.threads"])
        await self.limits.use_overrides(self.settings.connections_per_ip)

    def _use_reader_threads(self, count: int) -> None:
        if count == self._reader_threads:
            return
        before = self._readers if self._reader_threads else None
        self._reader_threads = count
        self._readers = ThreadPoolExecutor(count, thread_name_prefix="headrace-reader")
        if before is not None:
            before.shutdown(wait=False)

    async def apply_retention(self) -> None:
        """Moves log starts past what was consumed, then deletes what is too old, too much, or before the start."""
        await self.consumed.apply()
        await self.replicas.apply_retention()

    async def _close_idle_connections(self) -> None:
        limit_ms = self.settings["connections.max.idle.ms"]
        if limit_ms < 0:
            return
        before = self.dispatcher.now() - limit_ms / 1000
        for listener in self.listeners:
            listener.close_idle(before)

    def _directory_failed(self, directory: ReplicaDirectory, error: OSError) -> None:
        if directory.files is self._directories[0] or all(one.offline is not None for one in self._directories):
            log.critical("the broker stops: %s held what it cannot go on without (%s)", directory.files.path, error)
            self.failed.set()
            return
        online = [one.id for one in self.replicas.directories if one.files.offline is None]
        self._later(
            self.metadata.change(lambda image: (controller.on_directories_lost(image, self.node_id, online), None))
        )

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        """Run what nobody waits for; the reference keeps it from being collected half way."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Stop.

    async def stop(self) -> bool:
        """Finish what is in flight, flush, mark the directories clean. False when a disk did not let it."""
        self._stopping = True
        for listener in self.listeners:
            listener.stop_accepting()
        self.cleaner.stop()
        await self.timers.stop()
        await self._drain()
        await self.http.stop()
        await self.transactions.stop()
        await self.groups.stop()
        for listener in self.listeners:
            listener.close_all()
        await self.replicas.close(clean=not self.failed.is_set(), broker_epoch=self.image.brokers[self.node_id].epoch)
        for listener in self.listeners:
            listener.abort_all()
        with contextlib.suppress(OSError):  # it has taken the directory offline, and been logged with that
            await self.metadata.close()
        self._release()
        clean = all(directory.files.offline is None for directory in self.replicas.directories)
        log.info("broker %d stopped%s", self.node_id, "" if clean else ", not cleanly")
        return clean

    async def _drain(self) -> None:
        """Answer the long polls now and wait for requests that are being worked on."""
        self.dispatcher.draining = True
        begin = self.loop.time()
        while (waited := self.loop.time() - begin) < DRAIN_SECONDS:
            # Each time: a request that was taken just before may begin to wait only now.
            for reading in tuple(self.long_polls):
                reading.stop_waiting()
            self.groups.stop_waiting()
            connections = [one for listener in self.listeners for one in listener.connections]
            if not any(waited < SLOW_READER_SECONDS if one.unsent else not one.idle for one in connections):
                return
            await asyncio.sleep(0.005)

    async def _give_up(self) -> None:
        for listener in self.listeners:
            listener.stop_accepting()
            listener.abort_all()
        if hasattr(self, "cleaner"):
            self.cleaner.stop()
        await self.timers.stop()
        await self.http.stop()
        if hasattr(self, "transactions"):
            await self.transactions.stop()
        if hasattr(self, "groups"):
            await self.groups.stop()
        if hasattr(self, "replicas"):
            self.replicas.give_up()
            epoch = self.image.brokers[self.node_id].epoch
            await self.replicas.close(clean=self._logs_open, broker_epoch=epoch)
        if hasattr(self, "metadata"):
            await self.metadata.close()
        self._release()

    def _release(self) -> None:
        self._readers.shutdown(wait=True)
        for directory in self._directories:
            directory.unlock()
        self._directories = []
