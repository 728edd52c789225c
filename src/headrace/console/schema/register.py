"""A new version of a subject, or a new subject: written, checked against the versions there are, then registered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from headrace.admin.errors import Problem
from headrace.console import parts
from headrace.console.elements import Field
from headrace.console.view import View

TYPES = (("AVRO", "Avro"), ("JSON", "JSON Schema"), ("PROTOBUF", "Protobuf"))
Refresh = Callable[[], Awaitable[None]]


def ask_for_schema(
    view: View, refresh: Refresh, subject: str = "", kind: str = "AVRO", text: str = "", references: Any = ()
) -> None:
    """Without a subject it is asked for too."""
    dialog = parts.Dialog(f"New version of {subject}" if subject else "New subject", wide=True)
    with dialog.body:
        name = None if subject else Field("Subject", placeholder="orders-value")
        chosen = Field("Type", kind, options=TYPES)
        schema = Field("Schema", text, lines=True)

    def asked() -> tuple[str, dict[str, Any]]:
        wanted = subject or (name.value.strip() if name else "")
        if not wanted:
            raise Problem("Which subject?", "The values of the topic orders have the subject orders-value")
        if not schema.value.strip():
            raise Problem("There is no schema", "Write one")
        return wanted, {"schema": schema.value, "schemaType": chosen.value, "references": list(references)}

    async def check() -> None:
        wanted, document = asked()
        against = await view.console.registry.check(wanted, document)
        if against:
            dialog.problem.show("It breaks what there is", " ".join(against), "bad")
        else:
            dialog.problem.show("It fits", "Nothing that there is breaks by it.", "good")

    async def register() -> None:
        wanted, document = asked()
        id_ = await view.console.registry.register(wanted, document)
        parts.said(f"{wanted} has the schema {id_} now")
        await refresh()

    dialog.offer("Check", check, kind="plain", close=False)
    dialog.offer("Register", register)
    dialog.open()
