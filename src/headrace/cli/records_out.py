"""Output of `headrace consume`: records as bytes in the form the user asked for. Pure: a message in, bytes out."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

from headrace.admin.errors import UsageMistake
from headrace.admin.times import iso, local

Formatter = Callable[[Any], bytes]
FIELDS = ("topic", "partition", "offset", "timestamp", "time", "key", "value", "headers")
_FIELD = re.compile(r"\{(\w+)\}")
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\0": "\0", "\\\\": "\\"}
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_TIMESTAMP_TYPES = {0: None, 1: "CreateTime", 2: "LogAppendTime"}


class DecodedMessage:
    """A message whose key or value was decoded; all else is the message's own."""

    def __init__(self, message: Any, decoded: dict[str, Any]) -> None:
        self._message = message
        self.decoded = decoded

    def key(self) -> bytes | None:
        return self._text("key", self._message.key())

    def value(self) -> bytes | None:
        return self._text("value", self._message.value())

    def _text(self, part: str, data: bytes | None) -> bytes | None:
        if part not in self.decoded:
            return data
        value = self.decoded[part]
        return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).encode()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._message, name)


def formatter(name: str, *, colour: bool, json_values: bool) -> Formatter:
    """The formatter with that name; anything with `{field}` in it is a template."""
    if name == "raw":
        return lambda message: (message.value() or b"") + b"\n"
    if name == "hex":
        return _hex
    if name == "json":
        return lambda message: json_line(message, json_values=json_values)
    if name == "text":
        return lambda message: _text(message, colour=colour)
    if "{" not in name:
        raise UsageMistake(
            f"'{name}' is not a format", "Choose text, raw, json or hex, or write a template like '{key}: {value}'"
        )
    return _template(name)


def document(message: Any, *, json_values: bool = False) -> dict[str, Any]:
    """A record as `--json` prints it. Bytes that are not text appear as `key_base64` and `value_base64`."""
    kind, timestamp = message.timestamp()
    fields: dict[str, Any] = {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": timestamp if kind else None,
        "timestamp_type": _TIMESTAMP_TYPES.get(kind),
    }
    decoded = message.decoded if isinstance(message, DecodedMessage) else {}
    for part, content, parse in (("key", message.key(), False), ("value", message.value(), json_values)):
        fields |= {part: decoded[part]} if part in decoded else _data(part, content, parse=parse)
    fields["headers"] = [[name, None if value is None else readable(value)] for name, value in message.headers() or []]
    return fields


def json_line(message: Any, *, json_values: bool = False) -> bytes:
    return (
        json.dumps(document(message, json_values=json_values), ensure_ascii=False, separators=(",", ":")).encode()
        + b"\n"
    )


def _data(name: str, content: bytes | None, *, parse: bool) -> dict[str, Any]:
    if content is None:
        return {name: None}
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(content).decode()}
    if parse:
        try:
            return {name: json.loads(text)}
        except ValueError:
            return {name: text}
    return {name: text}


def _hex(message: Any) -> bytes:
    parts = [f"{message.partition()}:{message.offset()}", _hexed(message.key()), _hexed(message.value())]
    return "\t".join(parts).encode() + b"\n"


def _hexed(content: bytes | None) -> str:
    return "null" if content is None else content.hex()


def _text(message: Any, *, colour: bool) -> bytes:
    """A line for people: where and when, key, value, headers. Control characters are escaped: a terminal obeys them."""
    dim, cyan, off = ("\x1b[2m", "\x1b[36m", "\x1b[0m") if colour else ("", "", "")
    kind, timestamp = message.timestamp()
    when = local(timestamp) if kind else "-"
    place = f"{message.topic()}[{message.partition()}]@{message.offset()}"
    key, value = message.key(), message.value()
    line = f"{dim}{place}  {when}{off}  "
    if key is not None:
        line += f"{cyan}{safe(readable(key))}{off}  "
    line += f"{dim}(null){off}" if value is None else safe(readable(value))
    if headers := message.headers():
        shown = " ".join(f"{name}={'null' if content is None else readable(content)}" for name, content in headers)
        line += f"  {dim}{safe(shown)}{off}"
    return line.encode() + b"\n"


def safe(text: str) -> str:
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def readable(content: bytes) -> str:
    return content.decode(errors="backslashreplace")


def _template(template: str) -> Formatter:
    for name in _FIELD.findall(template):
        if name not in FIELDS:
            raise UsageMistake(
                f"A template has no field '{{{name}}}'", "There are " + ", ".join(f"{{{n}}}" for n in FIELDS)
            )
    for escape, character in _ESCAPES.items():
        template = template.replace(escape, character)
    pieces = [(piece, index % 2 == 1) for index, piece in enumerate(_FIELD.split(template))]
    end = b"" if template.endswith(("\n", "\0")) else b"\n"
    return lambda message: (
        b"".join(_field(message, piece) if is_field else piece.encode() for piece, is_field in pieces) + end
    )


def _field(message: Any, name: str) -> bytes:
    if name == "key":
        return message.key() or b""
    if name == "value":
        return message.value() or b""
    if name == "headers":
        return b",".join(header.encode() + b"=" + (content or b"") for header, content in message.headers() or [])
    if name in ("timestamp", "time"):
        kind, timestamp = message.timestamp()
        return b"-" if not kind else (str(timestamp) if name == "timestamp" else iso(timestamp)).encode()
    return str(getattr(message, name)()).encode()
