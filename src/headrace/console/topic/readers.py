"""Who reads a topic, and how far behind they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from headrace.admin import groups
from headrace.admin.times import number
from headrace.console import parts
from headrace.console.cluster import total_lag
from headrace.console.listing import Listing
from headrace.console.view import View

EVERY_S = 4.0
COLUMNS = (
    {"name": "group", "label": "Group", "sortable": True},
    {"name": "state", "label": "State", "sortable": True},
    {"name": "members", "label": "Members here", "align": "end", "sortable": True},
    {"name": "partitions", "label": "Partitions", "align": "end", "sortable": True},
    {"name": "lag", "label": "Lag", "align": "end", "sortable": True},
)


async def panel(view: View, topic: str) -> None:
    with parts.card(hint=""):
        listing = Listing(
            f"Groups that read {topic}",
            COLUMNS,
            _cells,
            sort=("lag", True),
            empty="No group has committed or reads here",
            export=view.console.settings.export,
            name=f"{topic}-readers",
        )

    async def refresh() -> None:
        entries = []
        for name, (description, progress) in (await view.console.cluster.groups()).items():
            rows = [row for row in progress if row.topic == topic]
            if rows:
                entries.append(
                    {
                        "id": name,
                        "group": name,
                        "state": groups.state_name(description),
                        "members": len({row.member for row in rows if row.member}),
                        "partitions": len(rows),
                        "lag": total_lag(rows),
                    }
                )
        listing.show(entries)

    await view.live(EVERY_S, refresh)


def _cells(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "group": {"text": entry["group"], "href": f"/groups/{quote(entry['group'], safe='')}"},
        "state": {"text": entry["state"], "tone": "good" if entry["state"] == "Stable" else ""},
        "members": number(entry["members"]),
        "partitions": number(entry["partitions"]),
        "lag": number(entry["lag"]),
    }
