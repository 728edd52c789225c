"""How commands print: tables for people, JSON for programs, everything that is not the answer on standard error.

Rich is imported only when something is drawn. `NO_COLOR` and pipes are Rich's own doing.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PATIENCE_S = 2.0
_BARS = "▁▂▃▄▅▆▇█"


def console(*, stderr: bool = False) -> Console:
    """A console on the stream as it is now, so that tests and pipes see what they should."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # Without a terminal nothing is cut at 80 columns: a program reads it.
    width = None if stream.isatty() else 240
    return Console(file=stream, highlight=False, soft_wrap=False, width=width)


def print_json(document: Any) -> None:
    """One document, on several lines for people to read as well."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def print_json_line(document: Any) -> None:
    """One document per line, for streams of them."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")


def say(text: str) -> None:
    """A remark to the person at the keyboard; never part of the answer."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def highlighted(text: str, style: str) -> str:
    """`text` for standard error, in the ANSI style where that is a terminal: for lines that shall not wait for Rich."""
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{style}m{text}\x1b[0m"


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str = "") -> Any:
    """A table without frills. A column whose name starts with `>` is aligned right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", header_style="bold", pad_edge=False)
    for column in columns:
        drawn.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*[cell if isinstance(cell, Text) else Text(str(cell)) for cell in row])
    return drawn


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str = "", empty: str = "") -> None:
    """Print a table, or the sentence `empty` when there is nothing in it."""
    if not rows and empty:
        sys.stdout.write(empty + "\n")
        return
    console().print(table(columns, rows, title=title))


def sparkline(values: Sequence[float]) -> str:
    """The values as a line of little bars; the lowest is always zero."""
    top = max(values, default=0)
    if top <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[min(len(_BARS) - 1, int(value / top * len(_BARS)))] for value in values)


@contextlib.contextmanager
def patience(doing: str) -> Iterator[None]:
    """Say what is going on when it takes over two seconds: a spinner on a terminal, one line elsewhere."""
    shown: list[Any] = []

    def show() -> None:
        if not sys.stderr.isatty():
            say(f"{doing} ...")
            return
        status = console(stderr=True).status(doing)
        status.start()
        shown.append(status)

    timer = threading.Timer(PATIENCE_S, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for status in shown:
            status.stop()
