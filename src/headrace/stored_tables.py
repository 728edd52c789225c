"""A pipeline's queryable table, opened: the changelog of a store with the codecs that the plan names. For the engine and for apps alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.formats import FORMATS
from headrace.plan.serdes import KeyWindow, Serde
from headrace.plan.stores import StoreTopic
from headrace.tables import ChangelogTable, SessionWindows, TimeWindows, by_value


def open_store(
    bootstrap_servers: str, topic: StoreTopic, client_settings: Mapping[str, Any], directory: Path | None = None
) -> ChangelogTable[Any, Any]:
    """The table of a store's changelog; keys and values are their columns by name. In memory, or in `directory`."""
    # The table takes the window off a key by itself.
    key = Serde(topic.key.format, topic.key.columns, topic.key.options, topic.key.wrapped)
    value = topic.value
    keys, values = FORMATS[key.format], FORMATS[value.format]
    return ChangelogTable(
        bootstrap_servers,
        topic.topic,
        encode_key=lambda given: keys.encode(given, key) or b"",
        decode_key=lambda data: keys.decode(data, key),
        decode_value=lambda data: values.decode(data, value),
        order=by_value(topic.topic, lambda data: list((keys.decode(data, key) or {}).values())),
        windows=_windows(topic.key),
        retention_ms=topic.retention_ms,
        directory=directory,
        client_settings=client_settings,
    )


def _windows(serde: Serde) -> TimeWindows | SessionWindows | None:
    if serde.window is None:
        return None
    return SessionWindows() if serde.window is KeyWindow.SESSION else TimeWindows(serde.window_size_ms)
