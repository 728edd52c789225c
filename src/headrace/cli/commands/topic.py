"""`headrace topic`: create, list, describe, alter, delete, add partitions."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from headrace.admin.cluster import Cluster
from headrace.admin.errors import UsageMistake, unknown_topic
from headrace.admin.log_dirs import partition_sizes
from headrace.admin.times import counted, number
from headrace.admin.topics import create as create_topics
from headrace.admin.topics import delete as delete_topics
from headrace.admin.topics import offset_ranges, per_topic
from headrace.cli import completing
from headrace.cli.cluster import pairs
from headrace.cli.command import Json, Yes, command, new_app
from headrace.cli.errors import CliError
from headrace.cli.output import console, patience, print_json, print_table, say

app = new_app("Create, list, describe, alter and delete topics.")

Names = Annotated[
    list[str], typer.Argument(help="One topic or several.", metavar="TOPIC", autocompletion=completing.topics)
]
Name = Annotated[str, typer.Argument(help="The topic.", metavar="TOPIC", autocompletion=completing.topics)]


@command(
    app,
    "create",
    examples=(
        "headrace topic create orders",
        "headrace topic create orders payments --partitions 6",
        "headrace topic create events -c retention.ms=86400000 -c cleanup.policy=delete",
        "headrace topic create orders --if-not-exists",
    ),
)
def create(
    cluster: Cluster,
    topics: Names,
    partitions: Annotated[
        int, typer.Option("--partitions", "-p", min=-1, help="Partitions; -1: the broker's default.")
    ] = -1,
    replication_factor: Annotated[
        int, typer.Option("--replication-factor", "-r", min=-1, help="Replicas; -1: the broker's default.")
    ] = -1,
    config: Annotated[
        list[str] | None, typer.Option("--config", "-c", metavar="KEY=VALUE", help="A topic setting; repeatable.")
    ] = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="Leave topics alone that exist.")] = False,
    as_json: Json = False,
) -> None:
    """Create topics."""
    settings = pairs(config or [], "--config")
    present = cluster.topics(internal=True) if if_not_exists else {}
    wanted = [name for name in topics if name not in present]
    with patience("Creating topics"):
        create_topics(cluster, wanted, partitions, replication_factor, settings)
    if as_json:
        print_json([{"topic": name, "created": name in wanted} for name in topics])
        return
    for name in topics:
        say(f"Created topic {name}" if name in wanted else f"Topic {name} is there already")


@command(
    app,
    "list",
    examples=(
        "headrace topic list",
        "headrace topic list --internal",
        "headrace topic list --json | jq -r '.[].topic'",
    ),
)
def list_topics(
    cluster: Cluster,
    internal: Annotated[bool, typer.Option("--internal", help="With the brokers' own topics.")] = False,
    as_json: Json = False,
) -> None:
    """List topics with their partitions and records."""
    with patience("Asking for topics and offsets"):
        topics = cluster.topics(internal=internal)
        records = per_topic({p: end - start for p, (start, end) in offset_ranges(cluster, topics).items()})
        sizes = per_topic(partition_sizes(cluster))
    rows: list[dict[str, Any]] = [
        {
            "topic": name,
            "partitions": len(topic.partitions),
            "replication_factor": max((len(p.replicas) for p in topic.partitions.values()), default=0),
            "records": records[name],
            "bytes": sizes[name] if sizes else None,
        }
        for name, topic in topics.items()
    ]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("TOPIC", ">PARTITIONS", ">REPLICAS", ">RECORDS", ">SIZE"),
        [(r["topic"], r["partitions"], r["replication_factor"], number(r["records"]), _size(r["bytes"])) for r in rows],
        empty="No topics yet. Create one with `headrace topic create NAME`",
    )


@command(
    app,
    "describe",
    examples=("headrace topic describe orders", "headrace topic describe orders --json"),
)
def describe(cluster: Cluster, topics: Names, as_json: Json = False) -> None:
    """Show partitions, offsets, size and settings of topics, and what cleaning does to their old records."""
    from headrace.admin.settings import topic_settings
    from headrace.cli.cleaning_view import cleaning

    found = {name: cluster.topic(name) for name in topics}
    with patience("Asking for offsets and settings"):
        ranges = offset_ranges(cluster, found)
        sizes = partition_sizes(cluster)
        settings = {name: topic_settings(cluster, name) for name in topics}
        cleanings = {name: cleaning(cluster, name, settings[name]) for name in topics}
    documents = [
        {**_description(name, found[name], ranges, sizes, settings[name]), "cleaning": cleanings[name]}
        for name in topics
    ]
    if as_json:
        print_json(documents)
        return
    for document in documents:
        _print_description(document)


def _description(name: str, topic: Any, ranges: Any, sizes: Any, settings: Any) -> dict[str, Any]:
    partitions = []
    for partition, metadata in sorted(topic.partitions.items()):
        start, end = ranges.get((name, partition), (None, None))
        partitions.append(
            {
                "partition": partition,
                "leader": metadata.leader,
                "replicas": metadata.replicas,
                "isr": metadata.isrs,
                "start_offset": start,
                "end_offset": end,
                "records": None if start is None else end - start,
                "bytes": sizes.get((name, partition)),
            }
        )
    changed = {entry.name: entry.value for entry in settings if entry.changed}
    return {"topic": name, "partitions": partitions, "config": changed}


def _print_description(document: dict[str, Any]) -> None:
    from rich.text import Text

    partitions = document["partitions"]
    total = sum(p["records"] or 0 for p in partitions)
    out = console()
    out.print(
        Text.assemble(
            (document["topic"], "bold cyan"), f"  {counted(len(partitions), 'partition')}, {counted(total, 'record')}"
        )
    )
    out.print(
        "  " + "  ".join(f"{key}={value}" for key, value in document["config"].items())
        if document["config"]
        else "  [dim]all settings at their defaults; see `headrace config describe --topic "
        + document["topic"]
        + " --all`[/]"
    )
    print_table(
        (">PARTITION", ">LEADER", "REPLICAS", "IN SYNC", ">START", ">END", ">RECORDS", ">SIZE"),
        [
            (
                p["partition"],
                p["leader"],
                ",".join(map(str, p["replicas"])),
                ",".join(map(str, p["isr"])),
                number(p["start_offset"]),
                number(p["end_offset"]),
                number(p["records"]),
                _size(p["bytes"]),
            )
            for p in partitions
        ],
    )
    _print_cleaning(document["cleaning"])


def _print_cleaning(document: dict[str, Any]) -> None:
    from headrace.cli import cleaning_view

    out = console()
    for rule in cleaning_view.rules(document):
        out.print(f"  {rule}", markup=False)
    if progress := cleaning_view.table(document):
        print_table(*progress)


@command(
    app,
    "alter",
    examples=(
        "headrace topic alter orders --set retention.ms=3600000",
        "headrace topic alter orders --unset retention.ms --set max.message.bytes=2000000",
    ),
)
def alter(
    cluster: Cluster,
    topic: Name,
    assign: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set this; repeatable.")
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="Back to the default; repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Change settings of a topic."""
    from headrace.cli.settings_view import alter_settings

    if not assign and not unset:
        raise UsageMistake("Nothing to change", f"Say what: `headrace topic alter {topic} --set retention.ms=3600000`")
    cluster.topic(topic)
    alter_settings(cluster, "topic", topic, pairs(assign or [], "--set"), unset or [], as_json=as_json)


