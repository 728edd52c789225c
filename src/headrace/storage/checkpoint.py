"""Kafka's small text files: checkpoints, meta.properties, partition.metadata, the clean-shutdown marker.

A checkpoint is a version line, a count line and one entry a line. All of these are replaced whole, by rename, so a crash
leaves the old one or the new one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from headrace.fs import Fs
from headrace.wire import uuids

VERSION = 0
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

TopicPartition = tuple[str, int]


class CorruptCheckpoint(Exception):
    """A file that is not what its name says; the message has the path and the line."""


def encode_lines(lines: Iterable[str]) -> bytes:
    entries = list(lines)
    return "\n".join([str(VERSION), str(len(entries)), *entries, ""]).encode()


def decode_lines(data: bytes, path: str) -> list[list[str]]:
    """The entries, split into words."""
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint(f"{path} is not text") from error
    if len(lines) < 2 or lines[0].strip() != str(VERSION) or not lines[1].strip().isdigit():
        raise CorruptCheckpoint(f"{path} does not start with version {VERSION} and a count")
    entries = [line.split() for line in lines[2:]]
    if len(entries) != int(lines[1]):
        raise CorruptCheckpoint(f"{path} has {len(entries)} entries instead of {lines[1]}")
    return entries


def read_offsets(fs: Fs, path: str) -> dict[TopicPartition, int]:
    """An offset checkpoint; empty when there is none, or one that Kafka has made and not written yet."""
    try:
        data = fs.read_file(path)
    except FileNotFoundError:
        return {}
    if not data:
        return {}
    offsets: dict[TopicPartition, int] = {}
    for words in decode_lines(data, path):
        try:
            topic, partition, offset = words
            offsets[topic, int(partition)] = int(offset)
        except ValueError as error:
            raise CorruptCheckpoint(f"{path} has a malformed line: {' '.join(words)}") from error
    return offsets


def write_offsets(fs: Fs, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    lines = (f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())
    fs.write_file(path, encode_lines(lines))


def read_leader_epochs(fs: Fs, path: str) -> list[tuple[int, int]]:
    entries = []
    for words in decode_lines(fs.read_file(path), path):
        try:
            epoch, offset = map(int, words)
        except ValueError as error:
            raise CorruptCheckpoint(f"{path} has a malformed line: {' '.join(words)}") from error
        entries.append((epoch, offset))
    return entries


def read_properties(fs: Fs, path: str) -> dict[str, str] | None:
    """Java properties as Kafka writes them into meta.properties; None when there is no such file."""
    try:
        text = fs.read_file(path).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint(f"{path} is not text") from error
    properties: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith(("#", "!")):
            key, _, value = line.partition("=")
            properties[key.strip()] = value.strip()
    return properties


def write_properties(fs: Fs, path: str, properties: Mapping[str, str]) -> None:
    lines = [f"{key}={value}\n" for key, value in sorted(properties.items())]
    fs.write_file(path, "".join(["#\n", *lines]).encode())


def encode_partition_metadata(topic_id: bytes) -> bytes:
    return f"version: 0\ntopic_id: {uuids.to_text(topic_id)}".encode()


def read_topic_id(fs: Fs, path: str) -> bytes | None:
    """The topic's id from partition.metadata; None when there is no such file."""
    try:
        data = fs.read_file(path)
    except FileNotFoundError:
        return None
    try:
        version_line, id_line = data.decode().splitlines()[:2]
        if not version_line.startswith("version:") or not id_line.startswith("topic_id:"):
            raise ValueError(id_line)
        return uuids.from_text(id_line.partition(":")[2].strip())
    except ValueError as error:
        raise CorruptCheckpoint(f"{path} names no topic id") from error


def encode_clean_shutdown(broker_epoch: int) -> bytes:
    return json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()


def read_broker_epoch(data: bytes) -> int | None:
    """The broker epoch in a clean-shutdown marker. Its absence says nothing: the marker counts by being there."""
    try:
        content = json.loads(data)
        return int(content["brokerEpoch"])
    except (ValueError, KeyError, TypeError):
        return None
