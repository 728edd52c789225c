"""Topics: all of them in a list to search, and making a new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from headrace.admin.errors import Problem
from headrace.admin.times import duration, number, size
from headrace.console import parts
from headrace.console.cluster import TopicRow
from headrace.console.elements import Check, Field, Tag
from headrace.console.listing import Listing
from headrace.console.page import page
from headrace.console.view import View

EVERY_S = 4.0
COLUMNS = (
    {"name": "topic", "label": "Topic", "sortable": True},
    {"name": "partitions", "label": "Partitions", "align": "end", "sortable": True},
    {"name": "replicas", "label": "Replicas", "align": "end", "sortable": True},
    {"name": "records", "label": "Records", "align": "end", "sortable": True},
    {"name": "bytes", "label": "Size", "align": "end", "sortable": True},
    {"name": "rate", "label": "Records/s", "align": "end", "sortable": True},
    {"name": "retention", "label": "Kept for", "align": "end"},
    {"name": "policy", "label": "Clean-up", "keep": True},
)


@page("/topics", "Topics", icon="segment", order=20)
async def topics(view: View) -> None:
    cluster = view.console.cluster
    internal = False

    async def refresh() -> None:
        rows = await cluster.topic_rows(internal=internal)
        listing.show([_entry(row) for row in rows])
        await settings()

    async def settings() -> None:
        """Retention and policy of what is on the page, asked for in one go."""
        names = [str(one["id"]) for one in listing.shown]
        found = await cluster.topic_settings(names)
        for name, entries in found.items():
            known[name] = {entry.name: entry.value or "" for entry in entries}
        listing.show(listing_entries())

    def listing_entries() -> list[Mapping[str, Any]]:
        return [one | _kept(known.get(str(one["id"]), {})) for one in map(dict, listing.entries)]

    async def show_internal(wanted: bool) -> None:
        nonlocal internal
        internal = wanted
        await view.attempt(refresh)

    known: dict[str, dict[str, str]] = {}
    with parts.heading("Topics"):
        Check("Internal topics", on_change=show_internal)
        if not view.read_only:
            parts.button("Create topic", lambda: create(view, refresh), kind="primary", icon="add")
    with parts.card():
        listing = Listing(
            "Topics",
            COLUMNS,
            _cells,
            search="Search topics",
            searched=("topic",),
            sort=("topic", False),
            empty="There are no topics yet",
            on_page=lambda: view.attempt(settings),
            export=view.console.settings.export,
            name="topics",
        )
    await view.live(EVERY_S, refresh)


def _entry(row: TopicRow) -> dict[str, Any]:
    return {
        "id": row.name,
        "topic": row.name,
        "partitions": row.partitions,
        "replicas": row.replicas,
        "records": row.records,
        "bytes": row.bytes,
        "rate": None if row.rate is None else round(row.rate, 1),
    }


def _kept(settings: Mapping[str, str]) -> dict[str, Any]:
    return {"retention": settings.get("retention.ms"), "policy": settings.get("cleanup.policy")}


def _cells(entry: Mapping[str, Any]) -> dict[str, Any]:
    name, policy = str(entry["topic"]), entry.get("policy")
    return {
        "topic": {"text": name, "href": f"/topics/{quote(name, safe='')}"},
        "partitions": number(entry["partitions"]),
        "replicas": number(entry["replicas"]),
        "records": number(entry["records"]),
        "bytes": "-" if entry["bytes"] is None else size(entry["bytes"]),
        "rate": per_second(entry["rate"]),
        "retention": kept_for(entry.get("retention"), policy),
        "policy": policy or "-",
    }


def per_second(rate: float | None) -> str:
    if rate is None:
        return "-"
    return f"{rate:,.1f}" if 0 < abs(rate) < 10 else f"{rate:,.0f}"


def kept_for(retention_ms: str | None, policy: str | None) -> str:
    if retention_ms is None:
        return "-"
    if policy is not None and "delete" not in policy:
        return "for ever"
    return "for ever" if int(retention_ms) < 0 else duration(int(retention_ms))


def create(view: View, refresh: Any) -> None:
    dialog = parts.Dialog("Create a topic")
    with dialog.body, Tag("div", classes="hr-form"):
        with Tag("div", classes="hr-wide"):
            name = Field("Name", placeholder="orders")
        partitions = Field("Partitions", "1", kind="number")
        replicas = Field("Replicas", "", kind="number", placeholder="the broker's default")
        policy = Field(
            "Clean-up",
            "",
            options=(
                ("", "The broker's default"),
                ("delete", "delete: old records go"),
                ("compact", "compact: the last of each key stays"),
                ("compact,delete", "compact,delete: both"),
            ),
        )
        retention = Field("Keep for (ms)", "", kind="number", placeholder="the broker's default")

    async def make() -> None:
        if not name.value.strip():
            raise Problem("A topic needs a name", "Use letters, digits, dot, dash and underscore")
        settings = {"cleanup.policy": policy.value, "retention.ms": retention.value.strip()}
        await view.console.cluster.create_topic(
            name.value.strip(),
            whole(partitions.value, "Partitions", -1),
            whole(replicas.value, "Replicas", -1),
            {key: value for key, value in settings.items() if value},
        )
        parts.said(f"Topic {name.value.strip()} is there")
        await refresh()

    dialog.offer("Create", make)
    dialog.open()


def whole(text: str, name: str, otherwise: int) -> int:
    """A number from a field; nothing means the default."""
    if not text.strip():
        return otherwise
    try:
        return int(text)
    except ValueError:
        raise Problem(f"{name}: '{text}' is no whole number") from None
