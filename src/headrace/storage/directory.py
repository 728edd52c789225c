"""One log directory: an entry of `log.dirs`, with the logs in it.

    .lock                               who uses the directory
    meta.properties                     cluster id, node id, the directory's own id
    .kafka_cleanshutdown                there only between a clean shutdown and the next start
    recovery-point-offset-checkpoint    up to where each log is known to be on disk
    log-start-offset-checkpoint         where DeleteRecords has moved a log's start to
    replication-offset-checkpoint       high watermarks
    <topic>-<partition>/                a log
    <topic>-<partition>.<id>-delete/    a deleted log, removed later; -stray: one that belongs to no known topic

All of it in Kafka's formats. Owns the list of open logs, the pool of open files and the lock. Blocking; called from one
thread at a time. `offline` is set by whoever meets a disk error and is never taken back.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from headrace.clock import Clock
from headrace.fs import Fs
from headrace.storage import checkpoint, files
from headrace.storage.checkpoint import TopicPartition
from headrace.storage.config import LogConfig
from headrace.storage.descriptors import DEFAULT_LIMIT, Folder, OpenFiles
from headrace.storage.log import Defer, Log, run_now
from headrace.storage.recovery import open_log
from headrace.wire import uuids

logger = logging.getLogger("headrace.storage")

LOCK = ".lock"
METADATA_TOPIC = "__cluster_metadata"
SYNC_TOGETHER_ABOVE = 64
_LOG_NAME = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d+)")
_MAX_NAME = 255


class DirectoryError(Exception):
    """The directory cannot be used as it is; the message says why and what to do."""


class FoundLog(NamedTuple):
    """A log in the directory that is not open."""

    topic: str
    partition: int
    path: Path
    topic_id: bytes | None


class LogDirectory:
    def __init__(self, path: Path, fs: Fs, clock: Clock, max_open_files: int = DEFAULT_LIMIT) -> None:
        self.path = path
        self.fs = fs
        self.clock = clock
        self.files = OpenFiles(fs, max_open_files)
        self.offline: OSError | None = None
        self.cluster_id: str | None = None
        self.node_id = -1
        self.directory_id: str | None = None
        self.logs: dict[TopicPartition, Log] = {}
        # The broker epoch of the clean shutdown before this start, if there was one.
        self.last_broker_epoch: int | None = None
        self._clean: bool | None = None
        self._recovery_points: dict[TopicPartition, int] = {}
        self._log_starts: dict[TopicPartition, int] = {}
        self._doomed: list[tuple[int, str]] = []
        self._lock_fd = -1

    # Taking possession.

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        node_id: int,
        fs: Fs | None = None,
        clock: Clock | None = None,
        max_open_files: int = DEFAULT_LIMIT,
    ) -> LogDirectory:
        """Locks the directory, made if need be, and reads whose it is. DirectoryError: somebody else's, or in use."""
        directory = cls(Path(path), fs or Fs(), clock or Clock(), max_open_files)
        try:
            directory.fs.makedirs(str(directory.path))
            directory._lock()
        except OSError as error:
            raise DirectoryError(
                f"cannot use {path} as a log directory: {error.strerror or error}. "
                "Give one in log.dirs that this user may write to."
            ) from error
        try:
            directory._read_meta_properties(node_id)
        except BaseException:
            directory.unlock()
            raise
        return directory

    def format(self, cluster_id: str) -> None:
        """Writes meta.properties into a new directory; a directory that has one keeps it."""
        if self.cluster_id is not None:
            return
        self.cluster_id = cluster_id
        self.directory_id = self.directory_id or uuids.to_text(uuids.random_uuid())
        checkpoint.write_properties(
            self.fs,
            self._file(checkpoint.META_PROPERTIES),
            {
                "version": "1",
                "cluster.id": cluster_id,
                "node.id": str(self.node_id),
                "directory.id": self.directory_id,
            },
        )

    def unlock(self) -> None:
        if self._lock_fd >= 0:
            fd, self._lock_fd = self._lock_fd, -1
            self.fs.close(fd)

    def _lock(self) -> None:
        fd = self.fs.open(self._file(LOCK), os.O_RDWR | os.O_CREAT)
        try:
            self.fs.lock(fd)
        except BlockingIOError as error:
            holder = self.fs.pread(fd, 200, 0).decode(errors="replace").strip() or "another program"
            self.fs.close(fd)
            raise DirectoryError(
                f"{self.path} is in use by {holder}. Stop it, or give this broker another directory in log.dirs."
            ) from error
        except OSError:
            self.fs.close(fd)
            raise
        self._lock_fd = fd
        self.fs.truncate(fd, 0)
        self.fs.write_all(fd, f"pid {os.getpid()} on {socket.gethostname()}\n".encode(), 0)

    def _read_meta_properties(self, node_id: int) -> None:
        self.node_id = node_id
        path = self._file(checkpoint.META_PROPERTIES)
        try:
            properties = checkpoint.read_properties(self.fs, path)
        except checkpoint.CorruptCheckpoint as error:
            raise DirectoryError(str(error)) from error
        if properties is None:
            return
        if properties.get("version") != "1" or "cluster.id" not in properties:
            raise DirectoryError(f"{path} is not of version 1: the directory was made by something too old or too new")
        owner = properties.get("node.id")
        if owner != str(node_id):
            raise DirectoryError(
                f"{self.path} belongs to node {owner}, this is node {node_id}. Set node.id={owner} or use another directory."
            )
        self.cluster_id = properties["cluster.id"]
        self.directory_id = properties.get("directory.id")
        if self.directory_id is None:
            self.directory_id = uuids.to_text(uuids.random_uuid())
            checkpoint.write_properties(self.fs, path, {**properties, "directory.id": self.directory_id})

    def _file(self, name: str) -> str:
        return f"{self.path}/{name}"

    # Logs.

    def list_logs(self) -> list[FoundLog]:
        """The logs that are there, without the metadata log. Removes what is left of deleted ones."""
        found: list[FoundLog] = []
        for name in sorted(self.fs.listdir(str(self.path))):
            if name.endswith("-delete"):
                self._remove_folder(self._file(name))
                continue
            match = _LOG_NAME.fullmatch(name)
            if match is not None and match["topic"] != METADATA_TOPIC:
                found.append(self._found(match["topic"], int(match["partition"])))
        return found

    def find_log(self, topic: str, partition: int) -> FoundLog | None:
        found = self._found(topic, partition)
        return found if self.fs.exists(str(found.path)) else None

    def _found(self, topic: str, partition: int) -> FoundLog:
        path = f"{self.path}/{topic}-{partition}"
        try:
            topic_id = checkpoint.read_topic_id(self.fs, f"{path}/{files.PARTITION_METADATA}")
        except checkpoint.CorruptCheckpoint as error:
            logger.warning("%s", error)
            topic_id = None
        return FoundLog(topic, partition, Path(path), topic_id)

    def open_log(self, found: FoundLog, config: LogConfig, *, defer: Defer = run_now) -> Log:
        """Opens a log that is there, after recovery if the last shutdown was not clean."""
        clean = self._begin()
        key = found.topic, found.partition
        opened = open_log(
            Folder(str(found.path), self.files),
            found.topic,
            found.partition,
            config,
            clean=clean,
            recovery_point=self._recovery_points.get(key, 0),
            log_start_offset=self._log_starts.get(key, 0),
            topic_id=found.topic_id,
            defer=defer,
            now_ms=self.clock.now_ms(),
            clock=self.clock,
        )
        self.logs[key] = opened
        return opened

    def create_log(
        self, topic: str, partition: int, topic_id: bytes, config: LogConfig, *, defer: Defer = run_now
    ) -> Log:
        """A new, empty log; opens it if it is there already."""
        self._begin()
        path = self._make_folder(topic, partition, topic_id)
        opened = open_log(
            Folder(path, self.files),
            topic,
            partition,
            config,
            topic_id=topic_id,
            defer=defer,
            now_ms=self.clock.now_ms(),
            clock=self.clock,
        )
        self.logs[topic, partition] = opened
        return opened

    def open_private_log(
        self, topic: str, partition: int, topic_id: bytes, config: LogConfig, *, log_start_offset: int = 0
    ) -> Log:
        """A log that its owner flushes and closes by itself, such as the metadata log: not in any checkpoint, and
        always opened as after a crash."""
        return open_log(
            Folder(self._make_folder(topic, partition, topic_id), self.files),
            topic,
            partition,
            config,
            log_start_offset=log_start_offset,
            topic_id=topic_id,
            now_ms=self.clock.now_ms(),
            clock=self.clock,
        )

    def _make_folder(self, topic: str, partition: int, topic_id: bytes) -> str:
        path = f"{self.path}/{topic}-{partition}"
        if not self.fs.exists(path):
            self.fs.mkdir(path)
        metadata = f"{path}/{files.PARTITION_METADATA}"
        if not self.fs.exists(metadata):
            # Not synced: until the log is flushed there is nothing in it that the id would be missed for.
            self.fs.write_file(metadata, checkpoint.encode_partition_metadata(topic_id), sync=False)
        return path

    def delete_log(self, log: Log) -> None:
        """Closes a log and renames its folder; the files go after file.delete.delay.ms."""
        self.logs.pop((log.topic, log.partition), None)
        with log.io:
            log.drop()
            doomed = self._rename_folder(log.topic, log.partition, log.folder.path, "-delete")
            log.folder.path = doomed
        self._doomed.append((self.clock.now_ms() + log.config.file_delete_delay_ms, doomed))

    def set_aside(self, found: FoundLog) -> None:
        """Renames a log that belongs to no topic, so that nobody opens it and a person can look at it."""
        self._rename_folder(found.topic, found.partition, str(found.path), "-stray")

    def _rename_folder(self, topic: str, partition: int, path: str, suffix: str) -> str:
        tail = f"-{partition}.{uuid.uuid4().hex}{suffix}"
        renamed = self._file(topic[: _MAX_NAME - len(tail)] + tail)
        self.fs.rename(path, renamed)
        self.fs.fsync_dir(str(self.path))
        return renamed

    def delete_expired(self, now_ms: int) -> int:
        """Removes folders of deleted logs whose time has come; how many."""
        due = [path for when, path in self._doomed if when <= now_ms]
        self._doomed = [entry for entry in self._doomed if entry[0] > now_ms]
        for path in due:
            self._remove_folder(path)
        return len(due)

    def _remove_folder(self, path: str) -> None:
        try:
            for name in self.fs.listdir(path):
                self.fs.unlink(f"{path}/{name}")
            self.fs.rmdir(path)
        except FileNotFoundError:
            return

    # Checkpoints and the end.

    def _begin(self) -> bool:
        """Reads the checkpoints, once, before the first log is opened. Whether the last shutdown was clean: from here on
        this one is not, until it ends well."""
        if self._clean is None:
            marker = self._file(checkpoint.CLEAN_SHUTDOWN)
            try:
                self.last_broker_epoch = checkpoint.read_broker_epoch(self.fs.read_file(marker))
                self._clean = True
            except FileNotFoundError:
                self._clean = False
            self._recovery_points = self._read_offsets(checkpoint.RECOVERY_POINTS)
            self._log_starts = self._read_offsets(checkpoint.LOG_START_OFFSETS)
            if self._clean:
                self.fs.unlink(marker)
                self.fs.fsync_dir(str(self.path))
        return self._clean

    def _read_offsets(self, name: str) -> dict[TopicPartition, int]:
        """A damaged checkpoint costs time, not data: everything is recovered from the start."""
        try:
            return checkpoint.read_offsets(self.fs, self._file(name))
        except checkpoint.CorruptCheckpoint as error:
            logger.warning("%s; going on without it", error)
            return {}

    def write_checkpoints(self) -> None:
        """Recovery points, log starts and high watermarks of all open logs; removes deleted logs on the way."""
        self.delete_expired(self.clock.now_ms())
        self._write_checkpoints(list(self.logs.items()))

    def _write_checkpoints(self, logs: Iterable[tuple[TopicPartition, Log]]) -> None:
        recovery_points: dict[TopicPartition, int] = {}
        log_starts: dict[TopicPartition, int] = {}
        ends: dict[TopicPartition, int] = {}
        for key, log in logs:
            recovery_points[key] = log.recovery_point
            ends[key] = log.log_end_offset
            if log.log_start_offset > log.segments[0].base_offset:
                log_starts[key] = log.log_start_offset
        checkpoint.write_offsets(self.fs, self._file(checkpoint.RECOVERY_POINTS), recovery_points)
        checkpoint.write_offsets(self.fs, self._file(checkpoint.LOG_START_OFFSETS), log_starts)
        checkpoint.write_offsets(self.fs, self._file(checkpoint.HIGH_WATERMARKS), ends)

    def close(self, *, clean: bool = True, broker_epoch: int = -1) -> None:
        """Closes all logs. Clean: everything is on disk, and the next start may believe the checkpoints."""
        logs, self.logs = self.logs, {}
        if not clean or self.offline is not None:
            for log in logs.values():
                log.drop()
            return
        # One sync of the file system instead of four for every log: ten thousand logs close in a second. For a few it
        # would be slower, as it also waits for what other programs have written.
        dirty = {key for key, log in logs.items() if log.log_end_offset > log.recovery_point}
        together = len(dirty) > SYNC_TOGETHER_ABOVE
        try:
            for key, log in logs.items():
                log.close(sync=key in dirty and not together)
            if together and not self.fs.sync_file_system(str(self.path)):
                for log in logs.values():
                    self._sync_folder(log.folder.path)
        except OSError as error:
            # Without the marker the next start recovers what is there.
            self.offline = error
            for log in logs.values():
                log.drop()
            raise
        self._write_checkpoints(logs.items())
        self.fs.write_file(self._file(checkpoint.CLEAN_SHUTDOWN), checkpoint.encode_clean_shutdown(broker_epoch))

    def _sync_folder(self, path: str) -> None:
        for name in self.fs.listdir(path):
            fd = self.fs.open(f"{path}/{name}", os.O_RDONLY)
            try:
                self.fs.fsync(fd)
            finally:
                self.fs.close(fd)
        self.fs.fsync_dir(path)
