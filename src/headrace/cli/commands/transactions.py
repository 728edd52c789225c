"""`headrace transactions`: list, describe, find-hanging, abort."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.admin.cluster import Cluster
from headrace.admin.errors import UsageMistake
from headrace.admin.times import counted, duration, local, parse_duration_ms
from headrace.cli import completing
from headrace.cli.command import Json, Yes, command, new_app
from headrace.cli.commands.topic import confirm
from headrace.cli.errors import CliError
from headrace.cli.output import console, patience, print_json, print_table, say

if TYPE_CHECKING:
    from headrace.admin.transactions import OpenTransaction, Transaction

app = new_app("List, describe, find and abort transactions.")

STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "PrepareEpochFence",
    "Dead",
)
Ids = Annotated[list[str], typer.Argument(metavar="ID", help="One transactional id or several.")]


@command(
    app,
    "list",
    examples=(
        "headrace transactions list",
        "headrace transactions list --state Ongoing --longer-than 5m",
        "headrace transactions list --json | jq -r '.[].transactional_id'",
    ),
)
def list_transactions(
    cluster: Cluster,
    states: Annotated[
        list[str] | None, typer.Option("--state", metavar="STATE", help="Only in this state; repeatable.")
    ] = None,
    producer_ids: Annotated[
        list[int] | None, typer.Option("--producer-id", help="Only of this producer; repeatable.")
    ] = None,
    longer_than: Annotated[
        str | None, typer.Option("--longer-than", metavar="DURATION", help="Only those open for longer, such as 5m.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List transactional ids with the state of their last transaction."""
    from headrace.admin import transactions

    wanted = [_state(text) for text in states or []]
    limit_ms = parse_duration_ms(longer_than) if longer_than else None
    with patience("Asking the coordinators"):
        found = transactions.listed(cluster, wanted, producer_ids or [])
    if limit_ms is not None:
        found = [each for each in found if (each.duration_ms or 0) > limit_ms]
    if as_json:
        print_json([each.document() for each in found])
        return
    print_table(
        ("TRANSACTIONAL ID", "STATE", ">PRODUCER", ">EPOCH", ">OPEN FOR", ">PARTITIONS", ">COORDINATOR"),
        [
            (
                each.transactional_id,
                each.state,
                each.producer_id,
                each.producer_epoch,
                _age(each.duration_ms),
                len(each.partitions),
                each.coordinator,
            )
            for each in found
        ],
        empty="No transaction is like that"
        if states or producer_ids or longer_than
        else "No transactions. A producer with a transactional.id makes one",
    )


def _state(text: str) -> str:
    for state in STATES:
        if state.lower() == text.lower():
            return state
    raise UsageMistake(f"'{text}' is no state of a transaction", f"There are {', '.join(STATES)}")


def _age(duration_ms: int | None) -> str:
    if duration_ms is None:
        return "-"
    return duration(duration_ms if duration_ms < 1000 else duration_ms // 1000 * 1000)


@command(
    app,
    "describe",
    examples=("headrace transactions describe orders-1", "headrace transactions describe orders-1 orders-2 --json"),
)
def describe(cluster: Cluster, ids: Ids, as_json: Json = False) -> None:
    """Show a transactional id: its producer, its transaction, and the partitions in it."""
    from headrace.admin import transactions

    with patience("Asking the coordinators"):
        found = transactions.described(cluster, ids)
    if as_json:
        print_json([each.document() for each in found])
        return
    for each in found:
        _print(each)


def _print(transaction: Transaction) -> None:
    started = f", open for {_age(transaction.duration_ms)}" if transaction.duration_ms is not None else ""
    console().print(
        f"[bold cyan]{transaction.transactional_id}[/]  {transaction.state}{started}, "
        f"producer {transaction.producer_id} epoch {transaction.producer_epoch}, "
        f"timeout {duration(transaction.timeout_ms)}, coordinator {transaction.coordinator}"
    )
    if transaction.started_ms is not None:
        console().print(f"  began {local(transaction.started_ms)}")
    print_table(("TOPIC", ">PARTITION"), sorted(transaction.partitions), empty="  No partitions are in it now.")


@command(
    app,
    "find-hanging",
    examples=(
        "headrace transactions find-hanging",
        "headrace transactions find-hanging --topic orders --older-than 1h",
        "headrace transactions find-hanging --json",
    ),
)
def find_hanging(
    cluster: Cluster,
    topic: Annotated[
        str | None,
        typer.Option("--topic", metavar="TOPIC", help="Only here.", autocompletion=completing.topics),
    ] = None,
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than", metavar="DURATION", help="Not written to for this long; transaction.max.timeout.ms or more."
        ),
    ] = "15m",
    as_json: Json = False,
) -> None:
    """Find transactions that are open in a partition and that no coordinator will end.

    Such a transaction holds back everything behind it from read_committed readers. `headrace transactions abort --topic
    --partition` ends it.
    """
    from headrace.admin import transactions

    with patience("Asking the brokers"):
        found = transactions.hanging(cluster, topic, parse_duration_ms(older_than))
    if as_json:
        print_json([each.document() for each in found])
        return
    print_table(
        ("TOPIC", ">PARTITION", ">START OFFSET", ">PRODUCER", ">EPOCH", "LAST WRITE"),
        [
            (
                each.topic,
                each.partition,
                each.start_offset,
                each.producer_id,
                each.producer_epoch,
                local(each.last_timestamp_ms) if each.last_timestamp_ms >= 0 else "-",
            )
            for each in found
        ],
        empty="No transaction hangs",
    )


