"""The newest records of a topic as they come. However many come, a page shows a few dozen a second and says how many it passed over."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from nicegui import ui

from headrace.admin.times import number
from headrace.console import parts
from headrace.console.elements import DataTable, Tag
from headrace.console.records import Record
from headrace.console.tail import Glimpse, Tail
from headrace.console.topic import detail
from headrace.console.view import View

KEPT = 60


async def panel(view: View, topic: str, is_open: Callable[[], bool]) -> None:
    newest: deque[Record] = deque(maxlen=KEPT)
    seen = 0
    going = True
    loop, client = asyncio.get_running_loop(), ui.context.client

    def pause() -> None:
        nonlocal going
        going = not going
        toggle.attribute("aria-pressed", "false" if going else "true")
        state.say("Following" if going else "Paused")
        state.attribute("data-tone", "good" if going else "warn")

    def came(glimpse: Glimpse) -> None:
        nonlocal seen
        if not going or client.is_deleted:
            return
        if glimpse.problem:
            problem.show("The newest records cannot be read", glimpse.problem)
            return
        problem.hide()
        newest.extend(glimpse.records)
        seen += len(glimpse.records) + glimpse.passed_over
        passed = f", {number(glimpse.passed_over)} of the last second passed over" if glimpse.passed_over else ""
        count.say(f"{number(seen)} records since this page was opened{passed}")
        table.show([one.row() | {"offset": detail.opener(one)} for one in reversed(newest)])

    with parts.card():
        with Tag("div", classes="hr-row"):
            state = parts.chip("Following", "good")
            toggle = parts.button("Pause", pause, icon="pause")
            count = Tag("span", "Waiting for records", "hr-soft hr-small")
        problem = parts.Note()
        table = DataTable(
            f"Newest records of {topic}",
            detail.COLUMNS,
            empty="Nothing has come since this page was opened",
            on_act=lambda place, _: detail.show(next((one for one in newest if one.place == place), None)),
        )
    known = await view.console.cluster.topic(topic)
    tail = Tail(
        view.console.cluster.plain,
        topic,
        sorted(known.partitions),
        lambda glimpse: loop.call_soon_threadsafe(came, glimpse),
        lens=view.console.lens,
        wanted=lambda: going and view.visible and is_open(),
    )
    client.on_delete(tail.stop)
    tail.start()
