"""Transactions: those that are open and for how long, those that hang, and ending them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.admin import transactions as known
from headrace.admin.times import counted, duration, local, number
from headrace.console import parts
from headrace.console.elements import Check, DataTable, Tag
from headrace.console.listing import Listing
from headrace.console.page import page
from headrace.console.view import View

EVERY_S = 4.0
HANGS_AFTER_MS = 15 * 60_000
_TONES = {
    "Ongoing": "accent",
    "PrepareCommit": "warn",
    "PrepareAbort": "warn",
    "CompleteAbort": "",
    "CompleteCommit": "good",
}
COLUMNS = (
    {"name": "id_", "label": "Transactional id", "sortable": True},
    {"name": "state", "label": "State", "sortable": True},
    {"name": "open", "label": "Open for", "align": "end", "sortable": True},
    {"name": "producer", "label": "Producer", "align": "end"},
    {"name": "partitions", "label": "Partitions"},
    {"name": "abort", "label": "Abort", "hidden": True, "keep": True},
)
_HANGING = (
    {"name": "place", "label": "Partition"},
    {"name": "start", "label": "Since offset", "align": "end"},
    {"name": "producer", "label": "Producer", "align": "end"},
    {"name": "last", "label": "Last write", "keep": True},
    {"name": "abort", "label": "Abort", "hidden": True, "keep": True},
)


@page("/transactions", "Transactions", icon="swap_horiz", order=40)
async def transactions(view: View) -> None:
    cluster = view.console.cluster
    ended = False
    found: list[known.OpenTransaction] = []

    async def show_ended(wanted: bool) -> None:
        nonlocal ended
        ended = wanted
        await view.attempt(refresh)

    with parts.heading("Transactions"):
        Check("Ended ones too", on_change=show_ended)
    with parts.card("Transactions"):
        listing = Listing(
            "Transactional ids and their state",
            COLUMNS,
            lambda entry: _cells(entry, view.read_only),
            search="Search transactional ids",
            searched=("id_",),
            sort=("open", True),
            empty="No transaction is open",
            on_act=lambda name, _: _abort(view, name, refresh),
            export=view.console.settings.export,
            name="transactions",
        )
    with parts.card(
        "Hanging transactions",
        hint="Open in a partition for over 15 minutes, and no coordinator will end them: readers of committed records wait behind them for ever",
    ):
        with Tag("div", classes="hr-row"):
            parts.button("Look for them", lambda: look(), icon="search")
            looked = Tag("span", "", "hr-soft hr-small", aria_live="polite")
        hanging = DataTable(
            "Transactions that hang",
            _HANGING,
            empty="Not looked for yet",
            on_act=lambda place, _: _abort_hanging(view, found[int(place)], look),
        )

    async def refresh() -> None:
        everything = await cluster.transactions()
        listing.show([_entry(one) for one in everything if ended or one.state in known.OPEN_STATES])

    async def look() -> None:
        async def ask() -> None:
            found[:] = await cluster.hanging(HANGS_AFTER_MS)
            looked.say(f"{counted(len(found), 'hanging transaction')}")
            rows = [_hanging(index, one, view.read_only) for index, one in enumerate(found)]
            hanging.show(rows, empty="None is hanging")

        looked.say("Asking every partition …")
        if not await view.attempt(ask):
            looked.say("")

    await view.live(EVERY_S, refresh)


def _entry(one: known.Transaction) -> dict[str, Any]:
    return {
        "id": one.transactional_id,
        "id_": one.transactional_id,
        "state": one.state,
        "open": one.duration_ms,
        "producer": f"{one.producer_id} (epoch {one.producer_epoch})",
        "partitions": ", ".join(f"{topic}-{index}" for topic, index in one.partitions[:12]),
    }


def _cells(entry: Mapping[str, Any], read_only: bool) -> dict[str, Any]:
    name = entry["id_"]
    can_end = entry["state"] == "Ongoing" and not read_only
    return {
        "id_": name,
        "state": {"text": entry["state"], "tone": _TONES.get(entry["state"], "")},
        "open": "-" if entry["open"] is None else duration(entry["open"] // 1000 * 1000),
        "producer": entry["producer"],
        "partitions": entry["partitions"] or "-",
        "abort": {"text": "Abort", "action": "abort", "kind": "danger", "label": f"Abort {name}"} if can_end else "",
    }


def _hanging(index: int, one: known.OpenTransaction, read_only: bool) -> dict[str, Any]:
    place = f"{one.topic}-{one.partition}"
    button = {"text": "Abort", "action": "abort", "kind": "danger", "label": f"Abort the transaction in {place}"}
    return {
        "id": str(index),
        "place": place,
        "start": number(one.start_offset),
        "producer": f"{one.producer_id} (epoch {one.producer_epoch})",
        "last": local(one.last_timestamp_ms) if one.last_timestamp_ms >= 0 else "-",
        "abort": "" if read_only else button,
    }


def _abort(view: View, name: str, refresh: Any) -> None:
    async def abort() -> None:
        await view.console.cluster.abort_transaction(name)
        await refresh()

    dialog = parts.Dialog(f"Abort the transaction of {name}")
    with dialog.body:
        Tag(
            "p",
            "What it has written will not be read by readers of committed records. Its producer is fenced: it has to start anew.",
        )
    dialog.offer("Abort transaction", abort, kind="danger", done=f"The transaction of {name} is aborted")
    dialog.open()


def _abort_hanging(view: View, one: known.OpenTransaction, look: Any) -> None:
    async def abort() -> None:
        await view.console.cluster.change(lambda c: known.abort(c, one), "transactions")
        await look()

    dialog = parts.Dialog(f"Abort the transaction in {one.topic}-{one.partition}")
    with dialog.body:
        Tag(
            "p",
            f"Everything from offset {one.start_offset} on that this producer wrote there will not be read by readers of committed records.",
        )
    dialog.offer("Abort transaction", abort, kind="danger", done="The transaction is aborted")
    dialog.open()
