"""Tables and records as files: CSV and JSON lines, as `headrace consume --json` prints them and `headrace produce --json` takes them."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.console.records import Record

RECORD_FIELDS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")


def table_file(columns: Sequence[str], entries: Iterable[Mapping[str, Any]], form: str) -> bytes:
    """`form` is CSV or JSONL."""
    rows = [{name: entry.get(name) for name in columns} for entry in entries]
    if form == "JSONL":
        return b"".join(_line(row) for row in rows)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(columns), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return out.getvalue().encode()


def record_file(records: Iterable[Record], form: str) -> bytes:
    """Bytes that are no text appear as `key_base64` and `value_base64`; headers in CSV are JSON."""
    documents = [document(each) for each in records]
    if form == "JSONL":
        return b"".join(_line(each) for each in documents)
    binary = [name for name in ("key_base64", "value_base64") if any(name in each for each in documents)]
    return table_file([*RECORD_FIELDS, *binary], documents, "CSV")


def document(found: Record) -> dict[str, Any]:
    """One record as plain data."""
    fields: dict[str, Any] = {
        "topic": found.topic,
        "partition": found.partition,
        "offset": found.offset,
        "timestamp": found.timestamp_ms,
    }
    for name, content in (("key", found.key), ("value", found.value)):
        try:
            fields[name] = None if content is None else content.decode()
        except UnicodeDecodeError:
            fields[f"{name}_base64"] = base64.b64encode(content or b"").decode()
    fields["headers"] = [
        [name, None if content is None else content.decode(errors="backslashreplace")]
        for name, content in found.headers
    ]
    return fields


def save_table(name: str, columns: Sequence[str], entries: Iterable[Mapping[str, Any]], form: str) -> None:
    """To the browser that asks."""
    save(f"{name}.{form.lower()}", table_file(columns, entries, form))


def save(filename: str, content: bytes) -> None:
    from nicegui import ui

    ui.download.content(content, filename)


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else value
