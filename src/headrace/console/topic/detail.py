"""One record in full: where it is, its key, its value as a tree, text or hex, its headers."""

from __future__ import annotations

from typing import Any

from headrace.admin.times import local, size
from headrace.console import parts
from headrace.console.elements import JsonTree, Tag
from headrace.console.records import NOT_JSON, Record, as_hex, as_json, as_text, as_tree, printable

COLUMNS = (
    {"name": "partition", "label": "Partition", "align": "end"},
    {"name": "offset", "label": "Offset", "align": "end"},
    {"name": "time", "label": "Time", "keep": True},
    {"name": "key", "label": "Key", "mono": True},
    {"name": "value", "label": "Value", "mono": True, "clip": True},
    {"name": "headers", "label": "Headers", "align": "end"},
    {"name": "size", "label": "Size", "align": "end"},
)


def opener(record: Record) -> dict[str, Any]:
    """A cell that opens the record."""
    where = f"Open the record at offset {record.offset} of partition {record.partition}"
    return {"text": str(record.offset), "action": "open", "label": where}


def show(record: Record | None) -> None:
    if record is None:
        parts.said("That record is not on the page any more", good=False)
        return
    dialog = parts.Dialog(f"{record.topic}, partition {record.partition}, offset {record.offset}", wide=True)
    when = "none" if record.timestamp_ms is None else f"{local(record.timestamp_ms)} ({record.timestamp_type})"
    with dialog.body:
        sizes = f"key {size(len(record.key or b''))}, value {size(len(record.value or b''))}"
        schemas = [("Key", record.key_schema), ("Value", record.value_schema)]
        parts.facts([("Timestamp", when), ("Size", sizes), *((name, text) for name, text in schemas if text)])
        _content("Key", record.key)
        _content("Value", record.value)
        _headers(record)
    with dialog.actions:
        parts.button("Close", dialog.close)
    dialog.open()


def _content(name: str, content: bytes | None) -> None:
    """What it is is shown at first; the other forms are a click away."""
    parsed = as_json(content)
    forms = ["JSON", "Text", "Hex"] if parsed is not NOT_JSON else ["Text", "Hex"]
    buttons: dict[str, Tag] = {}

    def choose(form: str) -> None:
        for each, made in buttons.items():
            made.attribute("aria-pressed", "true" if each == form else "false")
        place.clear()
        with place:
            if form == "JSON":
                JsonTree(f"{name} as JSON", as_tree(parsed))
            else:
                text = as_text(content) if form == "Text" else as_hex(content)
                Tag(
                    "pre",
                    text,
                    "hr-pre",
                    data_form=form.lower(),
                    tabindex="0",
                    role="region",
                    aria_label=f"{name} as {form}",
                )

    with Tag("div", classes="hr-row"):
        Tag("h3", name)
        if content is not None:
            with Tag("div", classes="hr-group", role="group", aria_label=f"Show the {name.lower()} as"):
                for form in forms:
                    buttons[form] = parts.button(form, lambda form=form: choose(form))
    place = Tag("div")
    if content is None:
        with place:
            Tag("span", "null", "hr-chip")
    else:
        readable = forms[0] if forms[0] == "JSON" or _is_text(content) else "Hex"
        choose(readable)


def _is_text(content: bytes) -> bool:
    try:
        return content.decode().replace("\n", "").replace("\t", "").replace("\r", "").isprintable()
    except UnicodeDecodeError:
        return False


def _headers(record: Record) -> None:
    if record.headers:
        Tag("h3", "Headers")
        parts.facts(
            [
                (
                    printable(name),
                    "null" if content is None else printable(content[:4096].decode(errors="backslashreplace")),
                )
                for name, content in record.headers
            ]
        )