@command(
    app,
    "abort",
    examples=(
        "headrace transactions abort orders-1",
        "headrace transactions abort --topic orders --partition 3 --dry-run",
        "headrace transactions abort --topic orders --partition 3 --start-offset 1200 --yes",
    ),
)
def abort(
    cluster: Cluster,
    transactional_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="A transactional id whose open transaction shall end.")
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option("--topic", metavar="TOPIC", help="Instead: where it hangs.", autocompletion=completing.topics),
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="The partition it hangs in.")] = None,
    start_offset: Annotated[
        int | None, typer.Option("--start-offset", min=0, help="Where it begins, if several are open.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write the marker though a coordinator knows the transaction.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be aborted, and do nothing.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Abort an open transaction.

    With a transactional id, its coordinator does it, and the producer that uses the id is fenced. A transaction that hangs in
    a partition because no coordinator knows of it any more is named by --topic and --partition: its end is written there.
    """
    if transactional_id is not None:
        if topic is not None or partition is not None or start_offset is not None:
            raise UsageMistake("A transaction is named by its id or by where it hangs, not both", "Leave one out")
        _abort_by_id(cluster, transactional_id, dry_run, yes, as_json)
    elif topic is not None and partition is not None:
        _abort_in_partition(cluster, topic, partition, start_offset, force, dry_run, yes, as_json)
    else:
        raise UsageMistake("Which transaction?", "Name its id, or --topic and --partition where it hangs")


def _abort_by_id(cluster: Cluster, transactional_id: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    from headrace.admin import transactions

    (found,) = transactions.described(cluster, [transactional_id])
    transactions.require_open(found)
    if not dry_run:
        confirm(
            f"Abort the transaction of {transactional_id} and fence its producer?", yes, "This aborts a transaction"
        )
        transactions.abort_by_id(cluster, found)
    _report(
        found.document(),
        f"the transaction of {transactional_id} in {counted(len(found.partitions), 'partition')}",
        dry_run,
        as_json,
    )


def _abort_in_partition(
    cluster: Cluster,
    topic: str,
    partition: int,
    start_offset: int | None,
    force: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    from headrace.admin import transactions

    hanging = _choose(transactions.open_in(cluster, topic, partition), topic, partition, start_offset)
    owners = transactions.owners(cluster, hanging)
    if owners and not force:
        owner = owners[0].transactional_id
        raise CliError(
            f"It does not hang: its coordinator knows it as '{owner}' and will end it",
            f"End it with `headrace transactions abort {owner}`, or insist with --force",
        )
    what = (
        f"the transaction of producer {hanging.producer_id} in {topic}-{partition} from offset {hanging.start_offset}"
    )
    if not dry_run:
        confirm(f"Abort {what}?", yes, "This aborts a transaction")
        transactions.abort(cluster, hanging)
    _report(hanging.document(), what, dry_run, as_json)


def _choose(found: list[OpenTransaction], topic: str, partition: int, start_offset: int | None) -> OpenTransaction:
    offsets = ", ".join(str(each.start_offset) for each in found)
    if not found:
        raise CliError(f"No transaction is open in {topic}-{partition}", "There is nothing to abort")
    if start_offset is None:
        if len(found) > 1:
            raise UsageMistake(
                f"{len(found)} transactions are open in {topic}-{partition}", f"Choose with --start-offset: {offsets}"
            )
        return found[0]
    for each in found:
        if each.start_offset == start_offset:
            return each
    raise CliError(f"No open transaction of {topic}-{partition} begins at {start_offset}", f"There is one at {offsets}")


def _report(document: dict[str, Any], what: str, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json({**document, "aborted": not dry_run})
    else:
        say(f"Would abort {what}" if dry_run else f"Aborted {what}")
