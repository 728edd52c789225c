"""What `headrace` alone shows: the way to a first success, then the commands."""

from __future__ import annotations

from headrace import __version__
from headrace.cli.output import console

FIRST_MINUTE = (
    ("headrace broker", "start a broker on 127.0.0.1:9092, data in ./headrace-data"),
    ("headrace topic create orders", "make a topic"),
    ("echo 'hello' | headrace produce orders", "write a record"),
    ("headrace consume orders", "read it back"),
)
COMMANDS = (
    (
        "Run",
        (
            ("broker", "a broker in the foreground"),
            ("up", "all services"),
            ("registry", "the schema registry"),
            ("engine", "the service that runs pipelines"),
            ("console", "the web console"),
            ("run", "a streams application, with a live view"),
            ("demo", "the emergency centre of a country, live"),
        ),
    ),
    ("Records", (("produce", "write records from lines, JSON or files"), ("consume", "read, follow, merge, format"))),
    (
        "Look after",
        (
            ("topic", "create, list, describe, alter, delete, add-partitions"),
            ("group", "list, describe with lag, reset-offsets, delete"),
            ("transactions", "list, describe, find-hanging, abort"),
            ("schema", "list, show, register, check, diff, delete, config"),
            ("stream", "pipelines: list, show, explain, get, pause, resume, stop, reset"),
            ("config", "describe, set, unset: topics and brokers"),
            ("bench", "how fast is this broker?"),
            ("verify", "does it keep its promises?"),
        ),
    ),
    (
        "Yourself",
        (
            ("setup", "fetch and compile what pipelines need"),
            ("doctor", "what is missing, and what mends it"),
            ("context", "names for the clusters you use"),
            ("completion", "for your shell"),
            ("version", "of Headrace and what it runs on"),
        ),
    ),
)


def print_overview() -> None:
    """Print it, in colours where there are any."""
    out = console()
    out.print(f"[bold cyan]Headrace[/] {__version__}: an event log that every Kafka client can use.\n")
    out.print("[bold]The first minute[/]")
    _lines(out, FIRST_MINUTE, prefix="$ ")
    for title, commands in COMMANDS:
        out.print(f"\n[bold]{title}[/]")
        _lines(out, [(f"headrace {name}", text) for name, text in commands])
    out.print(
        "\nEvery command has [cyan]--help[/] with examples. All of them work against Apache Kafka too: "
        "[cyan]--bootstrap-server HOST:PORT[/]."
    )


def _lines(out: object, lines: object, prefix: str = "") -> None:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(min_width=40, no_wrap=True)
    grid.add_column(style="dim")
    for text, meaning in lines:  # type: ignore[attr-defined]
        grid.add_row(Text.assemble("  ", (prefix, "dim"), (text, "cyan")), Text(meaning))
    out.print(grid)  # type: ignore[attr-defined]
