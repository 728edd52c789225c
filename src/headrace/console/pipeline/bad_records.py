"""The records that a pipeline could not read, with their reasons: the newest of the processing log."""

from __future__ import annotations

import json
from typing import Any

from headrace.admin.positions import Position
from headrace.admin.times import local
from headrace.console import parts
from headrace.console.browsing import Filter, Query, find
from headrace.console.elements import DataTable
from headrace.console.records import Record, printable
from headrace.console.view import View

TOPIC = "_headrace_processing_log"
EVERY_S = 10.0
SHOWN = 25
_COLUMNS = (
    {"name": "time", "label": "Time", "keep": True},
    {"name": "place", "label": "Record"},
    {"name": "reason", "label": "Reason"},
)


async def card(view: View, pipeline: str) -> None:
    with parts.card("Bad records", hint="The newest that could not be read, and why"):
        table = DataTable("Newest bad records", _COLUMNS, empty="None")
    cluster = view.console.cluster
    seen: dict[Any, Any] = {}

    async def refresh() -> None:
        if TOPIC not in await cluster.topics(internal=True):
            return
        ends = {place: end for place, end in (await cluster.end_offsets()).items() if place[0] == TOPIC}
        if ends == seen.get("ends"):
            return  # nothing was written since the last look
        wanted = Filter(expression=f"value.pipeline == {json.dumps(pipeline)}")
        found = await cluster.do(lambda c: find(c, Query(TOPIC, Position("last"), filter=wanted, limit=SHOWN)))
        seen["ends"] = ends
        table.show([_row(one) for one in found.records[:SHOWN]])

    await view.live(EVERY_S, refresh)


def _row(record: Record) -> dict[str, Any]:
    said = json.loads(record.value or b"{}")
    stamp = said.get("timestamp")
    return {
        "id": record.place,
        "time": local(stamp) if isinstance(stamp, int) and stamp >= 0 else "-",
        "place": printable(f"{said.get('topic')}, partition {said.get('partition')}, offset {said.get('offset')}"),
        "reason": printable(str(said.get("reason"))[:500]),
    }
