"""`headrace produce`: records from standard input, files or the command line into a topic."""

from __future__ import annotations

import enum
import itertools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.admin.cluster import Cluster
from headrace.admin.errors import UsageMistake
from headrace.admin.records_in import LineFormat, NewRecord, json_lines, lines
from headrace.cli import completing
from headrace.cli.cluster import pairs
from headrace.cli.command import Json, command
from headrace.cli.errors import CliError
from headrace.cli.output import say
from headrace.cli.record_schemas import (
    Wanted,
    WriteKeyFormat,
    WriteKeySchema,
    WriteValueFormat,
    WriteValueSchema,
    encoded,
)
from headrace.cli.registry import Url
from headrace.cli.sending import Sending


class InputForm(enum.StrEnum):
    LINES = "lines"
    JSON = "json"


class Compression(enum.StrEnum):
    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Acks(enum.StrEnum):
    NONE = "0"
    LEADER = "1"
    ALL = "all"


def register(app: typer.Typer) -> None:
    @command(
        app,
        "produce",
        examples=(
            "echo hello | headrace produce orders",
            "headrace produce orders --key alice --value '{\"total\": 12}' -H source=shop",
            "headrace produce orders --key-separator : < keyed-lines.txt",
            "headrace produce orders events.jsonl --input json --compression zstd",
            "headrace produce photos cat.jpg dog.jpg --whole",
            "headrace produce orders --key alice --tombstone",
            "headrace produce orders --value-schema order.avsc < orders.jsonl      encoded, the schema registered",
            "headrace produce orders --value-format protobuf -v '{\"id\": 7}'        with the subject's newest schema",
            "headrace consume orders --json | headrace produce copy --input json --create",
        ),
    )
    def produce(
        cluster: Cluster,
        topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Where to.", autocompletion=completing.topics)],
        files: Annotated[
            list[Path] | None, typer.Argument(metavar="FILE", help="Read these instead of standard input.")
        ] = None,
        value: Annotated[list[str] | None, typer.Option("--value", "-v", help="Send this value; repeatable.")] = None,
        key: Annotated[str | None, typer.Option("--key", "-k", help="The key of all records that have none.")] = None,
        key_separator: Annotated[
            str | None,
            typer.Option(
                "--key-separator",
                "-K",
                metavar="TEXT",
                help="What stands between key and value of a line; \\t is a tab.",
            ),
        ] = None,
        header: Annotated[
            list[str] | None,
            typer.Option("--header", "-H", metavar="NAME=VALUE", help="A header of all records; repeatable."),
        ] = None,
        form: Annotated[
            InputForm,
            typer.Option(
                "--input",
                "-i",
                help="lines, or json: an object per line with key, value, headers, partition, timestamp.",
            ),
        ] = InputForm.LINES,
        whole: Annotated[bool, typer.Option("--whole", help="Every file is one record.")] = False,
        null_marker: Annotated[
            str | None,
            typer.Option("--null-marker", "-Z", metavar="TEXT", help="A key or value that reads like this is null."),
        ] = None,
        tombstone: Annotated[
            bool,
            typer.Option("--tombstone", help="Send one null value for --key: deletes the key of a compacted topic."),
        ] = False,
        partition: Annotated[
            int | None, typer.Option("--partition", "-p", min=0, help="All records into this partition.")
        ] = None,
        timestamp: Annotated[
            str | None,
            typer.Option("--timestamp", metavar="TIME", help="The time of all records: -5m, ISO 8601, @MILLISECONDS."),
        ] = None,
        compression: Annotated[
            Compression, typer.Option("--compression", "-z", help="How batches are compressed.")
        ] = Compression.NONE,
        acks: Annotated[
            Acks,
            typer.Option("--acks", "-a", help="Whose word counts as delivered; below all there is no idempotence."),
        ] = Acks.ALL,
        create: Annotated[bool, typer.Option("--create", help="Create the topic when it is missing.")] = False,
        value_format: WriteValueFormat = None,
        value_schema: WriteValueSchema = None,
        key_format: WriteKeyFormat = None,
        key_schema: WriteKeySchema = None,
        registry: Url = None,
        as_json: Json = False,
    ) -> None:
        """Write records to a topic. They come from lines on standard input, from files, or from the command line."""
        shared = LineFormat(
            key_separator=key_separator.replace("\\t", "\t") if key_separator else None,
            key=key,
            null_marker=null_marker,
            headers=tuple((name, text.encode()) for name, text in _headers(header)),
            partition=partition,
            timestamp_ms=_timestamp(timestamp),
        )
        _check_together(files, value, whole, tombstone, key)
        _ensure_topic(cluster, topic, create=create, partition=partition)
        source: Iterable[NewRecord] = _source(files or [], value or [], whole, tombstone, form, shared)
        source = encoded(
            source, topic, registry, Wanted("value", value_format, value_schema), Wanted("key", key_format, key_schema)
        )
        sending = Sending(topic, cluster.producer({"acks": acks.value, "compression.type": compression.value}))
        sending.run(source)
        sending.report(as_json=as_json)


