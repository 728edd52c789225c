"""`headrace setup`: everything that pipelines need, fetched and compiled ahead."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.command import Json, command
from headrace.cli.errors import CliError
from headrace.cli.output import console, print_json, print_table, say

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.spark.runtime.installation import Installation

FastStart = Annotated[
    bool,
    typer.Option(
        "--fast-start/--no-fast-start", help="Start Spark once and archive what it loads, so that it starts faster."
    ),
]


def register(app: typer.Typer) -> None:
    @command(app, "setup", examples=("headrace setup", "headrace setup --no-fast-start", "headrace setup --json"))
    def setup(fast_start: FastStart = True, as_json: Json = False) -> None:
        """Fetch and compile what pipelines need, so that they start at once and without a network.

        Finds Java 17 or later, fetches the Kafka connector for Spark from Maven Central (10 MB), and compiles the Scala of Headrace. All of it is kept
        in HEADRACE_CACHE, else in the user's cache directory; doing it again takes a moment.
        """
        started = time.monotonic()
        installation, archive = _provide(fast_start)
        seconds = round(time.monotonic() - started, 1)
        if as_json:
            print_json({**_document(installation, archive), "seconds": seconds})
            return
        print_table(("WHAT", "WHERE"), _rows(installation, archive))
        console().print(f"Ready after {seconds} s. `headrace doctor` looks again at any time.")


def _provide(fast_start: bool) -> tuple[Installation, Path | None]:
    from headrace.spark.runtime.errors import RuntimeUnavailable
    from headrace.spark.runtime.installation import prepare

    try:
        with _progress() as progress:
            installation = prepare(progress)
            return installation, _archive(installation, progress) if fast_start else None
    except RuntimeUnavailable as error:
        if error.detail:
            say(error.detail)
        raise CliError(error.message, error.next_step) from None


def _archive(installation: Installation, progress: Callable[[str], None]) -> Path:
    from headrace.cli.warm_up import exercise
    from headrace.spark.fast_start import provide_archive

    return provide_archive(installation, exercise, progress)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """One line that changes on a terminal; elsewhere a line per step."""
    if not sys.stderr.isatty():
        yield lambda what: say(f"{what} ...")
        return
    with console(stderr=True).status("looking around") as status:
        yield lambda what: status.update(what)


def _rows(installation: Installation, archive: Path | None) -> list[tuple[str, Any]]:
    java, spark = installation.java, installation.spark
    return [
        (f"Java {java.version}", f"{java.executable} ({java.source})"),
        (f"PySpark {spark.version}", spark.home),
        *((path.stem, path) for path in installation.connectors),
        ("compiled Scala", installation.classes),
        *([("fast start", archive)] if archive else []),
    ]


def _document(installation: Installation, archive: Path | None) -> dict[str, Any]:
    java, spark = installation.java, installation.spark
    return {
        "java": {"version": java.version, "executable": str(java.executable), "source": java.source},
        "pyspark": {"version": spark.version, "home": str(spark.home)},
        "connectors": [str(path) for path in installation.connectors],
        "classes": str(installation.classes),
        "fast_start": str(archive) if archive else None,
    }
