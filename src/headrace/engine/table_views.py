"""The tables of pipelines, to look up: one `ChangelogTable` for each store that somebody asked for, kept until its pipeline goes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.engine.record import PipelineRecord
from headrace.engine.settings import EngineSettings
from headrace.formats import FormatError
from headrace.functions import CATALOGUE
from headrace.plan.engine import EngineError
from headrace.plan.relations import relations
from headrace.plan.stores import StoreTopic, stores
from headrace.stored_tables import open_store
from headrace.tables import ChangelogTable, Row, Rows, TableError

OPEN_TIMEOUT_S = 30.0
MAX_ROWS = 10_000
FIELDS = ("key", "from", "to", "window_from_ms", "window_to_ms", "limit", "wait")

Table = ChangelogTable[Any, Any]


class TableViews:
    """Opens tables on first use. Answers are JSON's own kinds."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._tables: dict[tuple[str, str], tuple[StoreTopic, Table]] = {}

    def look_up(self, record: PipelineRecord, store: str, query: Mapping[str, Any]) -> dict[str, Any]:
        """`key` for one row (`window_from_ms`, `window_to_ms` for windows), `from`/`to` for a range, else all; `limit`; `wait`: first catch up."""
        limit = _limit(query)
        topic, table = self._open(record, store)
        try:
            if query.get("wait") in (True, "true"):
                table.wait_until_current(OPEN_TIMEOUT_S)
            found = _rows(table, topic, query, limit)
        except (TableError, FormatError) as error:
            raise EngineError(str(error)) from error
        return {
            "rows": [_row(row) for row in found.rows],
            "more": found.more,
            "undecoded": len(found.undecoded),
            "position": {str(partition): offset for partition, offset in found.position.items()},
        }

    def forget(self, pipeline: str) -> None:
        """Close the pipeline's tables."""
        with self._lock:
            gone = [key for key in self._tables if key[0] == pipeline]
            tables = [self._tables.pop(key)[1] for key in gone]
        for table in tables:
            table.close()

    def close(self) -> None:
        with self._lock:
            tables = [table for _, table in self._tables.values()]
            self._tables.clear()
        for table in tables:
            table.close()

    def _open(self, record: PipelineRecord, store: str) -> tuple[StoreTopic, Table]:
        with self._lock:
            held = self._tables.get((record.name, store))
            if held is not None:
                return held
            known = stores(record.plan, relations(record.plan, CATALOGUE))
            if store not in known:
                names = ", ".join(known) or "none; give a step `store=`"
                raise EngineError(f"pipeline {record.name!r} has no table {store!r}; it has: {names}")
            settings = self._settings
            table = open_store(
                settings.bootstrap_servers, known[store], settings.kafka, Path(settings.data_dir) / "tables"
            )
            self._tables[record.name, store] = (known[store], table)
        try:
            table.wait_until_current(OPEN_TIMEOUT_S)
        except TableError as error:
            with self._lock:
                self._tables.pop((record.name, store), None)
            table.close()
            raise EngineError(str(error)) from error
        return known[store], table


def _rows(table: Table, topic: StoreTopic, query: Mapping[str, Any], limit: int) -> Rows[Any, Any]:
    unknown = set(query) - set(FIELDS)
    if unknown:
        raise EngineError(f"a look-up has no {', '.join(sorted(unknown))}; it has {', '.join(FIELDS)}")
    if "key" not in query:
        low, high = (_key(topic, query[name]) if name in query else None for name in ("from", "to"))
        return table.range(low, high, limit=limit)
    key = _key(topic, query["key"])
    if topic.key.window is None:
        return table.get_many([key])
    begin, end = _time(query, "window_from_ms", 0), _time(query, "window_to_ms", (1 << 63) - 1)
    return table.fetch(key, begin, end, limit=limit)


def _key(topic: StoreTopic, given: Any) -> dict[str, Any]:
    """A key as its columns. One column may be given bare, also as text from a URL."""
    columns = topic.key.columns
    if isinstance(given, dict):
        if set(given) != set(columns.names):
            raise EngineError(f"a key of {topic.store!r} has the columns {', '.join(columns.names)}")
        return given
    if len(columns.fields) != 1:
        raise EngineError(f"a key of {topic.store!r} has several columns; give an object of {', '.join(columns.names)}")
    field = columns.fields[0]
    if isinstance(given, str) and str(field.type) in ("INTEGER", "BIGINT", "DOUBLE"):
        try:
            given = float(given) if str(field.type) == "DOUBLE" else int(given)
        except ValueError:
            raise EngineError(f"keys of {topic.store!r} are {field.type}, {given!r} is none") from None
    return {field.name: given}


def _time(query: Mapping[str, Any], name: str, default: int) -> int:
    value = query.get(name, default)
    try:
        return int(value)
    except (TypeError, ValueError):
        raise EngineError(f"{name} is a number of milliseconds, {value!r} is none") from None


def _limit(query: Mapping[str, Any]) -> int:
    try:
        limit = int(query.get("limit", 100))
    except (TypeError, ValueError):
        raise EngineError(f"limit is a number from 1 to {MAX_ROWS}") from None
    if not 1 <= limit <= MAX_ROWS:
        raise EngineError(f"limit is a number from 1 to {MAX_ROWS}")
    return limit


def _row(row: Row[Any, Any]) -> dict[str, Any]:
    body = {"key": row.key, "value": row.value, "timestamp_ms": row.timestamp_ms}
    if row.window is not None:
        body["window"] = {"start_ms": row.window.start_ms, "end_ms": row.window.end_ms}
    return body
