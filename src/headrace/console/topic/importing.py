"""A file of records into a topic: JSON lines as `headrace consume --json` prints them, or CSV with the same fields."""

from __future__ import annotations

from typing import Any

from nicegui import events

from headrace.admin.errors import Problem
from headrace.admin.records_in import LineFormat, NewRecord, csv_rows, json_lines
from headrace.admin.sending import send
from headrace.admin.times import counted, size
from headrace.console import parts
from headrace.console.elements import Check, FileField, Tag
from headrace.console.view import View

LARGEST_FILE = 32 << 20


def dialog(view: View, topic: str) -> None:
    box = parts.Dialog(f"Import into {topic}")
    with box.body:
        Tag(
            "p",
            f"JSON lines or CSV with the fields key, value, headers, timestamp: what was exported here or printed by headrace consume --json. Up to {size(LARGEST_FILE)}.",
            "hr-soft hr-small",
        )
        keep = Check("Keep each record's partition")
        FileField(
            "File",
            lambda event: _upload(view, topic, box, event, keep_partitions=keep.value),
            accept=".jsonl,.json,.csv,.txt",
            largest=LARGEST_FILE,
            on_refused=lambda why: box.problem.problem(_refusal(why)),
        )
    with box.actions:
        parts.button("Close", box.close)
    box.open()


def _refusal(why: str) -> Problem:
    if why in ("large", "413"):
        return Problem(f"The file is larger than {size(LARGEST_FILE)}", "Use headrace produce --json for such files")
    return Problem(f"The file did not arrive ({why})", "Try again")


async def _upload(
    view: View, topic: str, box: parts.Dialog, event: events.UploadEventArguments, *, keep_partitions: bool
) -> None:
    try:
        content = await event.file.read()
        records = parsed(event.file.name, content, keep_partitions=keep_partitions)
        if not view.console.settings.imports:
            raise Problem("Files cannot be imported here", "Start the console without --no-import")
        box.problem.show(f"Sending {counted(len(records), 'record')} …", tone="")
        sent = await view.console.cluster.change(lambda c: send(c, topic, records), "ends")
    except Problem as error:
        box.problem.problem(error)
        return
    box.problem.show(f"{counted(sent.records, 'record')} imported", tone="good")


def parsed(name: str, content: bytes, *, keep_partitions: bool) -> list[NewRecord]:
    """All records of a file, before the first is sent: a mistake in its last line leaves the topic as it was."""
    if len(content) > LARGEST_FILE:
        raise Problem(f"The file is larger than {size(LARGEST_FILE)}")
    if name.lower().endswith(".csv"):
        try:
            found: Any = csv_rows(content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise Problem("The file is not UTF-8") from None
    else:
        found = json_lines(content.splitlines(), LineFormat())
    records = list(found)
    if not records:
        raise Problem("There is no record in the file")
    if keep_partitions:
        return records
    return [NewRecord(one.key, one.value, one.headers, None, one.timestamp_ms) for one in records]