@command(
    app,
    "add-partitions",
    examples=("headrace topic add-partitions orders --to 12",),
)
def add_partitions(
    cluster: Cluster,
    topic: Name,
    to: Annotated[int, typer.Option("--to", min=1, help="How many partitions the topic shall have in all.")],
    as_json: Json = False,
) -> None:
    """Give a topic more partitions. Keys may land in other partitions afterwards; there is no way back."""
    from confluent_kafka.admin import NewPartitions

    before = len(cluster.topic(topic).partitions)
    if to <= before:
        raise CliError(
            f"'{topic}' has {before} partitions already and cannot have fewer", f"Ask for more: --to {before + 1}"
        )
    futures = cluster.admin().create_partitions([NewPartitions(topic, to)], operation_timeout=cluster.timeout_s)
    cluster.result(futures[topic], f"Cannot add partitions to '{topic}'")
    if as_json:
        print_json({"topic": topic, "partitions": to, "before": before})
    else:
        say(f"{topic} has {to} partitions now (before: {before})")


@command(
    app,
    "delete",
    examples=("headrace topic delete orders", "headrace topic delete orders payments --yes"),
)
def delete(
    cluster: Cluster,
    topics: Names,
    yes: Yes = False,
    if_exists: Annotated[bool, typer.Option("--if-exists", help="It is fine when a topic is not there.")] = False,
    as_json: Json = False,
) -> None:
    """Delete topics with all their records."""
    known = cluster.topics(internal=True)
    for name in topics:
        if name not in known and not if_exists:
            raise unknown_topic(name, known)
    wanted = [name for name in topics if name in known]
    if wanted:
        confirm(f"Delete {', '.join(wanted)} and all records in {'it' if len(wanted) == 1 else 'them'}?", yes)
        delete_topics(cluster, wanted)
    if as_json:
        print_json([{"topic": name, "deleted": name in wanted} for name in topics])
        return
    for name in topics:
        say(f"Deleted topic {name}" if name in wanted else f"There is no topic {name}")


def confirm(question: str, yes: bool, deed: str = "This deletes data") -> None:
    """Ask on a terminal; elsewhere nobody can answer, so insist on --yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageMistake(f"{deed} and nobody is here to confirm it", "Pass --yes")
    if not typer.confirm(question, err=True):
        raise CliError("Nothing was done")


def _size(count: int | None) -> str:
    from headrace.admin.times import size

    return "-" if count is None else size(count)
