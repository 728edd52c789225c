"""Confluent's framing: a zero byte, the schema's id in four bytes, then the data; Protobuf has the place of its message in between."""

from __future__ import annotations

import struct

from headrace.serde.errors import NotFramed, Undecodable

MAGIC = 0
_HEAD = struct.Struct(">bI")
HEAD_LENGTH = _HEAD.size
MOST_INDEXES = 100


def frame(schema_id: int, payload: bytes) -> bytes:
    return _HEAD.pack(MAGIC, schema_id) + payload


def unframe(data: bytes) -> tuple[int, bytes]:
    """The schema's id and what follows it."""
    if len(data) < HEAD_LENGTH or data[0] != MAGIC:
        raise NotFramed("it does not begin with a zero byte and the id of a schema")
    _, schema_id = _HEAD.unpack_from(data)
    return schema_id, data[HEAD_LENGTH:]


def write_indexes(indexes: list[int]) -> bytes:
    """The place of a message in its file: the outermost's number, then those of messages within. The first of all is one zero."""
    if indexes == [0]:
        return b"\0"
    return b"".join(_zigzag(number) for number in (len(indexes), *indexes))


def read_indexes(payload: bytes) -> tuple[list[int], bytes]:
    count, at = _read_zigzag(payload, 0)
    if count == 0:
        return [0], payload[at:]
    if not 0 < count <= MOST_INDEXES:
        raise Undecodable(f"it claims that its message lies {count} deep")
    indexes = []
    for _ in range(count):
        number, at = _read_zigzag(payload, at)
        indexes.append(number)
    return indexes, payload[at:]


def _zigzag(number: int) -> bytes:
    rest, found = number << 1 if number >= 0 else (-number << 1) - 1, bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def _read_zigzag(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            raise Undecodable("it ends where the place of its message should be")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise Undecodable("the place of its message is no number of 32 bits")
