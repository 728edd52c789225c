"""Snapshots of the metadata log: one file that holds the image as records, in Kafka's format.

    <end offset, 20 digits>-<epoch, 10 digits>.checkpoint

    control batch   SnapshotHeader, and with kraft.version 1 KRaftVersion and Voters
    batches         the records of the image: features, brokers, controllers, topics, configs, quotas, producer ids, ACLs, ...
    control batch   SnapshotFooter

Batches are numbered from 0 within the file. It is written under a `.part` name and renamed, so a file with the final name is whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from headrace.fs import Fs
from headrace.replica.features import (
    DIRECTORY_ASSIGNMENT,
    ELIGIBLE_LEADER_REPLICAS,
    KRAFT_VERSION,
    METADATA_VERSION,
    UnknownMetadata,
)
from headrace.replica.image import BrokerImage, ClusterImage, TopicImage
from headrace.wire.batch import Record, check_crc, decode_records, encode_batch, iter_batches
from headrace.wire.errors import WireError
from headrace.wire.records.control import (
    ControlType,
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VotersRecord,
    decode_control,
    encode_control,
)
from headrace.wire.records.metadata import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    TopicRecord,
    UnknownRecord,
    decode_record,
    encode_record,
)
from headrace.wire.schema import Message

SUFFIX = ".checkpoint"
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_MAX_BATCH_BYTES = 1024 * 1024

# Levels of metadata.version at which records grew.
_CORDONED_DIRECTORIES = 30
_ZK_MIGRATION = 8


class SnapshotId(NamedTuple):
    end_offset: int  # the first offset that is not in it
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}{SUFFIX}"


class Snapshot(NamedTuple):
    records: list[Message]
    kraft_version: int
    voters: tuple[Voter, ...]
    last_timestamp: int


def list_snapshots(fs: Fs, folder: Path) -> list[SnapshotId]:
    """The whole snapshots in a folder, oldest first."""
    matches = (_NAME.fullmatch(name) for name in fs.listdir(str(folder)))
    return sorted(SnapshotId(int(match[1]), int(match[2])) for match in matches if match is not None)


def record_version(record: Message, image: ClusterImage) -> int:
    """The version a record is written in at the cluster's metadata.version, so that every node that may join reads it."""
    level = image.features.get(METADATA_VERSION, 0)
    if isinstance(record, PartitionRecord | PartitionChangeRecord):
        if image.features.get(ELIGIBLE_LEADER_REPLICAS, 0):
            return 2
        return 1 if level >= DIRECTORY_ASSIGNMENT else 0
    if isinstance(record, BrokerRegistrationChangeRecord):
        if level >= _CORDONED_DIRECTORIES:
            return 3
        return 2 if level >= DIRECTORY_ASSIGNMENT else 1
    if isinstance(record, RegisterBrokerRecord):
        if level >= _CORDONED_DIRECTORIES:
            return 4
        if level >= DIRECTORY_ASSIGNMENT:
            return 3
        return 2 if level >= _ZK_MIGRATION else 1
    return record.MAX_VERSION


def image_records(image: ClusterImage) -> Iterator[Message]:
    """Records which, replayed into an empty image, give this one."""
    levels = {name: level for name, level in image.features.items() if name != KRAFT_VERSION}
    for name in sorted(levels, key=lambda name: (name != METADATA_VERSION, name)):
        yield FeatureLevelRecord(name=name, feature_level=levels[name])
    for broker in image.brokers.values():
        yield broker_record(broker)
    yield from image.carried.controllers.values()
    for topic in image.topics_by_id.values():
        yield from topic_records(topic)
    for (resource_type, resource_name), values in image.configs.items():
        for name, value in values.items():
            yield ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value)
    yield from image.carried.client_quotas.values()
    if image.producer_ids.next_producer_id > 0:
        broker_id, epoch, next_id = image.producer_ids
        yield ProducerIdsRecord(broker_id=broker_id, broker_epoch=epoch, next_producer_id=next_id)
    yield from image.carried.acls.values()
    yield from image.carried.scram_credentials.values()
    yield from image.carried.delegation_tokens.values()


def broker_record(broker: BrokerImage) -> RegisterBrokerRecord:
    cordoned = broker.cordoned_log_dirs
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=list(broker.end_points),
        features=list(broker.features),
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.log_dirs),
        cordoned_log_dirs=None if cordoned is None else list(cordoned),
    )


def topic_records(topic: TopicImage) -> Iterator[Message]:
    yield TopicRecord(name=topic.name, topic_id=topic.id)
    for partition in topic.partitions:
        yield PartitionRecord(
            partition_id=partition.partition,
            topic_id=topic.id,
            replicas=list(partition.replicas),
            isr=list(partition.isr),
            removing_replicas=list(partition.removing_replicas),
            adding_replicas=list(partition.adding_replicas),
            leader=partition.leader,
            leader_recovery_state=partition.leader_recovery_state,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            directories=list(partition.directories),
            eligible_leader_replicas=list(partition.elr) or None,
            last_known_elr=list(partition.last_known_elr) or None,
        )