def _headers(texts: list[str] | None) -> Iterable[tuple[str, str]]:
    return [next(iter(pairs([text], "--header").items())) for text in texts or []]


def _timestamp(text: str | None) -> int | None:
    from headrace.admin.times import parse_time_ms

    return None if text is None else parse_time_ms(text)


def _check_together(
    files: list[Path] | None, value: list[str] | None, whole: bool, tombstone: bool, key: str | None
) -> None:
    if value and files:
        raise UsageMistake("--value and files both give records", "Leave one of them out")
    if tombstone and (key is None or value or files):
        raise UsageMistake(
            "--tombstone sends one null value for one key", "Write `--key KEY --tombstone` without anything else"
        )
    if whole and not files:
        raise UsageMistake("--whole sends files", "Name some")
    for file in files or []:
        if not file.is_file():
            raise CliError(f"There is no file {file}", "Check the path")


def _ensure_topic(cluster: Cluster, topic: str, *, create: bool, partition: int | None) -> None:
    """A misspelt topic is an error even where the broker would create it: nobody wants those."""
    from confluent_kafka.admin import NewTopic

    if create and topic not in cluster.topics(internal=True):
        new = NewTopic(topic, num_partitions=-1, replication_factor=-1)
        cluster.result(cluster.admin().create_topics([new])[topic], f"Cannot create '{topic}'")
        return
    partitions = cluster.topic(topic).partitions
    if partition is not None and partition not in partitions:
        raise CliError(f"'{topic}' has no partition {partition}", f"It has 0 to {len(partitions) - 1}")


def _source(
    files: list[Path], values: list[str], whole: bool, tombstone: bool, form: InputForm, shared: LineFormat
) -> Iterator[NewRecord]:
    parse = json_lines if form is InputForm.JSON else lines
    if tombstone:
        assert shared.key is not None
        return iter([NewRecord(shared.key.encode(), None, list(shared.headers), shared.partition, shared.timestamp_ms)])
    if values:
        return parse((value.encode() for value in values), shared)
    if whole:
        return (_whole_file(file, shared) for file in files)
    if files:
        return itertools.chain.from_iterable(_of_file(file, parse, shared) for file in files)
    if sys.stdin.isatty():
        say("One record per line; Ctrl-D ends.")
    return parse(sys.stdin.buffer, shared)


def _of_file(file: Path, parse: Any, shared: LineFormat) -> Iterator[NewRecord]:
    with file.open("rb") as stream:
        yield from parse(stream, shared)


def _whole_file(file: Path, shared: LineFormat) -> NewRecord:
    key = shared.key.encode() if shared.key is not None else None
    return NewRecord(key, file.read_bytes(), list(shared.headers), shared.partition, shared.timestamp_ms)
