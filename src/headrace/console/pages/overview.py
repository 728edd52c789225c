"""Overview: does everything answer, what flows, what falls behind, what went wrong."""

from __future__ import annotations

import time
from collections.abc import Sequence
from urllib.parse import quote

from headrace.admin.times import number, size
from headrace.console import parts
from headrace.console.cluster import GroupRow
from headrace.console.elements import DataTable, Tag
from headrace.console.page import page
from headrace.console.pages.topics import per_second
from headrace.console.services import ServiceState
from headrace.console.state import Event
from headrace.console.view import View

EVERY_S = 4.0
BUSIEST = 8
_GROWS = 0.05


@page("/", "Overview", icon="space_dashboard", order=10)
async def overview(view: View) -> None:
    console, cluster = view.console, view.console.cluster
    with parts.heading("Overview"):
        pass
    into, out, behind, records, disk = parts.figures("Records in/s", "Records out/s", "Lag", "Topics", "On disk")
    with Tag("div", classes="hr-cols"):
        with parts.card("Services"):
            services = [_Service() for _ in range(3)]
        with parts.card("Lag that grows", hint="Groups that read more slowly than records come"):
            growing = DataTable(
                "Groups whose lag grows",
                (
                    {"name": "group", "label": "Group"},
                    {"name": "lag", "label": "Lag", "align": "end"},
                    {"name": "growth", "label": "Grows by/s", "align": "end"},
                ),
                empty="Nobody falls behind",
            )
    with Tag("div", classes="hr-cols"):
        with parts.card("Busiest topics"):
            busiest = DataTable(
                "Topics with the most records a second",
                (
                    {"name": "topic", "label": "Topic"},
                    {"name": "rate", "label": "Records/s", "align": "end"},
                    {"name": "records", "label": "Records", "align": "end"},
                    {"name": "bytes", "label": "Size", "align": "end"},
                ),
                empty="There are no topics yet",
            )
        with parts.card("Newest errors"):
            errors = DataTable(
                "What went wrong lately",
                (
                    {"name": "when", "label": "When", "keep": True},
                    {"name": "source", "label": "Where"},
                    {"name": "text", "label": "What"},
                ),
                empty="Nothing went wrong since the console was started",
            )

    async def look_at_services() -> None:
        for place, state in zip(services, await console.services()):
            place.show(state)
        errors.show(_events([*console.events, *await _failed(view)]))

    async def look_at_cluster() -> None:
        rows = await cluster.topic_rows(internal=True)
        known = [row for row in rows if not row.name.startswith("__")]
        total = cluster.ends.total_rate()
        into.show(per_second(total), "all topics")
        records.show(number(len(known)), f"{number(sum(row.partitions for row in known))} partitions")
        held = [row.bytes for row in rows if row.bytes is not None]
        space = await cluster.disk()
        disk.show(
            size(sum(held)) if held else "-",
            f"{size(space.usable)} free of {size(space.total)}" if space else "",
            "bad" if space and space.usable < space.total * 0.05 else "",
        )
        busy = sorted(known, key=lambda row: (-(row.rate or 0), row.name))[:BUSIEST]
        busiest.show(
            [
                {
                    "id": row.name,
                    "topic": {"text": row.name, "href": f"/topics/{quote(row.name, safe='')}"},
                    "rate": per_second(row.rate),
                    "records": number(row.records),
                    "bytes": "-" if row.bytes is None else size(row.bytes),
                }
                for row in busy
            ]
        )

    async def look_at_groups() -> None:
        rows = await cluster.group_rows()
        lags = [row.lag for row in rows if row.lag is not None]
        slow = [row for row in rows if (row.growth or 0) > _GROWS]
        behind.show(number(sum(lags)) if lags else "-", f"{len(rows)} groups", "warn" if slow else "")
        out.show(per_second(cluster.commits.total_rate()), "committed by groups")
        growing.show(_growing(slow))

    await view.live(EVERY_S, look_at_services, look_at_cluster, look_at_groups)


async def _failed(view: View) -> list[Event]:
    """Pipelines that stand still, with their reason."""
    from headrace.admin.errors import Problem

    try:
        known = await view.console.engine.pipelines()
    except Problem:
        return []  # the card of services says that the engine does not answer
    return [Event(time.time(), f"Pipeline {each['name']}", str(each["error"])) for each in known if each.get("error")]


def _events(events: Sequence[Event]) -> list[dict[str, object]]:
    newest = sorted(events, key=lambda one: -one.at)[:12]
    return [
        {
            "id": f"{one.at}-{one.source}-{index}",
            "when": time.strftime("%H:%M:%S", time.localtime(one.at)),
            "source": one.source,
            "text": {"text": one.text, "tone": "good"} if one.good else one.text,
        }
        for index, one in enumerate(newest)
    ]


def _growing(rows: Sequence[GroupRow]) -> list[dict[str, object]]:
    return [
        {
            "id": row.name,
            "group": {"text": row.name, "href": f"/groups/{quote(row.name, safe='')}"},
            "lag": number(row.lag),
            "growth": per_second(row.growth),
        }
        for row in sorted(rows, key=lambda row: -(row.growth or 0))[:BUSIEST]
    ]


class _Service:
    """One service: a dot, its name and address, how it is, and what to do."""

    def __init__(self) -> None:
        with Tag("div", classes="hr-service"):
            self._dot = Tag("span", "", "hr-dot", aria_hidden="true")
            with Tag("div", classes="hr-row"):
                self._name = Tag("h3", "-")
                self._state = parts.chip("asking")
                self._address = Tag("span", "", "hr-mono hr-soft hr-small")
            self._detail = Tag("div", "", "hr-more hr-small")
            self._next = Tag("div", "", "hr-more hr-small hr-soft")

    def show(self, state: ServiceState) -> None:
        tone = "good" if state.up else ("warn" if state.optional else "bad")
        self._dot.attribute("data-tone", tone)
        self._state.attribute("data-tone", tone)
        self._state.say("up" if state.up else "down")
        self._name.say(state.name)
        self._address.say(state.address)
        self._detail.say(state.detail)
        self._next.say("" if state.up else state.next_step)
