"""CRC-64-AVRO, the fingerprint of Avro's parsing canonical form (Avro specification, "Schema Fingerprints")."""

from __future__ import annotations

_EMPTY = 0xC15D213AA4D7A795


def _row(index: int) -> int:
    for _ in range(8):
        index = (index >> 1) ^ (_EMPTY if index & 1 else 0)
    return index


_TABLE = tuple(map(_row, range(256)))


def rabin(data: bytes) -> int:
    """A signed number of 64 bits, as Java has it."""
    result = _EMPTY
    for byte in data:
        result = (result >> 8) ^ _TABLE[(result ^ byte) & 0xFF]
    return result - (1 << 64) if result >> 63 else result
