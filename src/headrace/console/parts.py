"""What pages are built of: headings, cards, figures, notes, buttons, dialogs. One look and one way each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from nicegui import ui

from headrace.admin.errors import Problem
from headrace.console.elements import Tag

Tone = Literal["", "good", "warn", "bad", "accent"]
Kind = Literal["plain", "primary", "danger", "quiet"]


@contextmanager
def heading(title: str, *, crumbs: Sequence[tuple[str, str]] = ()) -> Iterator[None]:
    """The page's name, the way to it, and in the `with` block what can be done here."""
    if crumbs:
        with Tag("nav", classes="hr-crumbs", aria_label="Where you are"):
            for text, href in crumbs:
                Tag("a", text, href=href)
                Tag("span", " / ", aria_hidden="true")
    with Tag("div", classes="hr-title"):
        Tag("h1", title)
        with Tag("div", classes="hr-row"):
            yield


@contextmanager
def card(title: str = "", *, hint: str = "", classes: str = "") -> Iterator[Tag]:
    """A section of a page with a heading of its own."""
    with Tag("section", classes=f"hr-card {classes}") as made:
        if title:
            made.attribute("aria-label", title)
            with Tag("div", classes="hr-stack").style("gap: .15rem"):
                Tag("h2", title)
                if hint:
                    Tag("p", hint, "hr-soft hr-small")
        yield made


class Figure:
    """A number with its name, and a few words beneath it."""

    def __init__(self, label: str) -> None:
        with Tag("div", classes="hr-figure") as self._tile:
            Tag("dt", label)
            with Tag("dd") as value:
                self._value = Tag("span", "-")
                self._hint = Tag("span", "", "hr-hint")
        value.mark(f"figure-{label}")

    def show(self, value: str, hint: str = "", tone: Tone = "") -> None:
        self._value.say(value)
        self._hint.say(hint)
        self._tile.attribute("data-tone", tone or None)


def figures(*labels: str) -> list[Figure]:
    """A row of them."""
    with Tag("dl", classes="hr-figures"):
        return [Figure(label) for label in labels]


class Note:
    """A few words that matter, or nothing. Screen readers say them when they change."""

    def __init__(self, tone: Tone = "bad") -> None:
        # The region is there from the start: one that appears together with its words is not read out.
        region = Tag("div", classes="hr-live", role="status", aria_live="polite")
        with region, Tag("div", classes="hr-note", data_tone=tone) as self._box:
            self._title = Tag("strong")
            self._text = Tag("span")
        self._box.visible = False

    def show(self, title: str, text: str = "", tone: Tone | None = None) -> None:
        self._title.say(title)
        self._text.say(text)
        if tone is not None:
            self._box.attribute("data-tone", tone or None)
        self._box.visible = True

    def problem(self, error: Problem) -> None:
        self.show(sentence(error.message), error.next_step, "bad")

    def hide(self) -> None:
        self._box.visible = False


def sentence(text: str) -> str:
    plain = " ".join(text.split()).rstrip(".")
    return plain if plain.endswith("?") else f"{plain}."


def button(
    text: str,
    on_click: Callable[[], Any],
    *,
    kind: Kind = "plain",
    icon: str = "",
    label: str = "",
    disabled: bool = False,
) -> Tag:
    """`label` is what screen readers say when the text alone does not tell."""
    made = Tag("button", "", "hr-button", type="button")
    if kind != "plain":
        made.attribute("data-kind", kind)
    if label:
        made.attribute("aria-label", label)
    if disabled:
        made.attribute("disabled", True)
    with made:
        if icon:
            ui.icon(icon)
        if text:
            Tag("span", text)

    async def clicked() -> None:
        outcome = on_click()
        if inspect.isawaitable(outcome):
            await outcome

    made.on("click", clicked)
    return made


def chip(text: str, tone: Tone = "") -> Tag:
    return Tag("span", text, "hr-chip", **({"data_tone": tone} if tone else {}))


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and values, one a line."""
    with Tag("dl", classes="hr-facts"):
        for name, value in pairs:
            Tag("dt", name)
            Tag("dd", value)


def said(text: str, *, good: bool = True) -> None:
    """A short word at the edge of the page that goes by itself."""
    ui.notify(text, type="positive" if good else "negative", position="bottom-right", close_button="Close")


class Dialog:
    """A question or a form. `body` is filled by the caller, `act` does the deed and closes; what goes wrong is said inside."""

    def __init__(self, title: str, *, wide: bool = False) -> None:
        self._dialog = ui.dialog().props(f'aria-label="{_plain(title)}"')
        with self._dialog, Tag("div", classes="hr-dialog") as box:
            if wide:
                box.attribute("data-size", "wide")
            Tag("h2", title)
            self.body = Tag("div", classes="hr-stack")
            self.problem = Note()
            self.actions = Tag("div", classes="hr-actions")
        self._dialog.on("hide", self._dialog.delete)

    def open(self) -> None:
        self._dialog.open()

    def close(self) -> None:
        self._dialog.close()

    def offer(
        self, text: str, deed: Callable[[], Any], *, kind: Kind = "primary", done: str = "", close: bool = True
    ) -> Tag:
        """A button that does the deed, and one that does nothing."""

        async def act() -> None:
            confirm.attribute("disabled", True)
            try:
                outcome = deed()
                if inspect.isawaitable(outcome):
                    await outcome
            except Problem as error:
                self.problem.problem(error)
                return
            finally:
                confirm.attribute("disabled", None)
            if done:
                said(done)
            if close:
                self.close()

        with self.actions:
            if close:
                button("Cancel", self.close)
            confirm = button(text, act, kind=kind)
        return confirm


def _plain(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in " .,:_-?" else " " for letter in text)


def confirm_by_name(title: str, warning: str, name: str, button_text: str, deed: Callable[[], Any], done: str) -> None:
    """For what cannot be undone: the name has to be typed."""
    from headrace.console.elements import Field

    dialog = Dialog(title)
    with dialog.body:
        Tag("p", warning)
        typed = Field(
            f"Type {name} to confirm", on_change=lambda text: allow.attribute("disabled", text != name or None)
        )

    async def checked() -> None:
        if typed.value != name:
            raise Problem(f"'{typed.value}' is not '{name}'", "Type the name exactly as it is")
        outcome = deed()
        if inspect.isawaitable(outcome):
            await outcome

    allow = dialog.offer(button_text, checked, kind="danger", done=done)
    allow.attribute("disabled", True)
    dialog.open()
