"""How a command is declared: a plain function, its examples, and one place for the options that all commands share.

A function whose first parameter is `cluster: Cluster` gets --bootstrap-server, --context, -X and --timeout instead of it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.models import OptionInfo

from headrace.admin.cluster import Cluster
from headrace.cli.cluster import resolve
from headrace.cli.errors import ReaderGone

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

_SHARED = {
    "bootstrap_server": Annotated[
        str | None,
        typer.Option(
            "--bootstrap-server",
            "-b",
            metavar="HOST:PORT",
            help="The broker; else HEADRACE_BOOTSTRAP, the current context, 127.0.0.1:9092.",
        ),
    ],
    "context": Annotated[
        str | None, typer.Option("--context", metavar="NAME", help="A named context (see `headrace context`).")
    ],
    "properties": Annotated[
        list[str] | None,
        typer.Option(
            "--property", "-X", metavar="KEY=VALUE", help="A client setting, such as security.protocol; repeatable."
        ),
    ],
    "timeout_s": Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="How long to wait for the broker (30).")
    ],
}


def new_app(help_text: str) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(help=help_text, no_args_is_help=True, rich_markup_mode=None, add_completion=False)


def command(
    app: typer.Typer, name: str, *, examples: Sequence[str]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as a command, with its examples at the end of its help."""
    epilog = "\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        app.command(name, epilog=epilog)(_with_cluster(function))
        return function

    return register


def _with_cluster(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as Typer shall see it: annotations evaluated once, values named, the cluster spelt out as options."""
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    needs_cluster = bool(parameters) and parameters[0].annotation is Cluster
    if needs_cluster:
        parameters[:1] = []
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in _SHARED.items()
        ]
    for parameter in parameters:
        _name_value(parameter.annotation)

    @functools.wraps(function)
    def run(**options: Any) -> Any:
        given = [resolve(*(options.pop(name) for name in _SHARED))] if needs_cluster else []
        try:
            return function(*given, **options)
        except BrokenPipeError:
            raise ReaderGone from None

    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in keywords}
    return run


def _name_value(annotation: Any) -> None:
    """Give an option that does not say what its value is called a word for it, instead of a Python type."""
    kind, *extras = get_args(annotation)
    info = next((one for one in extras if isinstance(one, OptionInfo)), None)
    if info is None or info.metavar:
        return
    for python_type, word in ((int, "N"), (float, "N"), (str, "TEXT"), (Path, "PATH")):
        if kind is python_type or python_type in get_args(kind) or list[python_type] in get_args(kind):  # type: ignore[valid-type]
            info.metavar = word
