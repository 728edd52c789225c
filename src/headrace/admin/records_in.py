"""Records to send, as people bring them: lines, JSON lines and whole files become records. Pure: text and bytes in, records out."""

from __future__ import annotations

import base64
import binascii
import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from headrace.admin.errors import Problem

Headers = list[tuple[str, bytes | None]]
_FIELDS = frozenset(
    (
        "key",
        "value",
        "headers",
        "partition",
        "timestamp",
        "key_base64",
        "value_base64",
        "topic",
        "offset",
        "timestamp_type",
        "time",
    )
)


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record to send. Without a partition its key decides, without a timestamp the clock."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    partition: int | None = None
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LineFormat:
    """How a line becomes a record: a separator behind the key, a marker that means null, and what all records share."""

    key_separator: str | None = None
    key: str | None = None
    null_marker: str | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None

    def record(self, line: bytes, number: int) -> NewRecord:
        key = self.key.encode() if self.key is not None else None
        value = line
        if self.key_separator is not None:
            before, found, after = line.partition(self.key_separator.encode())
            if not found:
                raise Problem(
                    f"Line {number} has no key separator {self.key_separator!r}: {shortened(line)}",
                    "Add it, or leave --key-separator out",
                )
            key, value = before, after
        return NewRecord(self._null(key), self._null(value), list(self.headers), self.partition, self.timestamp_ms)

    def _null(self, data: bytes | None) -> bytes | None:
        return None if self.null_marker is not None and data == self.null_marker.encode() else data


def lines(stream: Iterable[bytes], form: LineFormat) -> Iterator[NewRecord]:
    """A record per line, without its line end."""
    for number, line in enumerate(stream, 1):
        yield form.record(line.rstrip(b"\n").removesuffix(b"\r"), number)


def json_lines(stream: Iterable[bytes], form: LineFormat) -> Iterator[NewRecord]:
    """A record per JSON object: key, value, headers, partition, timestamp; what `headrace consume --json` prints is welcome."""
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except ValueError as error:
            raise Problem(
                f"Line {number} is not JSON: {error}", "Every line must be an object with key and value"
            ) from None
        yield from_json(document, form, f"Line {number}")


def from_json(document: Any, form: LineFormat, where: str) -> NewRecord:
    """One record from one JSON object."""
    if not isinstance(document, dict) or not ("value" in document or "value_base64" in document):
        raise Problem(f"{where} has no field 'value'", 'Write {"key": "k", "value": "v"}; null deletes the key')
    unknown = sorted(set(document) - _FIELDS)
    if unknown:
        raise Problem(f"{where} has an unknown field '{unknown[0]}'", f"There are {', '.join(sorted(_FIELDS))}")
    key = _data(document, "key", where) if "key" in document or "key_base64" in document else None
    return NewRecord(
        key if key is not None else (form.key.encode() if form.key is not None else None),
        _data(document, "value", where),
        [*form.headers, *_headers(document.get("headers") or [], where)],
        _number(document, "partition", where, form.partition),
        _number(document, "timestamp", where, form.timestamp_ms),
    )


def _data(document: dict[str, Any], name: str, where: str) -> bytes | None:
    if f"{name}_base64" in document:
        try:
            return base64.b64decode(document[f"{name}_base64"], validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise Problem(f"{where}: {name}_base64 is not base64", "Encode the bytes with base64") from None
    content = document[name]
    if content is None or isinstance(content, str):
        return None if content is None else content.encode()
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _headers(given: Any, where: str) -> Headers:
    pairs = list(given.items()) if isinstance(given, dict) else given
    headers: Headers = []
    for pair in pairs if isinstance(pairs, list) else [None]:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise Problem(
                f"{where}: headers must be an object or a list of [name, value]", 'Write "headers": {"a": "1"}'
            )
        name, value = pair
        headers.append((name, None if value is None else str(value).encode()))
    return headers


def _number(document: dict[str, Any], name: str, where: str, otherwise: int | None) -> int | None:
    value = document.get(name, otherwise)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise Problem(f"{where}: {name} must be a whole number, not {value!r}", "Leave it out to let the broker decide")
    return value


def shortened(data: bytes, limit: int = 60) -> str:
    text = data.decode(errors="replace")
    return repr(text if len(text) <= limit else text[:limit] + "...")


def csv_rows(text: str) -> Iterator[NewRecord]:
    """A record per row, with a header line that names the fields: at least `value` or `value_base64`. Headers are JSON; what is empty is not given."""
    rows = csv.DictReader(io.StringIO(text), strict=True)
    try:
        for number, row in enumerate(rows, 2):
            given = {name: content for name, content in row.items() if name is not None and content is not None}
            yield from_json(_typed(given, f"Line {number}"), LineFormat(), f"Line {number}")
    except csv.Error as error:
        raise Problem(f"Line {rows.line_num} is not CSV: {error}", "Quote fields with commas or line ends") from None


def _typed(row: dict[str, str], where: str) -> dict[str, Any]:
    """CSV knows texts only: numbers and headers get their kinds back, and an empty field means that there is none."""
    document: dict[str, Any] = {name: content for name, content in row.items() if content != ""}
    if "value" in row and "value_base64" not in document:
        document.setdefault("value", None)
    for name in ("partition", "timestamp"):
        if name in document:
            if not document[name].isdigit():
                raise Problem(f"{where}: {name} must be a whole number, not '{document[name]}'")
            document[name] = int(document[name])
    if "headers" in document:
        try:
            document["headers"] = json.loads(document["headers"])
        except (ValueError, RecursionError):
            raise Problem(f"{where}: headers are not JSON", 'Write them like {"a": "1"}') from None
    return document
