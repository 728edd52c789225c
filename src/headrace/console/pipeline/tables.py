"""A pipeline's tables, looked up by key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.admin.errors import Problem
from headrace.admin.times import local
from headrace.console import exporting, parts
from headrace.console.elements import DataTable, Field, Tag
from headrace.console.records import printable
from headrace.console.view import View

MOST_ROWS = 200
_COLUMNS = (
    {"name": "key", "label": "Key", "mono": True},
    {"name": "window", "label": "Window", "keep": True},
    {"name": "value", "label": "Value", "mono": True},
    {"name": "time", "label": "As of", "keep": True},
)


async def card(view: View, pipeline: str, tables: Sequence[Mapping[str, Any]]) -> None:
    """Nothing for a pipeline that keeps none."""
    if not tables:
        return
    rows: list[Mapping[str, Any]] = []
    known = {each["name"]: each for each in tables}
    with parts.card("Tables", hint="What the pipeline keeps, as it is now"):
        with Tag("div", classes="hr-form"):
            table = Field("Table", tables[0]["name"], options=[(name, name) for name in known])
            key = Field("Key", placeholder="empty shows the first rows", on_enter=lambda: look())
        with Tag("div", classes="hr-row"):
            parts.button("Look up", lambda: look(), kind="primary", icon="search")
            count = Tag("span", "", "hr-soft hr-small hr-grow", aria_live="polite")
            if view.console.settings.export:
                for form in ("CSV", "JSONL"):
                    parts.button(
                        form, lambda form=form: save(form), icon="download", label=f"Save these rows as {form}"
                    )
        problem = parts.Note()
        found = DataTable("Rows of the table", _COLUMNS, empty="Nothing looked up yet")

    async def look() -> None:
        try:
            query = lookup(known[table.value], key.value.strip())
            answer = await view.console.engine.look_up(pipeline, table.value, query)
        except Problem as error:
            problem.problem(error)
            return
        problem.hide()
        rows[:] = answer["rows"]
        more = ", there are more" if answer.get("more") else ""
        count.say(f"{len(rows)} rows{more}")
        found.show([_row(index, one) for index, one in enumerate(rows)], empty="There is no such row")

    def save(form: str) -> None:
        if not rows:
            parts.said("There are no rows to save", good=False)
            return
        exporting.save_table(f"{pipeline}-{table.value}", ("key", "window", "value", "timestamp_ms"), rows, form)


def lookup(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A key of one column as it is written, of several as a JSON object."""
    if not key:
        return {"limit": MOST_ROWS}
    if len(table["key"]) > 1:
        example = json.dumps(dict.fromkeys(table["key"], "…"), ensure_ascii=False)
        try:
            parsed = json.loads(key)
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            raise Problem(f"A key of '{table['name']}' has several columns", f"Write it like {example}")
        return {"key": parsed, "limit": MOST_ROWS}
    return {"key": key, "limit": MOST_ROWS}


def _row(index: int, row: Mapping[str, Any]) -> dict[str, Any]:
    window = row.get("window")
    return {
        "id": str(index),
        "key": _shown(row["key"]),
        "window": f"{local(window['start_ms'])} to {local(window['end_ms'])[11:]}" if window else "-",
        "value": _shown(row["value"]),
        "time": local(row["timestamp_ms"]) if row.get("timestamp_ms") else "-",
    }


def _shown(value: Any) -> str:
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return printable(text[:2_000])
