"""`headrace run app.py`: run a streams application and watch it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.admin.cluster import Cluster
from headrace.admin.errors import UsageMistake
from headrace.cli.command import Json, command
from headrace.cli.commands.stream import EngineUrl
from headrace.cli.errors import CliError
from headrace.cli.output import console, patience, print_json_line, say

if TYPE_CHECKING:
    from headrace.streams import App
    from headrace.streams.running import RunningApp

SAMPLE_S = 1.0


def register(app: typer.Typer) -> None:
    @command(
        app,
        "run",
        examples=(
            "headrace run fraud.py",
            "headrace run fraud.py --guarantee exactly_once",
            "headrace run fraud.py --detach",
            "headrace run fraud.py --explain",
        ),
    )
    def run(
        cluster: Cluster,
        path: Annotated[Path, typer.Argument(metavar="APP.PY", help="A file that makes an App.")],
        name: Annotated[
            str | None, typer.Option("--app", metavar="NAME", help="Which one, if it makes several.")
        ] = None,
        guarantee: Annotated[
            str | None, typer.Option("--guarantee", metavar="WHICH", help="at_least_once or exactly_once.")
        ] = None,
        detach: Annotated[bool, typer.Option("--detach", help="Leave it running on the engine and return.")] = False,
        explain: Annotated[bool, typer.Option("--explain", help="Say how it would run, and do not run it.")] = False,
        seconds: Annotated[float | None, typer.Option("--seconds", min=1.0, help="End after so long.")] = None,
        engine: EngineUrl = None,
        as_json: Json = False,
    ) -> None:
        """Run a streams application: on the engine that answers, else on one of its own. Ctrl-C stops it."""
        found = load_app(path, name)
        if cluster.source != "the default":
            found.bootstrap_servers = cluster.bootstrap_servers
        if explain:
            typer.echo(found.explain(guarantee))
            return
        _run(found, engine, guarantee, detach=detach, seconds=seconds, as_json=as_json)


def load_app(path: Path, name: str | None) -> App:
    """The App that a file makes, or the error that says what the file lacks."""
    from headrace.streams import App, StreamsError

    if not path.is_file():
        raise CliError(f"There is no file {path}", "Give the path of a Python file that makes an App")
    sys.path.insert(0, str(path.resolve().parent))
    try:
        space = _execute(path)
    except StreamsError as error:
        raise CliError(str(error)) from error
    apps = {app.name: app for app in space.values() if isinstance(app, App)}
    if name is not None and name not in apps:
        raise UsageMistake(f"{path} makes no app {name!r}", f"It makes: {', '.join(apps) or 'none'}")
    if not apps:
        raise CliError(f"{path} makes no App at its top level", 'It needs a line such as app = App("my-app")')
    if name is None and len(apps) > 1:
        raise UsageMistake(f"{path} makes several apps: {', '.join(apps)}", "Choose one with --app")
    return apps[name] if name is not None else next(iter(apps.values()))


def _execute(path: Path) -> dict[str, Any]:
    """The file's module under its own name, so that its functions can be named as `module:name`."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise CliError(f"{path} is no Python file", "Its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return vars(module)


def _run(
    app: App, engine: str | None, guarantee: str | None, *, detach: bool, seconds: float | None, as_json: bool
) -> None:
    from headrace.plan.engine import EngineError
    from headrace.streams import StreamsError

    try:
        with patience("Starting; the first time on a machine, Spark's parts are fetched"):
            running = app.start(engine, guarantee=guarantee)
        if detach:
            _leave(running)
            return
        try:
            with patience("Starting the queries"):
                running.wait_until_running()
            with contextlib.suppress(KeyboardInterrupt):
                _watch(running, seconds, as_json=as_json)
        finally:
            running.stop()
            app.close()
    except (EngineError, StreamsError) as error:
        raise CliError(str(error)) from error


def _leave(running: RunningApp) -> None:
    if running.holds_its_engine:
        running.stop()
        raise CliError(
            "No engine answers, and one of the app's own would end with this command",
            "Start one with `headrace engine`, or leave out --detach",
        )
    say(f"{running.name} runs on the engine; `headrace stream show {running.name}` shows it")


def _watch(running: RunningApp, seconds: float | None, *, as_json: bool) -> None:
    from rich.console import Group
    from rich.live import Live

    from headrace.cli.progress_view import progress_tables

    end = None if seconds is None else time.monotonic() + seconds
    before, begin = running.progress(), time.monotonic()
    out = console()
    with contextlib.ExitStack() as stack:
        live = stack.enter_context(Live(console=out, refresh_per_second=2)) if out.is_terminal and not as_json else None
        while end is None or time.monotonic() < end:
            time.sleep(SAMPLE_S)
            status, progress, now = running.status(), running.progress(), time.monotonic()
            rates = _rates(before, progress, now - begin)
            before, begin = progress, now
            if as_json:
                print_json_line({"state": status.state.value, "error": status.error, "rates": rates, **progress})
                sys.stdout.flush()
            elif live is not None:
                title = f"[bold cyan]{running.name}[/]  {status.state}" + (f": {status.error}" if status.error else "")
                live.update(Group(title, *progress_tables(progress, rates)))
            else:
                out.print(f"{running.name} {status.state}: {rates['in']:,.0f} in/s, {rates['out']:,.0f} out/s")


def _rates(before: Mapping[str, Any], now: Mapping[str, Any], seconds: float) -> dict[str, float]:
    def rate(name: str) -> float:
        return max(0.0, (now.get(name) or 0) - (before.get(name) or 0)) / seconds

    return {"in": rate("rows_in"), "out": rate("rows_out")}
