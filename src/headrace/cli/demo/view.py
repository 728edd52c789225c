"""How the demo looks: a live table on a terminal, a line every two seconds elsewhere, a summary at the end."""

from __future__ import annotations

from typing import Any

from headrace.admin.times import number, size
from headrace.cli.demo.sampling import Sampler
from headrace.cli.demo.streaming import GROUP
from headrace.cli.output import sparkline

SHOWN = 20
TRY_NEXT = (
    ("headrace consume earthquakes --follow --from end", "watch the earth shake"),
    ("headrace consume traffic --from -1m --json-values", "the last minute, for jq"),
    ("headrace consume earthquakes news traffic --merge -n 20", "one stream by time"),
    (f"headrace group describe {GROUP}", "who reads what, and how far behind"),
    ("headrace topic describe traffic", "partitions, offsets, sizes"),
)


def live_table(sampler: Sampler, latest: dict[str, str], address: str, seconds: float) -> Any:
    """The whole picture as one renderable."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    head = Text.assemble(
        ("Headrace demo", "bold cyan"), f"  broker {address}", ("  Ctrl-C ends", "dim"), (f"   {seconds:.0f} s", "dim")
    )
    return Panel(Group(_topics(sampler, latest), _group(sampler)), title=head, title_align="left", border_style="dim")


def _topics(sampler: Sampler, latest: dict[str, str]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, expand=True)
    drawn.add_column("TOPIC", style="cyan", no_wrap=True)
    for title in ("PARTITIONS", "RECORDS", "RATE", "SIZE"):
        drawn.add_column(title, justify="right", no_wrap=True)
    drawn.add_column(f"LAST {SHOWN} S", no_wrap=True, style="green", min_width=12)
    drawn.add_column("LATEST", no_wrap=True, overflow="ellipsis", style="dim", ratio=1)
    for topic in sampler.topics:
        drawn.add_row(
            topic.name,
            str(topic.partitions),
            number(topic.records),
            f"{topic.rate:,.0f}/s",
            "-" if topic.bytes is None else size(topic.bytes),
            sparkline(list(topic.rates)[-SHOWN:]),
            Text(latest.get(topic.name, "")),
        )
    return drawn


def _group(sampler: Sampler) -> Any:
    from rich.text import Text

    lag = sampler.lags[-1] if sampler.lags else 0
    return Text.assemble(
        (" group ", "dim"),
        (GROUP, "cyan"),
        (" lag ", "dim"),
        (f"{lag:>7,} ", "bold yellow" if lag > 500 else "bold"),
        (sparkline(list(sampler.lags)), "yellow"),
        ("  (it takes a break now and then)", "dim"),
    )


def plain_line(sampler: Sampler, seconds: float) -> str:
    """The same in one line, for logs and pipes."""
    topics = "  ".join(f"{topic.name} {topic.records:,} ({topic.rate:,.0f}/s)" for topic in sampler.topics)
    return f"{seconds:4.0f} s  {topics}  lag {sampler.lags[-1] if sampler.lags else 0:,}"


def document(sampler: Sampler, seconds: float) -> dict[str, Any]:
    """The same for programs."""
    return {
        "seconds": round(seconds, 1),
        "topics": {
            t.name: {"records": t.records, "rate": round(t.rate, 1), "bytes": t.bytes, "partitions": t.partitions}
            for t in sampler.topics
        },
        "group": {"name": GROUP, "lag": sampler.lags[-1] if sampler.lags else 0},
    }


def print_summary(
    out: Any, sampler: Sampler, sent: int, read: int, seconds: float, address: str, kept: str | None
) -> None:
    """What happened, what is left, and what to try next."""
    from rich.table import Table
    from rich.text import Text

    out.print(
        f"\n[bold]{sent:,}[/] events sent and acknowledged in {seconds:.0f} s, [bold]{read:,}[/] read by the group {GROUP}."
    )
    for topic in sampler.topics:
        held = "" if topic.bytes is None else f", {size(topic.bytes)}"
        out.print(f"  {topic.name}: {topic.records:,} records in {topic.partitions} partitions{held}")
    if kept:
        out.print(
            f"\nThe data stays in {kept}. Start a broker on it with [cyan]headrace broker --data-dir {kept}[/], and try:"
        )
    else:
        out.print(f"\nThe broker at {address} still runs. Try:")
    grid = Table.grid(padding=(0, 2))
    for text, meaning in TRY_NEXT:
        grid.add_row(Text.assemble("  $ ", (text, "cyan")), Text(meaning, style="dim"))
    out.print(grid)
