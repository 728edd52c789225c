"""A topic's settings with what they mean: seen, changed, and put back to their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.admin.settings import Entry
from headrace.console import parts
from headrace.console.elements import Field, Tag
from headrace.console.listing import Listing
from headrace.console.view import View
from headrace.settings import TOPIC_SETTINGS

EVERY_S = 20.0
COLUMNS = (
    {"name": "name", "label": "Setting", "sortable": True, "keep": True},
    {"name": "value", "label": "Value"},
    {"name": "source", "label": "From", "sortable": True},
    {"name": "meaning", "label": "Meaning"},
    {"name": "change", "label": "Change", "hidden": True, "keep": True},
)


async def panel(view: View, topic: str) -> None:
    cluster = view.console.cluster
    entries: dict[str, Entry] = {}

    async def refresh() -> None:
        for entry in (await cluster.topic_settings([topic]))[topic]:
            entries[entry.name] = entry
        listing.show([_row(entry, view.read_only) for entry in entries.values()])

    with parts.card():
        listing = Listing(
            f"Settings of {topic}",
            COLUMNS,
            _cells,
            search="Search settings",
            searched=("name", "meaning"),
            sort=("source", True),
            on_act=lambda name, _: _change(view, topic, entries[name], refresh),
            export=view.console.settings.export,
            name=f"{topic}-settings",
        )
    await view.live(EVERY_S, refresh)


def meaning(name: str) -> str:
    known = TOPIC_SETTINGS.get(name)
    return " ".join(known.doc.split()) if known is not None else ""


def _row(entry: Entry, read_only: bool) -> dict[str, Any]:
    return {
        "id": entry.name,
        "name": entry.name,
        "value": None if entry.sensitive else entry.value,
        "source": entry.source,
        "meaning": meaning(entry.name),
        "readable": entry.readable(),
        "changed": entry.changed,
        "fixed": entry.read_only or read_only,
    }


def _cells(entry: Mapping[str, Any]) -> dict[str, Any]:
    name = entry["name"]
    return {
        "name": name,
        "value": entry["readable"],
        "source": {"text": entry["source"], "tone": "accent" if entry["changed"] else ""},
        "meaning": entry["meaning"],
        "change": "" if entry["fixed"] else {"text": "Change", "action": "change", "label": f"Change {name}"},
    }


def _change(view: View, topic: str, entry: Entry, refresh: Any) -> None:
    dialog = parts.Dialog(f"Change {entry.name}")
    with dialog.body:
        if text := meaning(entry.name):
            Tag("p", text, "hr-soft")
        value = Field("Value", "" if entry.sensitive else entry.value or "")

    async def put() -> None:
        await view.console.cluster.alter_topic(topic, {entry.name: value.value}, ())
        await refresh()

    async def unset() -> None:
        await view.console.cluster.alter_topic(topic, {}, (entry.name,))
        await refresh()

    dialog.offer("Set", put, done=f"{entry.name} is set")
    if entry.changed:
        with dialog.actions:
            parts.button("Back to the default", lambda: _unset(view, dialog, unset, entry.name))
    dialog.open()


async def _unset(view: View, dialog: parts.Dialog, unset: Any, name: str) -> None:
    if await view.attempt(unset, f"{name} is back at its default"):
        dialog.close()
