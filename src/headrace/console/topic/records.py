"""Browsing a topic: from an offset, a time or the newest back, in one partition or all, by text or expression; filters to keep; what was found as a file."""

from __future__ import annotations

import json
from typing import Any

from nicegui import ui

from headrace.admin.errors import Problem
from headrace.admin.positions import Position
from headrace.admin.times import number, parse_time_ms
from headrace.console import exporting, parts
from headrace.console.browsing import Filter, Found, Query, Where, find
from headrace.console.elements import DataTable, Field, Tag
from headrace.console.pages.topics import whole
from headrace.console.records import Record
from headrace.console.topic import detail
from headrace.console.view import View

MOST_ON_PAGE = 500
STORE = "headrace.filters"
_FROM = (("last", "the newest"), ("beginning", "the beginning"), ("offset", "an offset"), ("time", "a time"))
_IN = (("anywhere", "anywhere"), ("key", "in keys"), ("value", "in values"), ("headers", "in headers"))
_LIMITS = (("25", "25"), ("100", "100"), ("500", "500"))


class Browser:
    """The form, and what it found."""

    def __init__(self, view: View, topic: str, partitions: list[int]) -> None:
        self._view, self._topic = view, topic
        self._records: dict[str, Record] = {}
        self._query: Query | None = None
        self._found: Found | None = None
        self._asks = 0
        self._saved: dict[str, dict[str, str]] = {}
        with parts.card():
            with Tag("div", classes="hr-form"):
                self._from = Field("From", "last", options=_FROM, on_change=self._from_changed)
                self._at = Field("Offset or time", placeholder="1200, -5m or 2026-01-31T12:00", on_enter=self.search)
                self._at.enable(False)
                choices = [("", "all"), *((str(index), str(index)) for index in partitions)]
                self._partition = Field("Partition", "", options=choices)
                self._limit = Field("At a time", "25", options=_LIMITS)
                self._text = Field("With the text", placeholder="any letters", on_enter=self.search)
                self._where = Field("Where", "anywhere", options=_IN)
                with Tag("div", classes="hr-wide"):
                    self._expression = Field(
                        "Expression",
                        placeholder='value.amount > 100 and key == "a" and contains(headers.trace, "7f")',
                        on_enter=self.search,
                    )
            with Tag("div", classes="hr-row"):
                parts.button("Search", self.search, kind="primary", icon="search")
                self._filters = Field("Saved filters", "", options=[("", "none")], on_change=self._load)
                parts.button("Save filter", self._ask_for_name, icon="bookmark_add")
                self._forget_button = parts.button("Forget filter", self._forget, kind="quiet", disabled=True)
        self._problem = parts.Note()
        with parts.card():
            with Tag("div", classes="hr-row"):
                self._count = Tag("span", "", "hr-soft hr-small hr-grow", aria_live="polite")
                if view.console.settings.export:
                    for form in ("CSV", "JSONL"):
                        label = f"Save these records as {form}"
                        parts.button(form, lambda form=form: self._export(form), icon="download", label=label)
            self._table = DataTable(
                f"Records of {topic}",
                detail.COLUMNS,
                empty="No records",
                on_act=lambda place, _: detail.show(self._records.get(place)),
            )
            self._more = parts.button("Search on", self.go_on, icon="expand_more")
            self._more.visible = False

    async def search(self) -> None:
        self._asks += 1
        try:
            self._query = self._asked()
        except Problem as error:
            self._problem.problem(error)
            self._count.say("")
            return
        self._records = {}
        await self._run(self._query)

    async def go_on(self) -> None:
        if self._query is not None and self._found is not None:
            self._asks += 1
            await self._run(self._found.next(self._query))

    def _asked(self) -> Query:
        kind, at = self._from.value, self._at.value.strip()
        if kind == "offset":
            begin = Position("offset", whole(at, "Offset", 0))
        elif kind == "time":
            begin = Position("time", parse_time_ms(at))
        else:
            begin = Position("last" if kind == "last" else "beginning")
        partitions = None if not self._partition.value else (int(self._partition.value),)
        return Query(self._topic, begin, partitions, self._filter(), int(self._limit.value))

    def _filter(self) -> Filter:
        known = dict(_IN)
        where: Where = self._where.value if self._where.value in known else "anywhere"  # type: ignore[assignment]
        wanted = Filter(self._text.value, where, self._expression.value)
        wanted.test()
        return wanted

    async def _run(self, query: Query) -> None:
        """What an earlier question finds after a later one was asked is of no interest any more."""
        lens, asked = self._view.console.lens, self._asks
        self._count.say("Searching …")
        try:
            found = await self._view.console.cluster.do(lambda c: find(c, query, lens))
        except Problem as error:
            if asked == self._asks:
                self._problem.problem(error)
                self._count.say("")
            return
        if asked != self._asks:
            return
        self._problem.hide()
        self._found = found
        self._records |= {one.place: one for one in found.records}
        self._render(found)

    def _render(self, found: Found) -> None:
        newest = sorted(self._records.values(), key=lambda one: (-(one.timestamp_ms or 0), one.partition, -one.offset))
        newest = newest[:MOST_ON_PAGE]
        self._table.show([one.row() | {"offset": detail.opener(one)} for one in newest])
        rest = sum(span.end - span.start for span in found.rest.values())
        looked = f"{number(len(self._records))} found, {number(found.scanned)} looked at"
        self._count.say(f"{looked}, about {number(rest)} more to search" if rest else f"{looked}, that is all")
        self._more.visible = bool(rest)

    async def _from_changed(self, kind: str) -> None:
        self._at.enable(kind in ("offset", "time"))

    def _export(self, form: str) -> None:
        if not self._records:
            parts.said("There are no records to save", good=False)
            return
        ordered = sorted(self._records.values(), key=lambda one: (one.timestamp_ms or 0, one.partition, one.offset))
        exporting.save(f"{self._topic}.{form.lower()}", exporting.record_file(ordered, form))

    # Saved filters are the browser's own: they are in its local storage, for all topics.

    async def load_saved(self) -> None:
        text = await ui.run_javascript(f'localStorage.getItem("{STORE}")', timeout=5.0)
        try:
            stored = json.loads(text) if text else {}
        except ValueError:
            stored = {}
        self._saved = {str(name): dict(each) for name, each in stored.items() if isinstance(each, dict)}
        self._filters.choices([("", "none"), *((name, name) for name in sorted(self._saved))])

    def _load(self, name: str) -> None:
        chosen = self._saved.get(name)
        self._forget_button.attribute("disabled", None if chosen else True)
        if chosen is not None:
            self._text.value = str(chosen.get("text", ""))
            self._where.value = str(chosen.get("where", "anywhere"))
            self._expression.value = str(chosen.get("expression", ""))

    def _ask_for_name(self) -> None:
        dialog = parts.Dialog("Save this filter")
        with dialog.body:
            name = Field("Name", self._filters.value)

        async def save() -> None:
            if not name.value.strip():
                raise Problem("A filter needs a name")
            wanted = self._filter()
            made = {"text": wanted.text, "where": wanted.where, "expression": wanted.expression}
            self._saved[name.value.strip()] = made
            await self._store(name.value.strip())

        dialog.offer("Save", save, done="The filter is saved in this browser")
        dialog.open()

    async def _forget(self) -> None:
        self._saved.pop(self._filters.value, None)
        await self._store("")

    async def _store(self, chosen: str) -> None:
        text: Any = json.dumps(json.dumps(self._saved))
        await ui.run_javascript(f'localStorage.setItem("{STORE}", {text})', timeout=5.0)
        self._filters.choices([("", "none"), *((name, name) for name in sorted(self._saved))])
        self._filters.value = chosen
        self._forget_button.attribute("disabled", None if chosen else True)


async def panel(view: View, topic: str) -> None:
    known = await view.console.cluster.topic(topic)
    browser = Browser(view, topic, sorted(known.partitions))
    ui.context.client.on_connect(browser.load_saved)
    if ui.context.client.has_socket_connection:
        await browser.load_saved()
    ui.timer(0.05, browser.search, once=True)
