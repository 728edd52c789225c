"""One group: its members and what they read, its lag over time, moving its offsets with a look at where to first, deleting it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from nicegui import ui

from headrace.admin import groups as described
from headrace.admin.errors import Problem, unknown_group
from headrace.admin.groups import Progress
from headrace.admin.reset import Move, Target
from headrace.admin.times import number
from headrace.console import parts
from headrace.console.cluster import total_lag
from headrace.console.elements import DataTable, Field, Tag
from headrace.console.listing import Listing
from headrace.console.page import page
from headrace.console.pages.groups import TONES
from headrace.console.pages.topics import per_second, whole
from headrace.console.plots import Plot
from headrace.console.view import View

EVERY_S = 4.0
_PARTITIONS = (
    {"name": "topic", "label": "Topic", "sortable": True},
    {"name": "partition", "label": "Partition", "align": "end", "sortable": True},
    {"name": "committed", "label": "Committed", "align": "end"},
    {"name": "end", "label": "End offset", "align": "end"},
    {"name": "lag", "label": "Lag", "align": "end", "sortable": True},
    {"name": "reader", "label": "Read by"},
)
_MEMBERS = (
    {"name": "client", "label": "Client"},
    {"name": "host", "label": "Host"},
    {"name": "member", "label": "Member", "mono": True},
    {"name": "partitions", "label": "Partitions"},
)
_TARGETS = (
    ("earliest", "the beginning"),
    ("latest", "the end"),
    ("offset", "an offset"),
    ("time", "a time"),
    ("shift", "so many records on (or back, with a minus)"),
)


@page("/groups/{name}", "Group", section="/groups")
async def group(view: View, name: str) -> None:
    cluster = view.console.cluster
    ui.page_title(f"{name} - Headrace")
    known: list[Progress] = []
    with parts.heading(name, crumbs=(("Groups", "/groups"),)):
        if not view.read_only:
            parts.button("Reset offsets", lambda: _reset(view, name, known, refresh), kind="primary", icon="restore")
            parts.button("Delete", lambda: _delete(view, name), kind="danger", icon="delete")
    state, members, lag, growth = parts.figures("State", "Members", "Lag", "Lag grows by/s")
    with parts.card("Lag over time"):
        plot = Plot("Lag over time")
    with parts.card("Partitions"):
        partitions = Listing(
            f"Partitions that {name} reads",
            _PARTITIONS,
            _partition,
            sort=("lag", True),
            empty="It has committed nothing and reads nothing",
            export=view.console.settings.export,
            name=f"{name}-partitions",
        )
    with parts.card("Members"):
        readers = DataTable(f"Members of {name}", _MEMBERS, empty="Nobody is in this group now")

    async def refresh() -> None:
        everyone = await cluster.groups()
        if name not in everyone:
            raise unknown_group(name, everyone)
        description, rows = everyone[name]
        known[:] = rows
        now = described.state_name(description)
        state.show(now, tone=TONES.get(now, "warn"))  # type: ignore[arg-type]
        members.show(number(len(description.members)))
        lag.show(number(total_lag(rows)))
        rate = cluster.lags.rate(name)
        growth.show(per_second(rate), tone="warn" if (rate or 0) > 0.05 else "")
        plot.show({"lag": cluster.lags.of(name)})
        partitions.show([_entry(row) for row in rows])
        readers.show([_member(one) for one in description.members])

    await view.live(EVERY_S, refresh)


def _entry(row: Progress) -> dict[str, Any]:
    return {
        "id": f"{row.topic}:{row.partition}",
        "topic": row.topic,
        "partition": row.partition,
        "committed": row.committed,
        "end": row.end,
        "lag": row.lag,
        "reader": row.client_id or "",
    }


def _partition(entry: Any) -> dict[str, Any]:
    shown = {name: number(entry[name]) for name in ("partition", "committed", "end", "lag")}
    return {
        "topic": {"text": entry["topic"], "href": f"/topics/{quote(entry['topic'], safe='')}"},
        **shown,
        "reader": entry["reader"] or "nobody",
    }


def _member(member: Any) -> dict[str, Any]:
    assigned = member.assignment.topic_partitions if member.assignment else []
    return {
        "id": member.member_id,
        "client": member.client_id,
        "host": member.host,
        "member": member.member_id,
        "partitions": ", ".join(f"{one.topic}-{one.partition}" for one in assigned) or "none",
    }


def _reset(view: View, name: str, rows: Sequence[Progress], refresh: Any) -> None:
    dialog = parts.Dialog(f"Reset offsets of {name}", wide=True)
    moves: list[Move] = []
    topics = sorted({row.topic for row in rows})
    with dialog.body:
        with Tag("div", classes="hr-form"):
            topic = Field("Topic", "", options=[("", "all that it has committed"), *((each, each) for each in topics)])
            to = Field("To", "earliest", options=_TARGETS, on_change=lambda _: forget())
            at = Field("Offset, time or number", placeholder="1200, -5m, 2026-01-31T12:00 or -100")
        table = DataTable(
            "Where the offsets would move",
            (
                {"name": "topic", "label": "Topic"},
                {"name": "partition", "label": "Partition", "align": "end"},
                {"name": "old", "label": "From", "align": "end"},
                {"name": "new", "label": "To", "align": "end"},
                {"name": "change", "label": "Reads again or skips", "align": "end"},
            ),
            empty="Preview shows where the offsets would move; nothing moves before you apply it",
        )

    def forget() -> None:
        moves.clear()
        table.show([])
        apply.attribute("disabled", True)

    async def preview() -> None:
        forget()
        chosen = [topic.value] if topic.value else []
        moves.extend(await view.console.cluster.preview_reset(name, chosen, _target(to.value, at.value.strip())))
        table.show([_move(one) for one in moves])
        apply.attribute("disabled", None)

    async def move() -> None:
        await view.console.cluster.reset_group(name, moves)
        await refresh()

    dialog.offer("Preview", preview, kind="plain", close=False)
    apply = dialog.offer("Apply", move, done=f"Offsets of {name} are moved")
    apply.attribute("disabled", True)
    dialog.open()


def _target(kind: str, at: str) -> Target:
    if kind in ("earliest", "latest"):
        return Target(earliest=kind == "earliest", latest=kind == "latest")
    if not at:
        raise Problem("Where to?", "Write an offset, a time or a number of records")
    if kind == "time":
        return Target(datetime=at)
    amount = whole(at, "The number", 0)
    return Target(offset=amount) if kind == "offset" else Target(shift_by=amount)


def _move(one: Move) -> dict[str, Any]:
    if one.old is None:
        change = "-"
    else:
        by = one.new - one.old
        change = "nothing" if not by else f"{number(abs(by))} {'skipped' if by > 0 else 'again'}"
    return {
        "id": f"{one.topic}:{one.partition}",
        "topic": one.topic,
        "partition": number(one.partition),
        "old": number(one.old),
        "new": number(one.new),
        "change": change,
    }


def _delete(view: View, name: str) -> None:
    async def delete() -> None:
        await view.console.cluster.delete_group(name)
        ui.navigate.to("/groups")

    parts.confirm_by_name(
        f"Delete {name}",
        "The group forgets how far it has read. The topics stay as they are.",
        name,
        "Delete group",
        delete,
        f"Group {name} is deleted",
    )
