"""Which topics a member of a `consumer` group subscribed to, read from the metadata that it sent for its assignor.

Only the prefix that every version of the consumer protocol shares is read (version, topics), so that future versions work:

    int16 version | int32 count | count of (int16 length, UTF-8 bytes) | ...
"""

from __future__ import annotations

import struct

_PREFIX = struct.Struct(">hi")
_LENGTH = struct.Struct(">h")


def subscribed_topics(metadata: bytes) -> set[str] | None:
    """The topics, or None when the bytes are not of the consumer protocol."""
    try:
        version, count = _PREFIX.unpack_from(metadata, 0)
        position = _PREFIX.size
        topics = set()
        for _ in range(count if version >= 0 else 0):
            (length,) = _LENGTH.unpack_from(metadata, position)
            position += _LENGTH.size
            if length < 0 or position + length > len(metadata):
                return None
            topics.add(metadata[position : position + length].decode())
            position += length
    except (struct.error, UnicodeDecodeError):
        return None
    return topics if version >= 0 and count >= 0 else None
