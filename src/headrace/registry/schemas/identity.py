"""When two schemas are the same: the MD5 by which equal schemas share an id, and the GUID made of it.

The digest covers text, references, metadata and rule set, in the order and encoding that Confluent's registry uses, so that an existing `_schemas`
topic goes on as it is. What is absent adds nothing; an empty object of metadata adds one byte.
"""

from __future__ import annotations

import hashlib
import struct
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.registry.schemas.model import JsonObject, Reference

_RULE_LISTS = ("migrationRules", "domainRules", "encodingRules")
_PRESENT = b"\x01"


def fingerprint(
    text: str,
    references: Sequence[Reference] = (),
    metadata: JsonObject | None = None,
    rule_set: JsonObject | None = None,
) -> bytes:
    """The 16 bytes of the digest; `text` is the canonical text that is stored."""
    digest = hashlib.md5(usedforsecurity=False)
    for part in _parts(text, references, metadata, rule_set):
        digest.update(part)
    return digest.digest()


def guid(digest: bytes) -> str:
    """A digest in the form of `GET /schemas/guids/{guid}`."""
    return str(uuid.UUID(bytes=digest))


def _parts(
    text: str, references: Sequence[Reference], metadata: JsonObject | None, rule_set: JsonObject | None
) -> Iterable[bytes]:
    yield text.encode()
    for reference in references:
        yield reference.name.encode()
        yield reference.subject.encode()
        yield struct.pack(">i", reference.version)
    if metadata is not None:
        yield _PRESENT
        yield from _metadata_parts(metadata)
    if rule_set is not None:
        yield _PRESENT
        for name in _RULE_LISTS:
            for rule in rule_set.get(name) or ():
                yield from _rule_parts(rule)
        yield _text(rule_set.get("enableAt"))


def _metadata_parts(metadata: JsonObject) -> Iterable[bytes]:
    # Keys and sets are sorted, since Confluent keeps them in sorted maps and sets.
    for key, values in sorted((metadata.get("tags") or {}).items()):
        yield _text(key)
        yield from (_text(value) for value in sorted(set(values)))
    for key, value in sorted((metadata.get("properties") or {}).items()):
        yield _text(key)
        yield _text(value)
    yield from (_text(value) for value in sorted(set(metadata.get("sensitive") or ())))


def _rule_parts(rule: JsonObject) -> Iterable[bytes]:
    for key in ("name", "doc", "kind", "mode", "type"):
        yield _text(rule.get(key))
    yield from (_text(tag) for tag in sorted(set(rule.get("tags") or ())))
    for key, value in sorted((rule.get("params") or {}).items()):
        yield _text(key)
        yield _text(value)
    for key in ("expr", "onSuccess", "onFailure"):
        yield _text(rule.get(key))
    if rule.get("disabled"):
        yield _PRESENT


def _text(value: Any) -> bytes:
    return b"" if value is None else str(value).encode()
