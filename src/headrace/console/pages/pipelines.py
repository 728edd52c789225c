"""Pipelines: all of the engine's, what they do and what keeps one from running."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from headrace.admin.times import local, number
from headrace.console import parts
from headrace.console.listing import Listing
from headrace.console.page import page
from headrace.console.view import View

EVERY_S = 3.0
TONES = {
    "running": "good",
    "failed": "bad",
    "paused": "warn",
    "waiting": "warn",
    "starting": "accent",
    "stopping": "warn",
}
COLUMNS = (
    {"name": "name", "label": "Pipeline", "sortable": True},
    {"name": "state", "label": "State", "sortable": True},
    {"name": "guarantee", "label": "Guarantee", "sortable": True},
    {"name": "revision", "label": "Revision", "align": "end"},
    {"name": "restarts", "label": "Restarts", "align": "end", "sortable": True},
    {"name": "submitted", "label": "Since", "keep": True},
    {"name": "error", "label": "Error"},
)


@page("/pipelines", "Pipelines", icon="account_tree", order=50)
async def pipelines(view: View) -> None:
    with parts.heading("Pipelines"):
        pass
    with parts.card():
        listing = Listing(
            "Pipelines",
            COLUMNS,
            _cells,
            search="Search pipelines",
            searched=("name", "error"),
            sort=("name", False),
            empty="No pipeline is here; headrace run app.py submits one",
            export=view.console.settings.export,
            name="pipelines",
        )

    async def refresh() -> None:
        listing.show([_entry(one) for one in await view.console.engine.pipelines()])

    await view.live(EVERY_S, refresh)


def _entry(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": one["name"],
        "name": one["name"],
        "state": one["state"],
        "guarantee": one["guarantee"],
        "revision": one["revision"],
        "restarts": one["restarts"],
        "submitted": one["submitted_at_ms"],
        "error": one.get("error") or "",
    }


def _cells(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": {"text": entry["name"], "href": f"/pipelines/{quote(entry['name'], safe='')}"},
        "state": {"text": entry["state"], "tone": TONES.get(entry["state"], "")},
        "guarantee": str(entry["guarantee"]).replace("_", " "),
        "revision": number(entry["revision"]),
        "restarts": number(entry["restarts"]),
        "submitted": local(entry["submitted"])[:-4],
        "error": entry["error"] or "-",
    }
