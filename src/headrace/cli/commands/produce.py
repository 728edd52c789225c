"""`headrace produce`: records from standard input, files or the command line into a topic."""

from __future__ import annotations

import enum
import itertools
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.cli import completing
from headrace.cli.cluster import Cluster, pairs
from headrace.cli.command import Json, command
from headrace.cli.errors import CliError, UsageMistake, from_kafka
from headrace.cli.output import PATIENCE_S, print_json, say
from headrace.cli.records_in import LineFormat, NewRecord, json_lines, lines


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
        source = _source(files or [], value or [], whole, tombstone, form, shared)
        sending = Sending(topic, cluster.producer({"acks": acks.value, "compression.type": compression.value}))
        sending.run(source)
        sending.report(as_json=as_json)


def _headers(texts: list[str] | None) -> Iterable[tuple[str, str]]:
    return [next(iter(pairs([text], "--header").items())) for text in texts or []]


def _timestamp(text: str | None) -> int | None:
    from headrace.cli.times import parse_time_ms

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


@dataclass(slots=True)
class Sending:
    """A producer at work: what was acknowledged where, what failed, and progress when it takes long."""

    topic: str
    producer: Any
    sent: int = 0
    delivered: int = 0
    failures: int = 0
    first_error: Any = None
    offsets: dict[int, list[int]] = field(default_factory=dict)
    begin: float = field(default_factory=time.monotonic)
    _shown: float = 0.0

    def run(self, records: Iterable[NewRecord]) -> None:
        """Send everything; on Ctrl-C and on bad input, what was read before still goes out."""
        try:
            for record in records:
                self._send(record)
                if self.sent % 256 == 0 or sys.stdin.isatty():
                    self.producer.poll(0)
                    self._progress()
        finally:
            while self.producer.flush(1.0):
                self._progress()
            if self._shown:
                sys.stderr.write("\r\x1b[K")

    def _send(self, record: NewRecord) -> None:
        from confluent_kafka import KafkaException

        optional: dict[str, Any] = {} if record.partition is None else {"partition": record.partition}
        if record.timestamp_ms is not None:
            optional["timestamp"] = record.timestamp_ms
        while True:
            try:
                self.producer.produce(
                    self.topic,
                    record.value,
                    record.key,
                    headers=record.headers or None,
                    on_delivery=self._on_delivery,
                    **optional,
                )
                self.sent += 1
                return
            except BufferError:
                self.producer.poll(0.1)
                self._progress()
            except KafkaException as error:
                raise from_kafka(error.args[0], f"Record {self.sent + 1}") from None

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failures += 1
            self.first_error = self.first_error or error
            return
        self.delivered += 1
        offset = message.offset()
        span = self.offsets.setdefault(message.partition(), [offset, offset])
        span[0], span[1] = min(span[0], offset), max(span[1], offset)

    def _progress(self) -> None:
        now = time.monotonic()
        if now - self.begin < PATIENCE_S or now - self._shown < 0.2 or not sys.stderr.isatty() or sys.stdin.isatty():
            return
        self._shown = now
        sys.stderr.write(f"\r\x1b[K{self.delivered:,} records sent, {self.delivered / (now - self.begin):,.0f}/s")
        sys.stderr.flush()

    def report(self, *, as_json: bool) -> None:
        """Say what became of it; a record that was not delivered is a failure."""
        if as_json:
            partitions = {
                str(partition): {"first_offset": low, "last_offset": high}
                for partition, (low, high) in sorted(self.offsets.items())
            }
            print_json({"topic": self.topic, "sent": self.delivered, "failed": self.failures, "partitions": partitions})
        elif sys.stderr.isatty() and not self.failures:
            plural = "" if self.delivered == 1 else "s"
            say(f"{self.delivered:,} record{plural} sent to {self.topic}")
        if self.failures:
            raise from_kafka(self.first_error, f"{self.failures:,} of {self.sent:,} records were not delivered")
