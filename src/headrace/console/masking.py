"""Fields that nobody is to see: their content is replaced in the bytes of a record before anything else of the console gets it, filters and files included.

Named fields are found in JSON at any depth, and among headers. Bytes that are no text (Avro, Protobuf) may hold such fields where nobody can find
them, so they are hidden as a whole; so is JSON too large to look into.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from headrace.console.records import LARGEST_JSON, NOT_JSON, Record, as_plain_json

MASK = "•••"
_HIDDEN = b"(hidden: fields that are masked may be in it)"


class Masking:
    """`fields` are names, upper and lower case alike."""

    def __init__(self, fields: Collection[str] = ()) -> None:
        self._fields = frozenset(name.lower() for name in fields)

    def __bool__(self) -> bool:
        return bool(self._fields)

    def apply(self, found: Record) -> Record:
        if not self._fields:
            return found
        headers = tuple(
            (name, MASK.encode() if name.lower() in self._fields else content) for name, content in found.headers
        )
        return replace(found, key=self._masked(found.key), value=self._masked(found.value), headers=headers)

    def _masked(self, content: bytes | None) -> bytes | None:
        if content is None:
            return None
        parsed = as_plain_json(content)
        if parsed is not NOT_JSON:
            if isinstance(parsed, dict | list) and self._hides(parsed):
                return json.dumps(parsed, ensure_ascii=False, separators=(",", ":")).encode()
            return content
        return content if _is_plain_text(content) else _HIDDEN

    def _hides(self, value: Any) -> bool:
        """Replaces in place; whether anything was."""
        waiting, hidden = [value], False
        while waiting:
            one = waiting.pop()
            if isinstance(one, dict):
                for name in one:
                    if str(name).lower() in self._fields:
                        one[name], hidden = MASK, True
                    else:
                        waiting.append(one[name])
            elif isinstance(one, list):
                waiting += one
        return hidden


def _is_plain_text(content: bytes) -> bool:
    """Text in which no field can be: neither bytes of a format nor JSON that was too large or broken."""
    if len(content) > LARGEST_JSON or content.lstrip()[:1] in (b"{", b"["):
        return False
    try:
        return content.decode().replace("\n", "").replace("\r", "").replace("\t", "").isprintable()
    except UnicodeDecodeError:
        return False
