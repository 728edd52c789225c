"""Topic ids, directory ids and cluster ids: 16 bytes, written as 22 characters of url-safe base64."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import uuid4

from headrace.wire.fields import ZERO_UUID

# Kafka keeps the first hundred for itself: 1 is the topic id of __cluster_metadata and "unassigned" for directories.
METADATA_TOPIC_ID = bytes(15) + b"\x01"
_RESERVED_BELOW = 100
_TEXT = re.compile(r"[A-Za-z0-9_-]{22}")


def random_uuid() -> bytes:
    """A new id, whose text does not start with a dash, so that command lines take it."""
    while True:
        value = uuid4().bytes
        if not to_text(value).startswith("-") and int.from_bytes(value, "big") >= _RESERVED_BELOW:
            return value


def to_text(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def from_text(text: str) -> bytes:
    """The id written as `text`; ValueError if it is none. Four bits of the last character mean nothing, as in Kafka."""
    if _TEXT.fullmatch(text) is None:
        raise ValueError(f"not an id of 22 base64 characters: {text!r}")
    return urlsafe_b64decode(text + "==")


__all__ = ["METADATA_TOPIC_ID", "ZERO_UUID", "from_text", "random_uuid", "to_text"]
