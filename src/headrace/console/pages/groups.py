"""Groups: who reads, in which state, how far behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from headrace.admin.times import number
from headrace.console import parts
from headrace.console.listing import Listing
from headrace.console.page import page
from headrace.console.pages.topics import per_second
from headrace.console.view import View

EVERY_S = 4.0
COLUMNS = (
    {"name": "group", "label": "Group", "sortable": True},
    {"name": "state", "label": "State", "sortable": True},
    {"name": "members", "label": "Members", "align": "end", "sortable": True},
    {"name": "topics", "label": "Topics"},
    {"name": "lag", "label": "Lag", "align": "end", "sortable": True},
    {"name": "growth", "label": "Lag grows by/s", "align": "end", "sortable": True},
)
TONES = {"Stable": "good", "Empty": "", "Dead": "bad"}


@page("/groups", "Groups", icon="groups", order=30)
async def groups(view: View) -> None:
    with parts.heading("Groups"):
        pass
    with parts.card():
        listing = Listing(
            "Groups",
            COLUMNS,
            _cells,
            search="Search groups",
            searched=("group", "topics"),
            sort=("lag", True),
            empty="No group has read anything yet",
            export=view.console.settings.export,
            name="groups",
        )

    async def refresh() -> None:
        listing.show(
            [
                {
                    "id": row.name,
                    "group": row.name,
                    "state": row.state,
                    "members": row.members,
                    "topics": ", ".join(row.topics),
                    "lag": row.lag,
                    "growth": None if row.growth is None else round(row.growth, 1),
                }
                for row in await view.console.cluster.group_rows()
            ]
        )

    await view.live(EVERY_S, refresh)


def _cells(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "group": {"text": entry["group"], "href": f"/groups/{quote(entry['group'], safe='')}"},
        "state": {"text": entry["state"], "tone": TONES.get(entry["state"], "warn")},
        "members": number(entry["members"]),
        "topics": entry["topics"] or "-",
        "lag": number(entry["lag"]),
        "growth": per_second(entry["growth"]),
    }
