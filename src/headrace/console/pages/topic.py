"""One topic: its figures, its records, its partitions, who reads it, its settings; writing to it and deleting it."""

from __future__ import annotations

from nicegui import ui

from headrace.admin.times import number, size
from headrace.console import parts
from headrace.console.page import page
from headrace.console.pages.topics import kept_for, per_second
from headrace.console.tabs import Tabs
from headrace.console.topic import importing, live, partitions, produce, readers, records, settings
from headrace.console.view import View

EVERY_S = 4.0


@page("/topics/{name}", "Topic", section="/topics")
async def topic(view: View, name: str) -> None:
    cluster = view.console.cluster
    ui.page_title(f"{name} - Headrace")
    with parts.heading(name, crumbs=(("Topics", "/topics"),)):
        if not view.read_only:
            parts.button("Produce", lambda: produce.dialog(view, name), kind="primary", icon="send")
            if view.console.settings.imports:
                parts.button("Import", lambda: importing.dialog(view, name), icon="upload")
            parts.button("Delete", lambda: _delete(view, name), kind="danger", icon="delete")
    held, rate, space, spread, kept = parts.figures("Records", "Records/s", "Size", "Partitions", "Kept for")
    await cluster.topic(name)

    async def refresh() -> None:
        known = await cluster.topic(name)
        rows = {row.name: row for row in await cluster.topic_rows(internal=True)}
        row = rows.get(name)
        if row is None:
            return
        held.show(number(row.records))
        rate.show(per_second(row.rate))
        space.show("-" if row.bytes is None else size(row.bytes))
        missing = [index for index, one in known.partitions.items() if one.leader < 0]
        behind = [index for index, one in known.partitions.items() if len(one.isrs) < len(one.replicas)]
        hint = f"{row.replicas} replica{'s' if row.replicas != 1 else ''} each"
        if missing or behind:
            hint = f"{len(missing)} without a leader" if missing else f"{len(behind)} with replicas behind"
        spread.show(number(row.partitions), hint, "bad" if missing else ("warn" if behind else ""))
        values = {entry.name: entry.value for entry in (await cluster.topic_settings([name]))[name]}
        kept.show(
            kept_for(values.get("retention.ms"), values.get("cleanup.policy")), values.get("cleanup.policy") or ""
        )

    await view.live(EVERY_S, refresh)
    tabs = Tabs(
        view,
        "About this topic",
        (
            ("records", "Records", lambda: records.panel(view, name)),
            ("live", "Live", lambda: live.panel(view, name, lambda: tabs.chosen == "live")),
            ("partitions", "Partitions", lambda: partitions.panel(view, name)),
            ("readers", "Readers", lambda: readers.panel(view, name)),
            ("settings", "Settings", lambda: settings.panel(view, name)),
        ),
    )
    await tabs.open()


def _delete(view: View, name: str) -> None:
    async def delete() -> None:
        await view.console.cluster.delete_topic(name)
        ui.navigate.to("/topics")

    parts.confirm_by_name(
        f"Delete {name}",
        "All records of this topic go, on every broker. This cannot be undone.",
        name,
        "Delete topic",
        delete,
        f"Topic {name} is deleted",
    )
