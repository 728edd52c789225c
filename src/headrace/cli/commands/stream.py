"""`headrace stream`: list, show, explain, look up, pause, resume, restart, stop and reset pipelines of an engine."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.admin.errors import UsageMistake, did_you_mean
from headrace.admin.times import local
from headrace.cli.command import Json, Yes, command, new_app
from headrace.cli.commands.topic import confirm
from headrace.cli.errors import CliError
from headrace.cli.output import console, patience, print_json, print_table, say

if TYPE_CHECKING:
    from headrace.engine.http_client import RemoteEngine
    from headrace.plan.engine import PipelineStatus

app = new_app("List, show, pause, resume, stop and reset streaming pipelines.")

DEFAULT_ENGINE = "http://127.0.0.1:8084"
Name = Annotated[str, typer.Argument(metavar="PIPELINE", help="The pipeline's name.")]
EngineUrl = Annotated[
    str | None, typer.Option("--engine", metavar="URL", help=f"The engine; else HEADRACE_ENGINE, {DEFAULT_ENGINE}.")
]


@contextlib.contextmanager
def engine_at(url: str | None, doing: str = "Asking the engine") -> Iterator[RemoteEngine]:
    """The engine a command talks to; its refusals become one line."""
    from headrace.engine.http_client import RemoteEngine
    from headrace.plan.engine import EngineError, UnknownPipeline

    try:
        remote = RemoteEngine(url or os.environ.get("HEADRACE_ENGINE") or DEFAULT_ENGINE)
        with patience(doing):
            yield remote
    except UnknownPipeline as error:
        raise CliError(str(error), "See them with `headrace stream list`") from None
    except EngineError as error:
        raise CliError(str(error)) from None


@command(app, "list", examples=("headrace stream list", "headrace stream list --json | jq -r '.[].name'"))
def list_pipelines(engine: EngineUrl = None, as_json: Json = False) -> None:
    """List the pipelines and what they do."""
    with engine_at(engine) as remote:
        found = remote.pipelines()
        problems = remote.problems()
    if as_json:
        print_json([_document(each) for each in found])
        return
    for problem in problems:
        say(f"Note: {problem}")
    print_table(
        ("PIPELINE", "STATE", "GUARANTEE", ">REVISION", ">RESTARTS", "SUBMITTED", "ERROR"),
        [
            (
                each.name,
                each.state.value,
                each.guarantee.value,
                each.revision,
                each.restarts,
                local(each.submitted_at_ms),
                each.error or "",
            )
            for each in found
        ],
        empty="No pipelines. `headrace run app.py` submits one",
    )


@command(app, "show", examples=("headrace stream show fraud", "headrace stream show fraud --json"))
def show(name: Name, engine: EngineUrl = None, as_json: Json = False) -> None:
    """Show a pipeline: its state, its rates, its stages with their mode and why."""
    with engine_at(engine) as remote:
        status = remote.status(name)
        progress = remote.progress(name)
    if as_json:
        print_json({**_document(status), "progress": progress})
        return
    from headrace.cli.progress_view import progress_tables

    console().print(f"[bold cyan]{status.name}[/]  {status.state}, {status.guarantee}, revision {status.revision}")
    if status.error:
        console().print(f"  [red]{status.error}[/]")
    for drawn in progress_tables(progress):
        console().print(drawn)


@command(
    app,
    "explain",
    examples=("headrace stream explain fraud", "headrace stream explain fraud --form svg > fraud.svg"),
)
def explain(
    name: Name,
    form: Annotated[str, typer.Option("--form", metavar="FORM", help="text, mermaid or svg.")] = "text",
    engine: EngineUrl = None,
) -> None:
    """Show how a pipeline is run: steps, stages, and why each has its mode."""
    if form not in ("text", "mermaid", "svg"):
        raise UsageMistake(f"'{form}' is no form of an explanation", did_you_mean(form, ("text", "mermaid", "svg")))
    with engine_at(engine) as remote:
        typer.echo(remote.explain(name, form))


@command(
    app,
    "get",
    examples=(
        "headrace stream get fraud totals card-17",
        "headrace stream get fraud totals --limit 20",
        "headrace stream get visits counts home --window-from 1700000000000 --json",
    ),
)
def get(
    name: Name,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The store's name.")],
    key: Annotated[str | None, typer.Argument(metavar="KEY", help="The row; all rows without it.")] = None,
    window_from: Annotated[int | None, typer.Option("--window-from", help="Windows from this time on (ms).")] = None,
    window_to: Annotated[int | None, typer.Option("--window-to", help="Windows up to this time (ms).")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="Rows at most.")] = 100,
    engine: EngineUrl = None,
    as_json: Json = False,
) -> None:
    """Look up rows of a pipeline's table."""
    given = {"key": _key(key), "window_from_ms": window_from, "window_to_ms": window_to, "limit": limit, "wait": True}
    with engine_at(engine, "Reading the table") as remote:
        answer = remote.look_up(name, table, {field: value for field, value in given.items() if value is not None})
    if as_json:
        print_json(answer)
        return
    _print_rows(answer)


