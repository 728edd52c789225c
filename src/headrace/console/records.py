"""A record as pages show it: bounded pieces of text, never markup. Pure: bytes in, text and plain data out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from headrace.admin.times import local, size

SHOWN_IN_ROW = 200
SHOWN_AS_TEXT = 64 << 10
SHOWN_AS_HEX = 8 << 10
LARGEST_JSON = 1 << 20
MOST_TREE_NODES = 2_000
_TIMESTAMP_TYPES = {1: "CreateTime", 2: "LogAppendTime"}


@dataclass(frozen=True, slots=True)
class Record:
    """What a client read. `timestamp_type` is None for records that have no timestamp."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    timestamp_type: str | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    key_schema: str = ""
    """What the key was decoded with, or why it was not; nothing when it has no schema."""
    value_schema: str = ""

    @property
    def size(self) -> int:
        return len(self.key or b"") + len(self.value or b"")

    @property
    def place(self) -> str:
        """Unique within the topic."""
        return f"{self.partition}:{self.offset}"

    def row(self) -> dict[str, Any]:
        """As a row of a table."""
        return {
            "id": self.place,
            "partition": self.partition,
            "offset": self.offset,
            "time": local(self.timestamp_ms) if self.timestamp_ms is not None else "-",
            "key": preview(self.key),
            "value": preview(self.value),
            "headers": len(self.headers),
            "size": size(self.size),
        }


def record(message: Any) -> Record:
    """From a message of the client library."""
    kind, timestamp = message.timestamp()
    return Record(
        message.topic(),
        message.partition(),
        message.offset(),
        timestamp if kind else None,
        _TIMESTAMP_TYPES.get(kind),
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )


def preview(content: bytes | None, length: int = SHOWN_IN_ROW) -> str:
    """One line; what is not text is shown as hex."""
    if content is None:
        return "null"
    head = content[: length * 4]
    try:
        text = content.decode() if len(content) <= length * 4 else head.decode(errors="ignore")
    except UnicodeDecodeError:
        shown = content[: length // 3]
        return "0x" + shown.hex() + ("…" if len(content) > len(shown) else "")
    line = printable(" ".join(text.split()))
    return line[:length] + "…" if len(line) > length or len(content) > len(head) else line


def printable(text: str) -> str:
    """Control characters and those that reorder what stands around them, escaped."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else f"\\u{ord(letter):04x}" for letter in text)


def as_text(content: bytes | None) -> str:
    """All of it up to a bound; JSON indented."""
    if content is None:
        return "null"
    parsed = as_json(content)
    if parsed is not NOT_JSON and isinstance(parsed, dict | list):
        text = json.dumps(parsed, indent=2, ensure_ascii=False)
    else:
        text = content[: SHOWN_AS_TEXT + 1].decode(errors="backslashreplace")
    return printable(text[:SHOWN_AS_TEXT]) + (
        f"\n… {size(len(content))} in all" if len(content) > SHOWN_AS_TEXT else ""
    )


NOT_JSON = object()


def as_json(content: bytes | None) -> Any:
    """Parsed for showing, or `NOT_JSON`; numbers keep their digits."""
    return _parsed(content, _Digits)


def as_plain_json(content: bytes | None) -> Any:
    """Parsed for reckoning with, or `NOT_JSON`."""
    return _parsed(content, None)


def _parsed(content: bytes | None, number: Any) -> Any:
    if not content or len(content) > LARGEST_JSON or content.lstrip()[:1] not in _JSON_BEGINS:
        return NOT_JSON
    try:
        return json.loads(content, parse_float=number, parse_int=number)
    except (ValueError, RecursionError):
        return NOT_JSON


# What JSON can begin with; the empty beginning of bytes that are all white is among none of these.
_JSON_BEGINS = tuple(bytes([byte]) for byte in b'{["tfn-0123456789')


class _Digits(float):
    """A number that prints as it was written: 1e400 and 20-digit ids survive."""

    def __new__(cls, text: str) -> _Digits:
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str

    def __repr__(self) -> str:
        return self.text


def as_hex(content: bytes | None) -> str:
    """Offsets, bytes and their printable letters, 16 a line, up to a bound."""
    if content is None:
        return "null"
    lines = [
        f"{at:08x}  {content[at : at + 16].hex(' '):<47}  "
        + "".join(chr(byte) if 32 <= byte < 127 else "." for byte in content[at : at + 16])
        for at in range(0, min(len(content), SHOWN_AS_HEX), 16)
    ]
    if len(content) > SHOWN_AS_HEX:
        lines.append(f"… {size(len(content))} in all")
    return "\n".join(lines) or "(empty)"


def as_tree(parsed: Any) -> list[dict[str, Any]]:
    """Nodes `{id, label, children}`; a tree of more than a few thousand nodes is cut, and says so."""
    budget = iter(range(MOST_TREE_NODES))
    return list(_nodes(_items(parsed), "", budget))


def _nodes(items: Iterator[tuple[str, Any]], prefix: str, budget: Iterator[int]) -> Iterator[dict[str, Any]]:
    for name, value in items:
        if next(budget, None) is None:
            yield {"id": f"{prefix}/…", "label": "… more"}
            return
        place = f"{prefix}/{name}"
        if isinstance(value, dict | list) and value:
            amount = f"{{{len(value)}}}" if isinstance(value, dict) else f"[{len(value)}]"
            children = list(_nodes(_items(value), place, budget))
            yield {"id": place, "label": f"{printable(name)}  {amount}", "children": children}
        else:
            yield {"id": place, "label": f"{printable(name)}: {_leaf(value)}"}


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((str(name), each) for name, each in value.items())
    elif isinstance(value, list):
        yield from ((str(index), each) for index, each in islice(enumerate(value), MOST_TREE_NODES + 1))
    else:
        yield "value", value


def _leaf(value: Any) -> str:
    text = value.text if isinstance(value, _Digits) else json.dumps(value, ensure_ascii=False)
    return printable(text if len(text) <= 2_000 else text[:2_000] + "…")
