"""The .snapshot file: producer state at an offset, in Kafka's format.

    0  version  int16 (1)
    2  crc      uint32, CRC-32C of everything after it
    6  count    int32
   10  entries  producer id int64, epoch int16, last sequence int32, last offset int64, offset delta int32,
                timestamp int64, coordinator epoch int32, first offset of the open transaction int64 (-1: none)

Only the last batch of a producer is kept, so after a restart a duplicate is recognised if it is the newest one or comes
again in the part of the log that is replayed.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

import crc32c

from headrace.storage.producer_entry import BatchMetadata, ProducerEntry

_HEADER = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_END = 6
VERSION = 1


class CorruptSnapshot(Exception):
    """A snapshot that cannot be what was written; state is rebuilt from an older one and the log."""


def encode(producers: Mapping[int, ProducerEntry]) -> bytes:
    pack = _ENTRY.pack
    entries = [
        pack(
            producer_id,
            entry.epoch,
            entry.last_sequence,
            entry.last_offset,
            entry.batches[-1].offset_delta if entry.batches else 0,
            entry.last_timestamp,
            entry.coordinator_epoch,
            entry.txn_first_offset,
        )
        for producer_id, entry in producers.items()
    ]
    body = len(entries).to_bytes(4, "big") + b"".join(entries)
    return _HEADER.pack(VERSION, crc32c.crc32c(body), len(entries)) + body[4:]


def decode(data: bytes) -> dict[int, ProducerEntry]:
    if len(data) < _HEADER.size:
        raise CorruptSnapshot(f"{len(data)} bytes are too few")
    version, crc, count = _HEADER.unpack_from(data)
    if version != VERSION:
        raise CorruptSnapshot(f"unknown version {version}")
    if crc32c.crc32c(data[_CRC_END:]) != crc:
        raise CorruptSnapshot("the CRC does not match")
    if count < 0 or len(data) != _HEADER.size + count * _ENTRY.size:
        raise CorruptSnapshot(f"{count} entries do not fit {len(data)} bytes")
    producers: dict[int, ProducerEntry] = {}
    for fields in _ENTRY.iter_unpack(data[_HEADER.size :]):
        producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, txn_first_offset = fields
        batches = (BatchMetadata(sequence, offset, delta, timestamp),) if offset >= 0 else ()
        producers[producer_id] = ProducerEntry(epoch, batches, timestamp, coordinator_epoch, txn_first_offset)
    return producers
