"""A list that may be long: found by a few letters, sorted by a column, shown a page at a time. All of that on the server, so that a browser never holds more than one page of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.admin.errors import Problem
from headrace.console import exporting, parts
from headrace.console.elements import Column, DataTable, Field, Tag

PER_PAGE = 50

Entry = Mapping[str, Any]
"""`id`, and a plain value for each column, by which it is sorted, searched and exported."""


class Listing:
    """`cells` turns an entry into what is shown; the entry itself stays plain."""

    def __init__(
        self,
        caption: str,
        columns: Sequence[Column],
        cells: Callable[[Entry], dict[str, Any]],
        *,
        search: str = "",
        searched: Sequence[str] = (),
        sort: tuple[str, bool] | None = None,
        empty: str = "Nothing here",
        on_act: Callable[[str, str], Any] | None = None,
        on_page: Callable[[], Any] | None = None,
        export: bool = False,
        name: str = "table",
    ) -> None:
        self._cells, self._searched, self._sort, self._empty = cells, list(searched), sort, empty
        self._entries: list[Entry] = []
        self._found: list[Entry] = []
        self._page = 0
        self._words = ""
        self._on_page = on_page
        self._name = name
        with Tag("div", classes="hr-row"):
            if search:
                with Tag("div", classes="hr-grow"):
                    Field(search, placeholder="a few letters", kind="search", on_change=self._search)
            if export:
                for form in ("CSV", "JSONL"):
                    parts.button(
                        form, lambda form=form: self._export(form), icon="download", label=f"Save this table as {form}"
                    )
        self.table = DataTable(caption, columns, empty=empty, on_sort=self._sort_by, on_act=on_act)
        with Tag("div", classes="hr-pager") as self._pager:
            self._count = Tag("span", "", aria_live="polite")
            with Tag("div", classes="hr-row"):
                self._back = parts.button("Previous", lambda: self._turn(-1), label="Previous page")
                self._on = parts.button("Next", lambda: self._turn(1), label="Next page")

    @property
    def shown(self) -> list[Entry]:
        """The entries on the page that is open."""
        return self._found[self._page * PER_PAGE : (self._page + 1) * PER_PAGE]

    @property
    def entries(self) -> list[Entry]:
        """All of them, found or not."""
        return self._entries

    def show(self, entries: Sequence[Entry]) -> None:
        self._entries = list(entries)
        self._render()

    async def _search(self, words: str) -> None:
        self._words, self._page = words, 0
        self._render()
        await self._tell()

    async def _sort_by(self, column: str) -> None:
        self._sort = (column, not self._sort[1]) if self._sort and self._sort[0] == column else (column, False)
        self._render()
        await self._tell()

    async def _turn(self, pages: int) -> None:
        self._page += pages
        self._render()
        await self._tell()

    async def _tell(self) -> None:
        if self._on_page is not None:
            outcome = self._on_page()
            if inspect.isawaitable(outcome):
                await outcome

    def _render(self) -> None:
        words = self._words.lower().split()
        self._found = [one for one in self._entries if _matches(one, words, self._searched)]
        if self._sort:
            column, down = self._sort
            self._found.sort(key=lambda one: _order(one.get(column)), reverse=down)
        last = max(0, (len(self._found) - 1) // PER_PAGE)
        self._page = min(max(self._page, 0), last)
        empty = f"Nothing has '{self._words}' in it" if words and self._entries else self._empty
        self.table.show([self._cells(one) | {"id": one["id"]} for one in self.shown], self._sort, empty)
        self._pager.visible = len(self._entries) > PER_PAGE or bool(words)
        first = self._page * PER_PAGE
        self._count.say(f"{first + 1:,} to {first + len(self.shown):,} of {len(self._found):,}" if self._found else "")
        self._back.attribute("disabled", None if self._page > 0 else True)
        self._on.attribute("disabled", None if self._page < last else True)

    def _export(self, form: str) -> None:
        if not self._found:
            parts.said(Problem("There is nothing to save").line(), good=False)
            return
        names = [str(column["name"]) for column in self.table.columns if not column.get("hidden")]
        exporting.save_table(self._name, names, self._found, form)


def _matches(entry: Entry, words: Sequence[str], columns: Sequence[str]) -> bool:
    text = " ".join(str(entry.get(name, "")) for name in columns).lower()
    return all(word in text for word in words)


def _order(value: Any) -> tuple[int, Any]:
    """Numbers before texts, and what is unknown before all."""
    if value is None:
        return 0, 0
    return (1, value) if isinstance(value, int | float) else (2, str(value).lower())