def _key(text: str | None) -> Any:
    """A key of several columns is written as a JSON object."""
    if text is not None and text.startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            raise UsageMistake(f"the key {text!r} is not JSON", 'Write it like {"user": "a", "day": 3}') from None
    return text


def _print_rows(answer: Any) -> None:
    rows = answer["rows"]
    keys = list(rows[0]["key"]) if rows else []
    values = list(rows[0]["value"]) if rows else []
    windowed = any("window" in row for row in rows)
    print_table(
        (*(name.upper() for name in keys), *(("WINDOW",) if windowed else ()), *(name.upper() for name in values)),
        [
            (
                *(row["key"][name] for name in keys),
                *((f"{local(row['window']['start_ms'])}",) if windowed else ()),
                *(row["value"][name] for name in values),
            )
            for row in rows
        ],
        empty="No rows",
    )
    if answer["more"]:
        say("There are more rows: raise --limit")


@command(app, "pause", examples=("headrace stream pause fraud",))
def pause(name: Name, engine: EngineUrl = None) -> None:
    """Stop processing for now; positions and state stay."""
    with engine_at(engine) as remote:
        remote.pause(name)
    say(f"{name} is paused; `headrace stream resume {name}` goes on")


@command(app, "resume", examples=("headrace stream resume fraud",))
def resume(name: Name, engine: EngineUrl = None) -> None:
    """Go on where it was paused."""
    with engine_at(engine) as remote:
        remote.resume(name)
    say(f"{name} goes on")


@command(app, "restart", examples=("headrace stream restart fraud",))
def restart(name: Name, engine: EngineUrl = None) -> None:
    """Stop and start it, without waiting for the next try after a failure."""
    with engine_at(engine) as remote:
        remote.restart(name)
    say(f"{name} starts again")


@command(app, "stop", examples=("headrace stream stop fraud", "headrace stream stop fraud --yes"))
def stop(name: Name, yes: Yes = False, engine: EngineUrl = None) -> None:
    """End a pipeline and forget it. Topics and checkpoints stay: submitted again under its name, it goes on."""
    with engine_at(engine) as remote:
        remote.status(name)
    confirm(f"End the pipeline '{name}'?", yes)
    with engine_at(engine) as remote:
        remote.stop(name)
    say(f"{name} has ended")


@command(app, "reset", examples=("headrace stream pause fraud && headrace stream reset fraud --yes",))
def reset(name: Name, yes: Yes = False, engine: EngineUrl = None) -> None:
    """Remove a paused pipeline's state, internal topics and positions, so that it begins anew. Output topics stay."""
    with engine_at(engine) as remote:
        remote.status(name)
    confirm(f"Remove all state of '{name}' and process its input anew?", yes)
    with engine_at(engine) as remote:
        remote.reset(name)
    say(f"{name} is reset; `headrace stream resume {name}` begins anew")


def _document(status: PipelineStatus) -> dict[str, Any]:
    import dataclasses

    return dataclasses.asdict(status)
