"""`headrace bench`: how fast is this broker, seen from a Python client?"""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from headrace.admin.cluster import Cluster
from headrace.admin.times import parse_size, size
from headrace.cli.command import Json, command
from headrace.cli.commands.produce import Acks, Compression
from headrace.cli.output import console, print_json, print_table, say


def register(app: typer.Typer) -> None:
    @command(
        app,
        "bench",
        examples=(
            "headrace bench",
            "headrace bench --records 1000000 --size 100 --acks 1",
            "headrace bench --size 10k --compression zstd --partitions 12",
            "headrace bench --bootstrap-server kafka:9092 --json",
        ),
    )
    def bench(
        cluster: Cluster,
        records: Annotated[
            int, typer.Option("--records", "-n", min=1, help="How many to produce and consume.")
        ] = 200_000,
        record_size: Annotated[
            str, typer.Option("--size", "-s", metavar="SIZE", help="Bytes in a record: 100, 1k, 10k.")
        ] = "1k",
        partitions: Annotated[int, typer.Option("--partitions", "-p", min=1, help="Partitions of the topic.")] = 4,
        acks: Annotated[Acks, typer.Option("--acks", "-a", help="Whose word counts as delivered.")] = Acks.ALL,
        compression: Annotated[
            Compression, typer.Option("--compression", "-z", help="How batches are compressed.")
        ] = Compression.NONE,
        rate: Annotated[int, typer.Option("--rate", min=1, help="Records per second while measuring latency.")] = 500,
        seconds: Annotated[
            float, typer.Option("--latency-seconds", min=0.0, help="How long to measure latency; 0 leaves it out.")
        ] = 5.0,
        as_json: Json = False,
    ) -> None:
        """Measure how fast a broker is. Produce, consume and latency, in a topic of its own that is deleted afterwards."""
        from headrace.cli.benchmark import Load

        name = f"headrace-bench-{secrets.token_hex(4)}"
        load = Load(name, partitions, records, max(16, parse_size(record_size)), acks.value, compression.value)
        with _temporary_topic(cluster, name, partitions), _progress() as track:
            results = _measure(cluster, load, rate, seconds, track)
        if as_json:
            print_json(_document(cluster, load, *results))
        else:
            _print(cluster, load, *results)


Track = Callable[[str, int], Callable[[int], None]]


def _measure(cluster: Cluster, load: Any, rate: int, seconds: float, track: Track) -> tuple[Any, Any, Any]:
    from headrace.cli import benchmark

    produced = benchmark.produce(cluster, load, track("Produce", load.records))
    consumed = benchmark.consume(cluster, load, track("Consume", load.records))
    if seconds == 0:
        return produced, consumed, None
    advance = track("Latency", round(rate * seconds))
    return produced, consumed, benchmark.latency(cluster, load, rate=rate, seconds=seconds, advance=advance)


@contextlib.contextmanager
def _temporary_topic(cluster: Cluster, name: str, partitions: int) -> Iterator[None]:
    from confluent_kafka.admin import NewTopic

    admin = cluster.admin()
    cluster.result(admin.create_topics([NewTopic(name, partitions, 1)])[name], "Cannot create a topic to measure with")
    try:
        yield
    finally:
        cluster.result(admin.delete_topics([name])[name], f"Cannot delete '{name}'")


@contextlib.contextmanager
def _progress() -> Iterator[Track]:
    """A bar per measurement on a terminal, a line per measurement elsewhere."""
    if not sys.stderr.isatty():

        def announce(title: str, total: int) -> Callable[[int], None]:
            say(f"{title}: {total:,} records ...")
            return lambda _done: None

        yield announce
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<8}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bars:

        def add(title: str, total: int) -> Callable[[int], None]:
            task = bars.add_task(title, total=total)
            return lambda done: bars.update(task, completed=done)

        yield add


def _document(cluster: Cluster, load: Any, produced: Any, consumed: Any, latency: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "bootstrap_servers": cluster.bootstrap_servers,
        "records": load.records,
        "record_size": load.size,
        "partitions": load.partitions,
        "acks": load.acks,
        "compression": load.compression,
    }
    for title, result in (("produce", produced), ("consume", consumed)):
        document[title] = {
            "seconds": round(result.seconds, 4),
            "records_per_second": round(result.records_per_second),
            "bytes_per_second": round(result.bytes_per_second),
            "client_cpu_seconds": round(result.client_cpu_seconds, 4),
        }
    if latency is not None:
        document["latency_ms"] = {
            "rate": latency.rate,
            **{f"p{round(share * 100)}": round(latency.percentile(share), 3) for share in (0.5, 0.9, 0.99)},
            "max": round(max(latency.samples_ms), 3),
        }
    return document


def _print(cluster: Cluster, load: Any, produced: Any, consumed: Any, latency: Any) -> None:
    out = console()
    out.print(
        f"{load.records:,} records of {size(load.size)}, {load.partitions} partitions, acks={load.acks}, "
        f"compression={load.compression}, at {cluster.bootstrap_servers}"
    )
    print_table(
        ("", ">RECORDS/S", ">THROUGHPUT", ">SECONDS", ">CLIENT CPU"),
        [
            (
                title,
                f"{r.records_per_second:,.0f}",
                f"{size(r.bytes_per_second)}/s",
                f"{r.seconds:.2f}",
                f"{r.client_cpu_seconds:.2f}",
            )
            for title, r in (("produce", produced), ("consume", consumed))
        ],
    )
    if latency is None:
        return
    out.print(f"End-to-end latency at {latency.rate:,} records/s")
    shares = [f"{latency.percentile(share):.2f} ms" for share in (0.5, 0.9, 0.99)]
    print_table((">P50", ">P90", ">P99", ">MAX"), [[*shares, f"{max(latency.samples_ms):.2f} ms"]])
