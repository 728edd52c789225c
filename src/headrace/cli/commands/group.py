"""`headrace group`: list, describe with lag, reset offsets, delete."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headrace.admin.cluster import Cluster
from headrace.admin.errors import UsageMistake
from headrace.admin.times import counted, number
from headrace.cli import completing
from headrace.cli.command import Json, Yes, command, new_app
from headrace.cli.commands.topic import confirm
from headrace.cli.output import console, patience, print_json, print_table, say

app = new_app("List, describe, reset and delete consumer groups.")

Name = Annotated[str, typer.Argument(metavar="GROUP", help="The group.", autocompletion=completing.groups)]


@command(app, "list", examples=("headrace group list", "headrace group list --json"))
def list_groups(cluster: Cluster, as_json: Json = False) -> None:
    """List groups with their state, members and lag."""
    from headrace.admin import groups as group_view

    with patience("Asking for groups and offsets"):
        names = list(group_view.listed(cluster))
        descriptions = group_view.described(cluster, names) if names else {}
        progress = group_view.progress(cluster, descriptions)
    rows = [_summary(name, description, progress[name]) for name, description in descriptions.items()]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("GROUP", "STATE", ">MEMBERS", "TOPICS", ">LAG"),
        [(r["group"], r["state"], r["members"], ", ".join(r["topics"]) or "-", number(r["lag"])) for r in rows],
        empty="No groups. A consumer with a group id makes one: `headrace consume TOPIC --group NAME`",
    )


def _summary(name: str, description: Any, rows: list[Any]) -> dict[str, Any]:
    from headrace.admin import groups as group_view

    lags = [row.lag for row in rows if row.lag is not None]
    return {
        "group": name,
        "state": group_view.state_name(description),
        "members": len(description.members),
        "topics": sorted({row.topic for row in rows}),
        "lag": sum(lags) if lags else None,
    }


@command(app, "describe", examples=("headrace group describe billing", "headrace group describe billing --json"))
def describe(cluster: Cluster, group: Name, as_json: Json = False) -> None:
    """Show how far a group is in every partition, and who reads it."""
    from headrace.admin import groups as group_view

    with patience("Asking for offsets"):
        description = group_view.existing(cluster, group)
        rows = group_view.progress(cluster, {group: description})[group]
    if as_json:
        print_json(_document(group, description, rows))
        return
    lag = sum(row.lag or 0 for row in rows)
    console().print(
        f"[bold cyan]{group}[/]  {group_view.state_name(description)}, {counted(len(description.members), 'member')}, "
        f"assignor {description.partition_assignor or '-'}, lag {number(lag)}"
    )
    print_table(
        ("TOPIC", ">PARTITION", ">COMMITTED", ">END", ">LAG", "CLIENT", "HOST"),
        [
            (r.topic, r.partition, number(r.committed), number(r.end), number(r.lag), r.client_id or "-", r.host or "-")
            for r in rows
        ],
        empty="It has committed nothing and reads nothing.",
    )


def _document(group: str, description: Any, rows: list[Any]) -> dict[str, Any]:
    from headrace.admin import groups as group_view

    return {
        "group": group,
        "state": group_view.state_name(description),
        "assignor": description.partition_assignor,
        "coordinator": description.coordinator.id if description.coordinator else None,
        "members": [
            {
                "member_id": m.member_id,
                "client_id": m.client_id,
                "host": m.host,
                "group_instance_id": m.group_instance_id,
            }
            for m in description.members
        ],
        "partitions": [
            {
                "topic": r.topic,
                "partition": r.partition,
                "committed_offset": r.committed,
                "end_offset": r.end,
                "lag": r.lag,
                "member_id": r.member,
            }
            for r in rows
        ],
    }


@command(
    app,
    "reset-offsets",
    examples=(
        "headrace group reset-offsets billing --to-earliest                        (shows what would happen)",
        "headrace group reset-offsets billing --to-earliest --execute",
        "headrace group reset-offsets billing --topic orders:0,1 --to-offset 100 --execute",
        "headrace group reset-offsets billing --to-datetime -2h --execute",
        "headrace group reset-offsets billing --shift-by -10 --execute",
    ),
)
def reset_offsets(
    cluster: Cluster,
    group: Name,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:P,P]",
            help="This topic or partitions; repeatable. Default: all the group has committed.",
        ),
    ] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the first record.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="Behind the last record.")] = False,
    to_offset: Annotated[int | None, typer.Option("--to-offset", min=0, help="To this offset.")] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option(
            "--to-datetime", metavar="TIME", help="To the first record at or after: -2h, ISO 8601, @MILLISECONDS."
        ),
    ] = None,
    shift_by: Annotated[int | None, typer.Option("--shift-by", help="Forwards, or backwards when negative.")] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Do it. Without, only show what would happen.")] = False,
    as_json: Json = False,
) -> None:
    """Move a group to other offsets. Shows what would happen unless --execute is given."""
    from headrace.admin import groups as group_view
    from headrace.admin import reset

    given = [to_earliest, to_latest, to_offset is not None, to_datetime is not None, shift_by is not None]
    if sum(given) != 1:
        raise UsageMistake(
            "Where to?", "Give one of --to-earliest, --to-latest, --to-offset, --to-datetime, --shift-by"
        )
    target = reset.Target(to_earliest, to_latest, to_offset, to_datetime, shift_by)
    with patience("Asking for offsets"):
        committed = group_view.committed(cluster, group)
        moves = reset.plan(cluster, group, committed, topic or [], target)
        if execute:
            reset.apply(cluster, group, moves)
    if as_json:
        print_json({"group": group, "executed": execute, "partitions": [move.document() for move in moves]})
        return
    print_table(
        ("TOPIC", ">PARTITION", ">FROM", ">TO", ">CHANGE"),
        [
            (m.topic, m.partition, number(m.old), number(m.new), "-" if m.old is None else f"{m.new - m.old:+,}")
            for m in moves
        ],
    )
    say(f"Moved group {group}." if execute else "Nothing was changed. Add --execute to do it.")


@command(app, "delete", examples=("headrace group delete billing", "headrace group delete billing audit --yes"))
def delete(
    cluster: Cluster,
    groups: Annotated[
        list[str], typer.Argument(metavar="GROUP", help="One group or several.", autocompletion=completing.groups)
    ],
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Delete groups with their committed offsets; only those without members."""
    from headrace.admin import groups as group_view

    for name in groups:
        group_view.require_inactive(name, group_view.existing(cluster, name))
    confirm(f"Delete {', '.join(groups)} and their committed offsets?", yes)
    group_view.delete(cluster, groups)
    if as_json:
        print_json([{"group": name, "deleted": True} for name in groups])
        return
    for name in groups:
        say(f"Deleted group {name}")
