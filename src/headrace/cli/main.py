"""The `headrace` program: puts the commands together, runs one, and turns whatever happens into one line and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from headrace import __version__
from headrace.admin.errors import Problem
from headrace.cli.errors import FAILED, INTERRUPTED, USAGE, ReaderGone, exit_code
from headrace.cli.output import highlighted

# Typer's own name for "the command line is wrong"; it exports only this subclass.
_UsageError = typer.BadParameter.__mro__[1]
_ClickError = typer.BadParameter.__mro__[2]

# Which module of `headrace.cli.commands` declares a command; the help has this order.
_MODULES = {
    "broker": "broker",
    "up": "broker",
    "produce": "produce",
    "consume": "consume",
    "bench": "bench",
    "verify": "verify",
    "demo": "demo",
    "registry": "registry",
    "engine": "engine",
    "console": "console",
    "run": "run",
    "setup": "setup",
    "doctor": "doctor",
    "version": "version",
    "completion": "completion",
}
_GROUPS = ("topic", "group", "transactions", "schema", "stream", "config", "context")


def application(word: str = "") -> typer.Typer:
    """The program with the command that `word` names; with all of them when it names none, as for help and for mistakes.

    A command line runs one command, and waiting for the modules of the others would be felt at every start of a broker.
    """
    app = typer.Typer(
        name="headrace",
        help="An event log that speaks Kafka's protocol, and the commands to use it or any Apache Kafka.",
        rich_markup_mode=None,
        invoke_without_command=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
    )
    app.callback()(overview)
    known = word in _MODULES or word in _GROUPS
    for module in dict.fromkeys(module for name, module in _MODULES.items() if not known or name == word):
        _load(module).register(app)
    for group in _GROUPS:
        if not known or group == word:
            app.add_typer(_load(group).app, name=group)
    return app


def _load(module: str) -> Any:
    return importlib.import_module(f"headrace.cli.commands.{module}")


def overview(
    invocation: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """An event log that speaks Kafka's protocol, and the commands to use it or any Apache Kafka."""
    if show_version:
        sys.stdout.write(f"headrace {__version__}\n")
        raise typer.Exit
    if invocation.invoked_subcommand is None:
        from headrace.cli.overview import print_overview

        print_overview()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. Raises nothing, unless HEADRACE_DEBUG is set."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        app = application(given[0] if given else "")
        code = app(args=given, prog_name="headrace", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except Problem as error:
        return _complain(error.line(), exit_code(error))
    except _UsageError as error:
        return _complain(_usage_line(error), USAGE)
    except _ClickError as error:
        return _complain(error.format_message(), FAILED)
    except (BrokenPipeError, ReaderGone):
        # Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("HEADRACE_DEBUG"):
            raise
        return _complain(
            f"Unexpected {type(error).__name__}: {error}. This is a bug; HEADRACE_DEBUG=1 shows where", FAILED
        )


def _usage_line(error: Exception) -> str:
    where = getattr(error, "ctx", None)
    path = where.command_path if where else "headrace"
    message = " ".join(error.format_message().split())  # type: ignore[attr-defined]
    end = "" if message.endswith(("?", ".")) else "."
    return f"{message}{end} See `{path} --help`"


def _complain(line: str, code: int) -> int:
    try:
        sys.stdout.flush()
        sys.stderr.write(f"{highlighted('Error:', '1;31')} {line}\n")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def run() -> None:
    """The entry point of the `headrace` script."""
    code = main()
    # librdkafka's threads may still be closing connections; nothing of theirs matters any more, and waiting would be felt.
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)
