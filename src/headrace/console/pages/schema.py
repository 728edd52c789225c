"""One subject: its versions, a schema in full, what differs between two versions, a new version that is checked before it is registered."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from headrace.console import parts
from headrace.console.elements import Field, Tag
from headrace.console.page import page
from headrace.console.schema.register import ask_for_schema
from headrace.console.schema.text import compared, pretty
from headrace.console.view import View

EVERY_S = 6.0


@page("/schemas/{name:path}", "Subject", section="/schemas")
async def subject(view: View, name: str) -> None:
    registry = view.console.registry
    ui.page_title(f"{name} - Headrace")
    newest: dict[str, Any] = {}

    def new_version() -> None:
        kind, text = newest.get("schemaType") or "AVRO", pretty(str(newest.get("schema", "")))
        ask_for_schema(view, refresh, name, kind, text, newest.get("references") or ())

    with parts.heading(name, crumbs=(("Schemas", "/schemas"),)):
        if not view.read_only:
            parts.button("New version", new_version, kind="primary", icon="add")
    kind, count, latest, level = parts.figures("Type", "Versions", "Newest id", "Compatibility")
    with parts.card("Schema"):
        with Tag("div", classes="hr-form"):
            shown = Field("Version", "", options=[], on_change=lambda _: draw())
            other = Field("Compared with", "", options=[("", "nothing")], on_change=lambda _: draw())
        about = Tag("p", "", "hr-soft hr-small", aria_live="polite")
        place = Tag("div")

    async def draw() -> None:
        async def ask() -> None:
            after = await registry.version(name, int(shown.value))
            before = await registry.version(name, int(other.value)) if other.value else None
            uses = [
                f"{one['name']} is {one['subject']} version {one['version']}" for one in after.get("references") or ()
            ]
            about.say(f"Id {after['id']}. {'; '.join(uses)}")
            place.clear()
            with place:
                _text(str(after["schema"]), None if before is None else str(before["schema"]))

        if shown.value:
            await view.attempt(ask)

    async def refresh() -> None:
        versions = await registry.versions(name)
        known = await registry.version(name, versions[-1])
        is_new = known.get("version") != newest.get("version")
        newest.update(known)
        kind.show(known.get("schemaType") or "AVRO")
        count.show(str(len(versions)))
        latest.show(str(known["id"]))
        level.show(await registry.level(name))
        if is_new:
            choices = [(str(one), str(one)) for one in reversed(versions)]
            shown.choices(choices)
            other.choices([("", "nothing"), *choices])
            shown.value = str(versions[-1])
            other.value = str(versions[-2]) if len(versions) > 1 else ""
            await draw()

    await view.live(EVERY_S, refresh)


def _text(after: str, before: str | None) -> None:
    if before is None:
        Tag("pre", pretty(after), "hr-pre", tabindex="0", role="region", aria_label="The schema")
        return
    lines = compared(before, after)
    with Tag("div", classes="hr-pre hr-diff", tabindex="0", role="region", aria_label="What differs"):
        for line in lines:
            Tag("div", f"{line.sign} {line.text}", data_kind=line.kind)
