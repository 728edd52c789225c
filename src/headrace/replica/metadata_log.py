"""The metadata log, `__cluster_metadata-0`: the one place where cluster metadata is stored, in Kafka's format.

A single node is leader of its own quorum: each start is a new epoch, which begins with a LeaderChange record. A new directory is
formatted as `kafka-storage format --standalone` does it: a snapshot at offset 0 with kraft.version and voters, `bootstrap.checkpoint`,
then the bootstrap records in the log. Everything blocks and is called from one thread at a time; `image` is replaced whole, for others
to read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from headrace.clock import Clock
from headrace.fs import Fs
from headrace.replica.features import KRAFT_VERSION, METADATA_VERSION, NEW_CLUSTER, UnknownMetadata
from headrace.replica.image import BROKER_RESOURCE, ClusterImage
from headrace.replica.quorum_state import FILE_NAME as QUORUM_STATE
from headrace.replica.quorum_state import QuorumState, read_quorum_state, write_quorum_state
from headrace.replica.snapshot import (
    SUFFIX,
    SnapshotId,
    control_batch,
    control_records,
    decode_metadata,
    image_records,
    list_snapshots,
    read_snapshot,
    record_batches,
    record_version,
    write_snapshot,
)
from headrace.replica.topic_names import CLUSTER_METADATA
from headrace.settings import BrokerSettings
from headrace.settings.definition import to_text as setting_text
from headrace.storage.config import MAX_LONG, LogConfig
from headrace.storage.directory import LogDirectory
from headrace.storage.log import Log
from headrace.wire.batch import decode_records, iter_batches
from headrace.wire.records.control import (
    ControlType,
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    Voter,
    VotersRecord,
    decode_control,
)
from headrace.wire.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    encode_record,
)
from headrace.wire.schema import Message
from headrace.wire.uuids import from_text

log = logging.getLogger("headrace.metadata")

TOPIC_ID = bytes(15) + b"\x01"
BOOTSTRAP = "bootstrap.checkpoint"
MAX_BATCH_BYTES = 8 * 1024 * 1024
READ_BYTES = 4 * 1024 * 1024
KRAFT_RANGE = KRaftVersionFeature(min_supported_version=0, max_supported_version=1)


class MetadataLog:
    """The log, its snapshots, and the image that both together give."""

    def __init__(self, directory: LogDirectory, settings: BrokerSettings, fs: Fs, clock: Clock) -> None:
        self.folder = Path(directory.path) / f"{CLUSTER_METADATA}-0"
        self.image = ClusterImage(cluster_id=directory.cluster_id or "", controller_id=settings.node_id)
        self._directory = directory
        self._settings = settings
        self._fs = fs
        self._clock = clock
        self._log: Log
        self._last_timestamp = -1
        self._snapshot_id = SnapshotId(0, 0)
        self._snapshot_ms = clock.now_ms()
        self._bytes_since_snapshot = 0

    @classmethod
    def open(
        cls, directory: LogDirectory, *, settings: BrokerSettings, fs: Fs | None = None, clock: Clock | None = None
    ) -> MetadataLog:
        """Open or format, replay, and begin a new epoch. UnknownMetadata says what cannot be applied."""
        opened = cls(directory, settings, fs or directory.fs, clock or directory.clock)
        opened._start()
        return opened

    # Start.

    def _start(self) -> None:
        if self._is_new():
            self._format()
        snapshots = list_snapshots(self._fs, self.folder)
        start_offset = self._load_snapshot(snapshots[-1]) if snapshots else 0
        self._log = self._directory.open_private_log(
            CLUSTER_METADATA,
            0,
            TOPIC_ID,
            self._log_config(),
            log_start_offset=snapshots[0].end_offset if snapshots else 0,
        )
        self._check_continuous(start_offset)
        self._replay(start_offset)
        self._begin_epoch()
        if self.image.held_back is not None:
            self.append([AbortTransactionRecord(reason="the node stopped within it")])
        if METADATA_VERSION not in self.image.features:
            self.append(self._bootstrap_records())
        self._apply_broker_configs()

    def _is_new(self) -> bool:
        """Whether nothing was ever written here; formatting that a crash cut short is done again."""
        if not self._fs.exists(str(self.folder)):
            return True
        names = self._fs.listdir(str(self.folder))
        return not any(name.endswith((".log", SUFFIX)) or name == QUORUM_STATE for name in names)

    def _log_config(self) -> LogConfig:
        return LogConfig(
            segment_bytes=self._settings["metadata.log.segment.bytes"],
            segment_ms=self._settings["metadata.log.segment.ms"],
            max_message_bytes=MAX_BATCH_BYTES * 2,
            retention_ms=-1,
            retention_bytes=-1,
            flush_messages=MAX_LONG,
            flush_ms=MAX_LONG,
        )

    def _format(self) -> None:
        """Lay out a new directory: this node the only voter, nothing else known yet."""
        self._fs.makedirs(str(self.folder))
        listener = self._settings.controller_listener
        directory_id = from_text(self._directory.directory_id or "")
        voter = Voter(
            voter_id=self._settings.node_id,
            voter_directory_id=directory_id,
            endpoints=[Endpoint(name=listener.name, host=listener.host or "localhost", port=listener.port)],
            kraft_version_feature=KRAFT_RANGE,
        )
        now_ms = self._clock.now_ms()
        features = [FeatureLevelRecord(name=name, feature_level=level) for name, level in NEW_CLUSTER.items()]
        write_snapshot(
            self._fs,
            Path(self._directory.path),
            BOOTSTRAP,
            ClusterImage(),
            features,
            epoch=0,
            last_timestamp=0,
            now_ms=now_ms,
        )
        first = replace(self.image, features={KRAFT_VERSION: 1}, voters=(voter,))
        write_snapshot(
            self._fs, self.folder, SnapshotId(0, 0).file_name, first, [], epoch=0, last_timestamp=now_ms, now_ms=now_ms
        )

    def _load_snapshot(self, snapshot_id: SnapshotId) -> int:
        """The newest snapshot becomes the image; returns the offset from which the log goes on."""
        snapshot = read_snapshot(self._fs, self.folder / snapshot_id.file_name)
        end_offset, epoch = self._snapshot_id = snapshot_id
        self._last_timestamp = snapshot.last_timestamp
        image = self.image.apply(snapshot.records, offset=end_offset - 1, epoch=epoch)
        self.image = self._with_raft_state(image, snapshot.kraft_version, snapshot.voters)
        return end_offset

    def _check_continuous(self, start_offset: int) -> None:
        first, end = self._log.log_start_offset, self._log.log_end_offset
        if not first <= start_offset <= end:
            raise UnknownMetadata(
                f"{self.folder} has a snapshot up to offset {start_offset} and a log from {first} to {end}: a part is missing"
            )

    def _replay(self, offset: int) -> None:
        while offset < self._log.log_end_offset:
            data = memoryview(bytes(self._log.read(offset, READ_BYTES).data))
            for position, header in iter_batches(data):
                if header.last_offset < offset:
                    continue
                records = decode_records(data, position)
                if header.is_control:
                    self._replay_control([(one.key, one.value) for one in records])
                    messages: Iterator[Message] = iter(())
                else:
                    where = f"{self.folder.name} at offset {header.base_offset}"
                    messages = (decode_metadata(one.value, where) for one in records if one.offset >= offset)
                epoch = max(self.image.epoch, header.partition_leader_epoch)
                self.image = self.image.apply(messages, offset=header.last_offset, epoch=epoch)
                offset = header.last_offset + 1
                self._last_timestamp = max(self._last_timestamp, header.max_timestamp)
                self._bytes_since_snapshot += header.size

    def _replay_control(self, records: Sequence[tuple[bytes | None, bytes | None]]) -> None:
        for key, value in records:
            match decode_control(key or b"", value or b""):
                case (_, KRaftVersionRecord() as version):
                    self.image = self._with_raft_state(self.image, version.kraft_version, self.image.voters)
                case (_, VotersRecord() as found):
                    kraft_version = self.image.features.get(KRAFT_VERSION, 0)
                    self.image = self._with_raft_state(self.image, kraft_version, tuple(found.voters))

    def _with_raft_state(self, image: ClusterImage, kraft_version: int, voters: tuple[Voter, ...]) -> ClusterImage:
        low, high = KRAFT_RANGE.min_supported_version, KRAFT_RANGE.max_supported_version
        if not low <= kraft_version <= high:
            raise UnknownMetadata(f"the quorum uses kraft.version {kraft_version}; this version knows {low} to {high}")
        others = [voter.voter_id for voter in voters if voter.voter_id != self._settings.node_id]
        if others:
            raise UnknownMetadata(
                f"{self.folder} belongs to a quorum with the other voters {others}; Headrace runs one node so far"
            )
        features = {name: level for name, level in image.features.items() if name != KRAFT_VERSION}
        if kraft_version:
            features[KRAFT_VERSION] = kraft_version
        return replace(image, features=features, voters=voters, derived={})

    def _begin_epoch(self) -> None:
        """Become leader of a new epoch: on disk first, then as its first record. An empty log gets the raft state too."""
        known = read_quorum_state(self._fs, self.folder).leader_epoch
        epoch = max(known, self.image.epoch) + 1
        node_id = self._settings.node_id
        write_quorum_state(self._fs, self.folder, QuorumState(node_id, epoch))
        # With kraft.version 0 the voters stand in each node's settings, not in the log; a single node is its own.
        ids = [voter.voter_id for voter in self.image.voters] or [node_id]
        voters = [LeaderChangeVoter(voter_id=voter_id) for voter_id in ids]
        change = LeaderChangeMessage(leader_id=node_id, voters=voters, granting_voters=voters)
        empty = self._log.log_end_offset == 0 and self._snapshot_id.end_offset == 0
        records: list[tuple[ControlType, Message]] = [(ControlType.LEADER_CHANGE, change)]
        if empty:
            records += control_records(self.image.features.get(KRAFT_VERSION, 0), self.image.voters)
        now_ms = self._clock.now_ms()
        end = self._log.log_end_offset
        self._append_batches([control_batch(records, base_offset=end, epoch=epoch, now_ms=now_ms)], epoch, now_ms)
        self.image = replace(self.image, epoch=epoch, offset=self._log.log_end_offset - 1, derived={})

    def _bootstrap_records(self) -> list[Message]:
        """What Kafka's first controller writes: the levels that the directory was formatted with.

        With eligible leader replicas, min.insync.replicas must be set for all brokers.
        """
        value = setting_text(self._settings["min.insync.replicas"])
        formatted = Path(self._directory.path) / BOOTSTRAP
        features = read_snapshot(self._fs, formatted).records if self._fs.exists(str(formatted)) else new_features()
        return [
            BeginTransactionRecord(name="Bootstrap records"),
            *features,
            ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="", name="min.insync.replicas", value=value),
            EndTransactionRecord(),
        ]

    # While it runs.

    def append(self, records: Sequence[Message]) -> ClusterImage:
        """Append records, make them durable, and return the image with them. Either all of them count or none."""
        after = self.image.apply(records)  # what cannot be applied must not be written
        values = [encode_record(record, record_version(record, after)) for record in records]
        if sum(map(len, values)) > MAX_BATCH_BYTES and after.held_back is None:
            # More than one batch: a crash in between must not leave a part, so they make a metadata transaction.
            values = [
                encode_record(BeginTransactionRecord(name="Large change")),
                *values,
                encode_record(EndTransactionRecord()),
            ]
        now_ms = self._clock.now_ms()
        batches = record_batches(
            values, base_offset=self._log.log_end_offset, epoch=self.image.epoch, now_ms=now_ms, limit=MAX_BATCH_BYTES
        )
        self._append_batches(batches, self.image.epoch, now_ms)
        self.image = replace(after, offset=self._log.log_end_offset - 1, derived={})
        if any(isinstance(record, ConfigRecord) and record.resource_type == BROKER_RESOURCE for record in records):
            self._apply_broker_configs()
        return self.image

    def _append_batches(self, batches: Sequence[bytearray], epoch: int, now_ms: int) -> None:
        for batch in batches:
            self._log.append(memoryview(batch), leader_epoch=epoch, now_ms=now_ms, origin="coordinator")
            self._bytes_since_snapshot += len(batch)
        self._log.flush(now_ms)
        self._last_timestamp = now_ms

    def _apply_broker_configs(self) -> None:
        """Settings follow the dynamic configs of the image, from the start on."""
        default = self.image.config(BROKER_RESOURCE, "")
        own = self.image.config(BROKER_RESOURCE, str(self._settings.node_id))
        changed = self._settings.apply_dynamic(default, own)
        if changed:
            log.info("settings changed: %s", ", ".join(f"{name}={self._settings[name]}" for name in sorted(changed)))

    # Snapshots.

    def maybe_snapshot(self) -> bool:
        """Write a snapshot if enough bytes or enough time went by since the last one."""
        if self.image.offset + 1 == self._snapshot_id.end_offset or self.image.held_back is not None:
            return False
        interval_ms = self._settings["metadata.log.max.snapshot.interval.ms"]
        by_time = 0 < interval_ms <= self._clock.now_ms() - self._snapshot_ms
        by_size = self._bytes_since_snapshot >= self._settings["metadata.log.max.record.bytes.between.snapshots"]
        if not (by_time or by_size):
            return False
        self.snapshot()
        return True

    def snapshot(self) -> SnapshotId:
        """Write a snapshot of the image as it is, and give up what is older than metadata.max.retention says."""
        image, now_ms = self.image, self._clock.now_ms()
        snapshot_id = SnapshotId(image.offset + 1, image.epoch)
        write_snapshot(
            self._fs,
            self.folder,
            snapshot_id.file_name,
            image,
            list(image_records(image)),
            epoch=image.epoch,
            last_timestamp=self._last_timestamp,
            now_ms=now_ms,
        )
        self._snapshot_id, self._snapshot_ms, self._bytes_since_snapshot = snapshot_id, now_ms, 0
        self._clean_up(now_ms)
        return snapshot_id

    def _clean_up(self, now_ms: int) -> None:
        """Drop snapshots that are too old or too much, never the newest, and the segments that only they needed."""
        snapshots = list_snapshots(self._fs, self.folder)
        size = self._log.size + sum(self._size(one) for one in snapshots)
        max_bytes, max_ms = self._settings["metadata.max.retention.bytes"], self._settings["metadata.max.retention.ms"]
        for oldest, following in pairwise(snapshots):
            path = self.folder / oldest.file_name
            too_old = 0 <= max_ms < now_ms - read_snapshot(self._fs, path).last_timestamp
            if not (too_old or 0 <= max_bytes < size):
                return
            size -= self._size(oldest)
            self._fs.unlink(str(path))
            self._log.advance_log_start(following.end_offset)
            self._log.apply_retention(now_ms)
            self._log.delete_expired_files(now_ms)

    def _size(self, snapshot_id: SnapshotId) -> int:
        return self._fs.stat(str(self.folder / snapshot_id.file_name)).st_size

    def close(self) -> None:
        """Leave everything on disk, which it is after every append, and close the files."""
        self._log.close()


def new_features() -> list[Message]:
    return [FeatureLevelRecord(name=name, feature_level=level) for name, level in NEW_CLUSTER.items()]
