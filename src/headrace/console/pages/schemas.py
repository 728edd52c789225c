"""Schemas: the registry's subjects with their newest version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from headrace.admin.times import number
from headrace.console import parts
from headrace.console.listing import Listing
from headrace.console.page import page
from headrace.console.schema.register import ask_for_schema
from headrace.console.view import View

EVERY_S = 6.0
COLUMNS = (
    {"name": "subject", "label": "Subject", "sortable": True},
    {"name": "type", "label": "Type", "sortable": True},
    {"name": "version", "label": "Newest version", "align": "end", "sortable": True},
    {"name": "schema_id", "label": "Id", "align": "end", "sortable": True},
    {"name": "references", "label": "References"},
)


@page("/schemas", "Schemas", icon="schema", order=45)
async def schemas(view: View) -> None:
    with parts.heading("Schemas"):
        if not view.read_only:
            parts.button("New subject", lambda: ask_for_schema(view, refresh), kind="primary", icon="add")
    with parts.card():
        listing = Listing(
            "Subjects of the schema registry",
            COLUMNS,
            _cells,
            search="Search subjects",
            searched=("subject", "type"),
            sort=("subject", False),
            empty="No subject is here; serializers register their schemas, and so does headrace schema register",
            export=view.console.settings.export,
            name="subjects",
        )

    async def refresh() -> None:
        listing.show([_entry(one) for one in await view.console.registry.subjects()])

    await view.live(EVERY_S, refresh)


def _entry(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": one["subject"],
        "subject": one["subject"],
        "type": one.get("schemaType") or "AVRO",
        "version": one["version"],
        "schema_id": one["id"],
        "references": ", ".join(f"{each['subject']} {each['version']}" for each in one.get("references") or ()),
    }


def _cells(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "subject": {"text": entry["subject"], "href": f"/schemas/{quote(entry['subject'], safe='')}"},
        "type": entry["type"],
        "version": number(entry["version"]),
        "schema_id": str(entry["schema_id"]),
        "references": entry["references"] or "-",
    }
