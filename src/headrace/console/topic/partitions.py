"""A topic's partitions: where their records begin and end, who leads them, how large they are."""

from __future__ import annotations

from headrace.admin.times import number, size
from headrace.console import parts
from headrace.console.listing import Listing
from headrace.console.view import View

EVERY_S = 4.0
COLUMNS = (
    {"name": "partition", "label": "Partition", "sortable": True},
    {"name": "first", "label": "First offset", "align": "end", "sortable": True},
    {"name": "end", "label": "End offset", "align": "end", "sortable": True},
    {"name": "records", "label": "Records", "align": "end", "sortable": True},
    {"name": "bytes", "label": "Size", "align": "end", "sortable": True},
    {"name": "leader", "label": "Leader", "align": "end"},
    {"name": "replicas", "label": "Replicas", "align": "end"},
    {"name": "in_sync", "label": "In sync", "align": "end"},
)


async def panel(view: View, topic: str) -> None:
    cluster = view.console.cluster
    with parts.card():
        listing = Listing(
            f"Partitions of {topic}",
            COLUMNS,
            _cells,
            sort=("partition", False),
            export=view.console.settings.export,
            name=f"{topic}-partitions",
        )

    async def refresh() -> None:
        known = await cluster.topic(topic)
        starts, ends, sizes = await cluster.start_offsets(), await cluster.end_offsets(), await cluster.sizes()
        listing.show(
            [
                {
                    "id": str(index),
                    "partition": index,
                    "first": starts.get((topic, index)),
                    "end": ends.get((topic, index)),
                    "records": _between(starts.get((topic, index)), ends.get((topic, index))),
                    "bytes": sizes.get((topic, index)),
                    "leader": one.leader if one.leader >= 0 else None,
                    "replicas": ", ".join(map(str, one.replicas)),
                    "in_sync": ", ".join(map(str, one.isrs)),
                }
                for index, one in known.partitions.items()
            ]
        )

    await view.live(EVERY_S, refresh)


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else max(0, end - start)


def _cells(entry: object) -> dict[str, object]:
    assert isinstance(entry, dict)
    shown = {name: number(entry[name]) for name in ("partition", "first", "end", "records")}
    shown["bytes"] = "-" if entry["bytes"] is None else size(entry["bytes"])
    leader = entry["leader"]
    return {
        **shown,
        "leader": {"text": "none", "tone": "bad"} if leader is None else str(leader),
        "replicas": entry["replicas"],
        "in_sync": entry["in_sync"],
    }
