"""Elements that NiceGUI does not have, or not as plain, accessible markup: text tags, tables, fields, trees. All show text, never markup."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

Column = Mapping[str, Any]


class Tag(TextElement):
    """An HTML tag with a text, or with children in a `with` block."""

    def __init__(self, tag: str, text: str = "", classes: str = "", **attributes: Any) -> None:
        super().__init__(tag=tag, text=text)
        if classes:
            self.classes(classes)
        for name, value in attributes.items():
            self._props[name.rstrip("_").replace("_", "-")] = value

    def attribute(self, name: str, value: Any) -> None:
        """Set one, or remove it with None; nothing is sent when it is so already."""
        if value is None:
            self._props.pop(name, None)
        elif self._props.get(name) != value:
            self._props[name] = value

    def say(self, text: str) -> None:
        if self.text != text:
            self.text = text


class DataTable(ui.element, component="components/data_table.js"):
    """Rows are dicts with an `id`; a cell is a text, or `{text, href}`, `{text, tone}`, `{text, action}`, with `hint` for where the pointer rests."""

    def __init__(
        self,
        caption: str,
        columns: Sequence[Column],
        *,
        empty: str = "Nothing here",
        on_sort: Callable[[str], Any] | None = None,
        on_act: Callable[[str, str], Any] | None = None,
    ) -> None:
        super().__init__()
        self._props.update(caption=caption, columns=list(columns), rows=[], sort=None, empty=empty)
        if on_sort is not None:
            self.on("sort", lambda event: on_sort(str(event.args)))
        if on_act is not None:
            self.on("act", lambda event: on_act(str(event.args["id"]), str(event.args["action"])))

    @property
    def rows(self) -> list[dict[str, Any]]:
        return list(self._props["rows"])

    @property
    def columns(self) -> list[Column]:
        return list(self._props["columns"])

    def show(self, rows: list[dict[str, Any]], sort: tuple[str, bool] | None = None, empty: str | None = None) -> None:
        """Nothing is sent while nothing changed."""
        wanted = {"rows": rows, "sort": list(sort) if sort else None, "empty": empty or self._props["empty"]}
        if any(self._props[name] != value for name, value in wanted.items()):
            with self._props.suspend_updates():
                self._props.update(wanted)
            self.update()


class Field(ui.element, component="components/field.js"):
    """A text field, a text area (`lines`) or, with `options`, a choice of (value, label)."""

    def __init__(
        self,
        label: str,
        value: str = "",
        *,
        options: Sequence[tuple[str, str]] | None = None,
        lines: bool = False,
        kind: str = "text",
        placeholder: str = "",
        hints: Sequence[str] | None = None,
        on_change: Callable[[str], Any] | None = None,
        on_enter: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__()
        self._value = value
        self._on_change = on_change
        self._props.update(
            label=label, value=value, lines=lines, type=kind, placeholder=placeholder, disabled=False, stamp=0
        )
        if options is not None:
            self._props["options"] = [list(option) for option in options]
        if hints is not None:
            self._props["hints"] = list(hints)
        # What is typed must be here before a button that was clicked right after it is handled: both come in order.
        self.on("changed", self._changed)
        if on_enter is not None:
            self.on("enter", lambda _: on_enter())

    @property
    def value(self) -> str:
        return self._value

    @value.setter
    def value(self, text: str) -> None:
        self._value = text
        # The stamp tells the browser that this is not what it sent itself.
        with self._props.suspend_updates():
            self._props.update(value=text, stamp=self._props["stamp"] + 1)
        self.update()

    def choices(self, options: Sequence[tuple[str, str]]) -> None:
        wanted = [list(option) for option in options]
        if self._props.get("options") != wanted:
            self._props["options"] = wanted

    def enable(self, enabled: bool) -> None:
        self._props["disabled"] = not enabled

    async def _changed(self, event: Any) -> None:
        self._value = str(event.args["value"])
        with self._props.suspend_updates():  # the browser has it already
            self._props["value"] = self._value
        if self._on_change is not None:
            outcome = self._on_change(self._value)
            if inspect.isawaitable(outcome):
                await outcome


class Check(ui.element, component="components/check.js"):
    """A checkbox."""

    def __init__(self, label: str, value: bool = False, on_change: Callable[[bool], Any] | None = None) -> None:
        super().__init__()
        self.value = value
        self._on_change = on_change
        self._props.update(label=label, value=value, disabled=False)
        self.on("changed", self._changed)

    async def _changed(self, event: Any) -> None:
        self.value = bool(event.args["value"])
        with self._props.suspend_updates():
            self._props["value"] = self.value
        if self._on_change is not None:
            outcome = self._on_change(self.value)
            if inspect.isawaitable(outcome):
                await outcome


class JsonTree(ui.element, component="components/json_tree.js"):
    """Nodes of `records.as_tree`."""

    def __init__(self, label: str, nodes: list[dict[str, Any]]) -> None:
        super().__init__()
        self._props.update(label=label, nodes=nodes)


class FileField(ui.element, component="components/file_field.js"):
    """A file that is chosen is sent at once. NiceGUI's own uploader receives it; its looks are not for everybody, so it is not shown."""

    def __init__(
        self,
        label: str,
        on_upload: Callable[[Any], Any],
        *,
        accept: str,
        largest: int,
        on_refused: Callable[[str], Any],
    ) -> None:
        super().__init__()
        receiver = ui.upload(on_upload=on_upload, auto_upload=True).style("display: none")
        self._props.update(label=label, url=receiver.props["url"], accept=accept, largest=largest)
        self.on("refused", lambda event: on_refused(str(event.args)))
