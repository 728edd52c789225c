"""Reads the pages of docs/streams: the Python that builds an app, and the records that go in and come out.

A line is `in` or `out`, topic, key, value as JSON, `@` and the time, and of windows `[start..end]`, with two spaces or more between them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.plan.python_code import to_plain
from headrace.streams import App

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "streams"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Line:
    direction: str
    topic: str
    key: str
    value: Any
    timestamp_ms: int
    window: tuple[int, int] | None


@dataclass(frozen=True)
class Page:
    """The first Python block is the app; later ones only show something."""

    name: str
    code: str
    lines: tuple[Line, ...]

    def app(self) -> App:
        names: dict[str, Any] = {}
        exec(compile(self.code, f"{self.name}.md", "exec"), names)
        app = names["app"]
        assert isinstance(app, App)
        return app


def page(path: Path) -> Page | None:
    """None for a page without records."""
    blocks = _BLOCK.findall(path.read_text(encoding="utf-8"))
    records = next((text for language, text in blocks if language == "records"), None)
    if records is None:
        return None
    code = next(text for language, text in blocks if language == "python")
    return Page(path.stem, code, tuple(_line(text) for text in records.splitlines() if text.strip()))


def pages() -> dict[str, Page]:
    found = {str(path.relative_to(FOLDER)): page(path) for path in sorted(FOLDER.rglob("*.md"))}
    return {name: one for name, one in found.items() if one is not None}


def _line(text: str) -> Line:
    direction, topic, key, value, time, *window = re.split(r"\s{2,}", text.strip())
    bounds = None
    if window:
        start, end = window[0].strip("[]").split("..")
        bounds = (int(start), int(end))
    return Line(direction, topic, key, json.loads(value), int(time.removeprefix("@")), bounds)


def plain(record: Any) -> Line:
    return Line("out", "", record.key, to_plain(record.value), record.timestamp_ms, record.window)