def control_records(kraft_version: int, voters: Sequence[Voter]) -> list[tuple[ControlType, Message]]:
    """The raft state that a snapshot and the first batch of a log carry."""
    if kraft_version == 0:
        return []
    return [
        (ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=kraft_version)),
        (ControlType.KRAFT_VOTERS, VotersRecord(voters=list(voters))),
    ]


def control_batch(
    records: Sequence[tuple[ControlType, Message]], *, base_offset: int, epoch: int, now_ms: int
) -> bytearray:
    encoded = [encode_control(kind, message, 0) for kind, message in records]
    return encode_batch(
        [Record(base_offset + i, now_ms, key, value, []) for i, (key, value) in enumerate(encoded)],
        base_offset=base_offset,
        leader_epoch=epoch,
        is_control=True,
    )


def record_batches(
    values: Sequence[bytes], *, base_offset: int, epoch: int, now_ms: int, limit: int
) -> list[bytearray]:
    """Data batches of at most about `limit` bytes each."""
    batches: list[bytearray] = []
    pending: list[Record] = []
    size = 0
    for offset, value in enumerate(values, base_offset):
        if pending and size + len(value) > limit:
            batches.append(encode_batch(pending, base_offset=pending[0].offset, leader_epoch=epoch))
            pending, size = [], 0
        pending.append(Record(offset, now_ms, None, value, []))
        size += len(value)
    if pending:
        batches.append(encode_batch(pending, base_offset=pending[0].offset, leader_epoch=epoch))
    return batches


def write_snapshot(
    fs: Fs,
    folder: Path,
    name: str,
    image: ClusterImage,
    records: Sequence[Message],
    *,
    epoch: int,
    last_timestamp: int,
    now_ms: int,
) -> int:
    """Write a snapshot file of `records`; returns its size. `image` gives record versions, kraft.version and voters."""
    header = SnapshotHeaderRecord(last_contained_log_timestamp=last_timestamp)
    first = [
        (ControlType.SNAPSHOT_HEADER, header),
        *control_records(image.features.get(KRAFT_VERSION, 0), image.voters),
    ]
    values = [encode_record(record, record_version(record, image)) for record in records]
    parts = [control_batch(first, base_offset=0, epoch=epoch, now_ms=now_ms)]
    parts += record_batches(values, base_offset=len(first), epoch=epoch, now_ms=now_ms, limit=_MAX_BATCH_BYTES)
    footer = [(ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord())]
    parts.append(control_batch(footer, base_offset=len(first) + len(values), epoch=epoch, now_ms=now_ms))
    data = b"".join(parts)
    part = str(folder / f"{name}.part")
    fs.write_file(part, data)
    fs.rename(part, str(folder / name))
    fs.fsync_dir(str(folder))
    return len(data)


def read_snapshot(fs: Fs, path: Path) -> Snapshot:
    """What a snapshot file holds; UnknownMetadata when it is damaged or holds what this version does not know."""
    try:
        return _read_snapshot(memoryview(fs.read_file(str(path))), path)
    except WireError as error:
        raise UnknownMetadata(f"{path} is damaged: {error}") from error


def _read_snapshot(data: memoryview, path: Path) -> Snapshot:
    records: list[Message] = []
    kraft_version, voters, last_timestamp, complete = 0, tuple[Voter, ...](), -1, False
    for position, header in iter_batches(data):
        if not check_crc(data, position):
            raise UnknownMetadata(f"{path} is damaged: the checksum of its batch at {position} is wrong")
        for record in decode_records(data, position):
            if not header.is_control:
                records.append(decode_metadata(record.value, str(path)))
                continue
            match decode_control(record.key or b"", record.value or b""):
                case (_, SnapshotHeaderRecord() as head):
                    last_timestamp = head.last_contained_log_timestamp
                case (_, KRaftVersionRecord() as version):
                    kraft_version = version.kraft_version
                case (_, VotersRecord() as found):
                    voters = tuple(found.voters)
                case (_, SnapshotFooterRecord()):
                    complete = True
    if not complete:
        raise UnknownMetadata(f"{path} ends before its footer")
    return Snapshot(records, kraft_version, voters, last_timestamp)


def decode_metadata(value: bytes | None, where: str) -> Message:
    """A metadata record, or UnknownMetadata that says which type or version stands where."""
    try:
        return decode_record(value or b"")[0]
    except UnknownRecord as error:
        raise UnknownMetadata(f"{where}: {error}. A newer version wrote it; start that one.") from error
    except WireError as error:
        raise UnknownMetadata(f"{where}: {error}") from error
