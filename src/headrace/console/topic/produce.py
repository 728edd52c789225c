"""Writing one record to a topic."""

from __future__ import annotations

from headrace.admin.errors import Problem
from headrace.admin.records_in import Headers, NewRecord
from headrace.admin.sending import send
from headrace.console import parts
from headrace.console.elements import Check, Field, Tag
from headrace.console.pages.topics import whole
from headrace.console.view import View


def dialog(view: View, topic: str) -> None:
    box = parts.Dialog(f"Produce to {topic}")
    with box.body:
        with Tag("div", classes="hr-form"):
            key = Field("Key", placeholder="none")
            partition = Field("Partition", kind="number", placeholder="as the key says")
        value = Field("Value", lines=True, placeholder='{"id": 1}')
        deletes = Check("No value (a tombstone: in a compacted topic it deletes the key)")
        headers = Field("Headers, one name=value a line", lines=True, placeholder="trace=abc")

    async def produce() -> None:
        record = NewRecord(
            key.value.encode() if key.value else None,
            None if deletes.value else value.value.encode(),
            parsed_headers(headers.value),
            None if not partition.value.strip() else whole(partition.value, "Partition", 0),
        )
        sent = await view.console.cluster.change(lambda c: send(c, topic, [record]), "ends")
        box.problem.show(f"Written to partition {sent.partition} at offset {sent.offset}", tone="good")

    box.offer("Produce", produce, close=False)
    with box.actions:
        parts.button("Close", box.close)
    box.open()


def parsed_headers(text: str) -> Headers:
    """`name=value` lines; a name alone is a header without a value."""
    found: Headers = []
    for line in filter(None, (line.strip() for line in text.splitlines())):
        name, equals, value = line.partition("=")
        if not name.strip():
            raise Problem(f"'{line}' is no header", "Write it like trace=abc")
        found.append((name.strip(), value.encode() if equals else None))
    return found
