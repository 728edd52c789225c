"""`headrace demo`: a broker, synthetic events, a consumer group, and a live table of them."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.admin.cluster import DEFAULT_BOOTSTRAP, Cluster
from headrace.admin.errors import Problem
from headrace.cli.command import Json, command
from headrace.cli.errors import CliError
from headrace.cli.output import console, print_json_line, say

_SAMPLE_S = 1.0
_LINE_EVERY = 2


def register(app: typer.Typer) -> None:
    @command(
        app,
        "demo",
        examples=(
            "headrace demo",
            "headrace demo --seconds 30",
            "headrace demo --data-dir /tmp/demo --port 19092",
            "headrace demo --bootstrap-server kafka:9092",
        ),
    )
    def demo(
        cluster: Cluster,
        seconds: Annotated[
            float | None, typer.Option("--seconds", "-s", min=1.0, help="End after so long. Default: at Ctrl-C.")
        ] = None,
        data_dir: Annotated[
            Path | None,
            typer.Option("--data-dir", "-d", help="Where the demo's own broker keeps its data (./headrace-data)."),
        ] = None,
        port: Annotated[
            int | None,
            typer.Option(
                "--port", "-p", min=0, max=65535, help="Port of the demo's own broker (9092, else a free one)."
            ),
        ] = None,
        seed: Annotated[int, typer.Option("--seed", help="The same events for the same seed.")] = 7,
        as_json: Json = False,
    ) -> None:
        """Stream synthetic events and watch them. Earthquakes, news and traffic; topics, rates and a group's lag."""
        with _broker(cluster, data_dir, port) as (running, kept):
            _create_topics(running)
            _stream(running, seconds, seed, kept, as_json=as_json)


@contextlib.contextmanager
def _broker(cluster: Cluster, data_dir: Path | None, port: int | None) -> Iterator[tuple[Cluster, str | None]]:
    """The cluster that was asked for; else the one that runs here already; else one of our own, gone at the end."""
    from headrace.launch import DEFAULT_DATA_DIR

    wants_own = data_dir is not None or port is not None
    if not wants_own and cluster.source != "the default":
        cluster.check_reachable()
        yield cluster, None
        return
    in_use = _answers(Cluster(DEFAULT_BOOTSTRAP, "the default"))
    if in_use and not wants_own:
        say(f"Using the broker that runs at {DEFAULT_BOOTSTRAP}")
        yield cluster, None
        return
    chosen = port if port is not None else (0 if in_use else 9092)
    with _own_broker(data_dir or Path(DEFAULT_DATA_DIR), chosen) as address:
        yield Cluster(address, "the demo's own broker"), str(data_dir or Path(DEFAULT_DATA_DIR))


def _answers(cluster: Cluster) -> bool:
    try:
        cluster.check_reachable()
    except Problem:
        return False
    return True


@contextlib.contextmanager
def _own_broker(data_dir: Path, port: int) -> Iterator[str]:
    from headrace.testing.process import BrokerDied, BrokerProcess

    with tempfile.TemporaryDirectory(prefix="headrace-demo-") as scratch:
        process = BrokerProcess({}, data_dir, Path(scratch) / "broker.log", port=port)
        try:
            process.start()
        except BrokerDied as error:
            lines = str(error).strip().splitlines()
            raise CliError(lines[-1].removeprefix("Error: "), "") from None
        say(f"Started a broker at {process.bootstrap_servers}, data in {data_dir} ({process.started['start_ms']} ms)")
        try:
            yield process.bootstrap_servers
        finally:
            process.stop()


def _create_topics(cluster: Cluster) -> None:
    from confluent_kafka.admin import NewTopic

    from headrace.cli.demo.events import FEEDS

    present = cluster.topics()
    new = [NewTopic(feed.topic, feed.partitions, 1) for feed in FEEDS if feed.topic not in present]
    for name, future in (cluster.admin().create_topics(new) if new else {}).items():
        cluster.result(future, f"Cannot create '{name}'")


def _stream(cluster: Cluster, seconds: float | None, seed: int, kept: str | None, *, as_json: bool) -> None:
    from headrace.cli.demo.sampling import Sampler
    from headrace.cli.demo.streaming import Reader, Sender
    from headrace.cli.demo.view import document, print_summary

    sampler, sender, reader = Sampler(cluster), Sender(cluster, seed), Reader(cluster)
    begin = time.monotonic()
    sender.start()
    reader.start()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            _watch(cluster, sampler, sender, reader, begin, seconds, as_json=as_json)
    finally:
        took = time.monotonic() - begin
        sender.stop()
        reader.stop()
    sampler.sample()
    for worker in (sender, reader):
        if worker.error is not None:
            raise CliError(f"The demo's {worker.name} failed: {worker.error}", "Is the broker still running?")
    sent, read = sender.acknowledged.total(), reader.consumed.total()
    if as_json:
        print_json_line(
            {"event": "summary", "sent": sent, "read": read, "failed": sender.failures, **document(sampler, took)}
        )
    else:
        print_summary(console(), sampler, sent, read, took, cluster.bootstrap_servers, kept)


def _watch(
    cluster: Cluster, sampler: Any, sender: Any, reader: Any, begin: float, seconds: float | None, *, as_json: bool
) -> None:
    """Sample once a second and show it, until the time is over or a worker has failed."""
    with _shown(cluster, sampler, sender, as_json=as_json) as show:
        tick = 0
        while sender.is_alive() and reader.is_alive():
            elapsed = time.monotonic() - begin
            sampler.sample()
            show(tick, elapsed)
            tick += 1
            end = begin + (seconds if seconds is not None else float("inf"))
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(max(0.0, min(left, begin + tick * _SAMPLE_S - time.monotonic())))


@contextlib.contextmanager
def _shown(cluster: Cluster, sampler: Any, sender: Any, *, as_json: bool) -> Iterator[Any]:
    from headrace.cli.demo.view import document, live_table, plain_line

    if as_json:
        yield lambda tick, elapsed: print_json_line({"event": "sample", **document(sampler, elapsed)})
    elif not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":

        def line(tick: int, elapsed: float) -> None:
            if tick % _LINE_EVERY == 0:
                sys.stdout.write(plain_line(sampler, elapsed) + "\n")
                sys.stdout.flush()

        yield line
    else:
        from rich.live import Live

        with Live(console=console(), auto_refresh=False, transient=True) as live:
            yield lambda tick, elapsed: live.update(
                live_table(sampler, sender.latest, cluster.bootstrap_servers, elapsed), refresh=True
            )
