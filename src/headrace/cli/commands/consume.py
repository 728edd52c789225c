"""`headrace consume`: records of topics on standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from typing import Annotated, Any

import typer

from headrace.admin.cluster import Cluster
from headrace.admin.errors import UsageMistake
from headrace.admin.positions import Partition, Position, parse_position
from headrace.cli import completing
from headrace.cli.command import Json, command
from headrace.cli.errors import CliError
from headrace.cli.output import patience, say
from headrace.cli.record_schemas import ReadKeyFormat, ReadKeySchema, ReadValueFormat, ReadValueSchema, Wanted, decoded
from headrace.cli.registry import Url


def register(app: typer.Typer) -> None:
    @command(
        app,
        "consume",
        examples=(
            "headrace consume orders                                 everything there is",
            "headrace consume orders --follow --from end             what comes from now on",
            "headrace consume orders --from -5m --until -1m          a span of time",
            "headrace consume orders --from -10 --partition 0        the last ten of a partition",
            "headrace consume orders payments --merge                by timestamp across partitions",
            "headrace consume orders --group billing --count 100     as a member of a group",
            "headrace consume orders --json | jq .value",
            "headrace consume orders --value-format auto             decoded with the registry's schemas",
            "headrace consume orders --format '{time} {key}: {value}'",
        ),
    )
    def consume(
        cluster: Cluster,
        topics: Annotated[
            list[str], typer.Argument(metavar="TOPIC", help="One topic or several.", autocompletion=completing.topics)
        ],
        group: Annotated[
            str | None,
            typer.Option("--group", "-g", help="Read as a member of this group, from where it stands, and commit."),
        ] = None,
        partition: Annotated[
            list[int] | None, typer.Option("--partition", "-p", min=0, help="Only this partition; repeatable.")
        ] = None,
        begin: Annotated[
            str | None,
            typer.Option(
                "--from",
                metavar="WHERE",
                help="beginning, end, an offset, -10 (the last ten), -5m, ISO 8601, @MILLISECONDS. Default: beginning.",
            ),
        ] = None,
        until: Annotated[
            str | None,
            typer.Option("--until", metavar="WHERE", help="Where to stop; like --from. Default: the end as it is now."),
        ] = None,
        from_beginning: Annotated[bool, typer.Option("--from-beginning", help="The same as --from beginning.")] = False,
        follow: Annotated[bool, typer.Option("--follow", "-f", help="At the end, wait for more.")] = False,
        count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Stop after so many records.")] = None,
        merge: Annotated[bool, typer.Option("--merge", "-m", help="By timestamp across partitions.")] = False,
        form: Annotated[
            str | None,
            typer.Option(
                "--format",
                "-o",
                metavar="FORMAT",
                help="text, raw, json, hex or a template with {key}, {value}, {time} ... Default: text on a terminal, else raw.",
            ),
        ] = None,
        value_format: ReadValueFormat = None,
        value_schema: ReadValueSchema = None,
        key_format: ReadKeyFormat = None,
        key_schema: ReadKeySchema = None,
        registry: Url = None,
        as_json: Json = False,
        json_values: Annotated[
            bool, typer.Option("--json-values", help="With --json: values that are JSON stay JSON.")
        ] = False,
    ) -> None:
        """Read records from topics. What is there, or with --follow what comes."""
        from headrace.admin.reading import limited
        from headrace.cli.records_out import formatter

        if from_beginning and begin:
            raise UsageMistake("--from-beginning and --from both say where to start", "Leave one of them out")
        if follow and until:
            raise UsageMistake("--follow never ends and --until does", "Leave one of them out")
        tty = sys.stdout.isatty()
        name = "json" if as_json or json_values else form or ("text" if tty else "raw")
        shape = formatter(name, colour=tty and not os.environ.get("NO_COLOR"), json_values=json_values)
        start = parse_position("beginning" if from_beginning or begin is None else begin)
        if group is not None:
            messages = _as_member(cluster, group, topics, partition, start, until, merge, follow, count)
        else:
            messages = limited(_by_partition(cluster, topics, partition, start, until, merge, follow), count)
        wanted = Wanted("value", value_format, value_schema), Wanted("key", key_format, key_schema)
        _write(decoded(messages, registry, *wanted), shape)


def _as_member(
    cluster: Cluster,
    group: str,
    topics: list[str],
    partition: list[int] | None,
    start: Position,
    until: str | None,
    merge: bool,
    follow: bool,
    count: int | None,
) -> Generator[Any, None, None]:
    from headrace.admin.reading import read_group

    if partition or until or merge:
        raise UsageMistake(
            "A group decides itself what its members read", "Leave out --partition, --until and --merge, or --group"
        )
    if start.kind not in ("beginning", "end"):
        raise UsageMistake(
            "A group reads from where it stands",
            f"Move it with `headrace group reset-offsets {group} --topic {topics[0]}` first",
        )
    _partitions(cluster, topics, None)
    reset = "earliest" if start.kind == "beginning" else "latest"
    return read_group(cluster, group, topics, follow=follow, reset=reset, limit=count)


def _by_partition(
    cluster: Cluster,
    topics: list[str],
    partition: list[int] | None,
    start: Position,
    until: str | None,
    merge: bool,
    follow: bool,
) -> Generator[Any, None, None]:
    from headrace.admin.positions import ranges
    from headrace.admin.reading import read_merged, read_partitions

    with patience("Asking for offsets"):
        wanted = _partitions(cluster, topics, partition)
        spans = ranges(cluster, wanted, start, parse_position(until) if until else None)
    read = read_merged if merge else read_partitions
    return read(cluster, spans, follow=follow)


def _partitions(cluster: Cluster, topics: list[str], chosen: list[int] | None) -> list[Partition]:
    if chosen and len(topics) > 1:
        raise UsageMistake("--partition goes with one topic", "Name one")
    found: list[Partition] = []
    for topic in topics:
        known = cluster.topic(topic).partitions
        for partition in chosen or []:
            if partition not in known:
                raise CliError(f"'{topic}' has no partition {partition}", f"It has 0 to {len(known) - 1}")
        found += [(topic, partition) for partition in sorted(chosen or known)]
    return found


def _write(messages: Generator[Any, None, None], shape: Any) -> None:
    """Write records as they come; flush whenever there is a moment's rest."""
    out = sys.stdout.buffer
    written = 0
    try:
        for message in messages:
            if message is None:
                out.flush()
                continue
            out.write(shape(message))
            written += 1
        out.flush()
    finally:
        messages.close()
    if written == 0 and sys.stderr.isatty():
        say("No records.")
