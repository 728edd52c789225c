"""`headrace console`: run the web console in the foreground until a signal."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace import __version__
from headrace.admin.cluster import Cluster
from headrace.cli.command import Json, command
from headrace.cli.commands.broker import JsonLogs, LogLevel, LogLevelOption, StopWithStdin
from headrace.cli.errors import CliError
from headrace.cli.output import highlighted, print_json_line, say


def register(app: typer.Typer) -> None:
    @command(
        app,
        "console",
        examples=(
            "headrace console",
            "headrace console --bootstrap-server kafka-1:9092 --read-only",
            "headrace console --host 0.0.0.0 --password-file console.password --allowed-host console.example.com",
            "headrace console --mask-field email --mask-field card_number --no-export --no-import",
        ),
    )
    def console(
        cluster: Cluster,
        host: Annotated[str, typer.Option("--host", help="Where to listen for HTTP.")] = "127.0.0.1",
        port: Annotated[
            int, typer.Option("--port", "-p", min=0, max=65535, help="HTTP port; 0 picks a free one.")
        ] = 8080,
        engine: Annotated[
            str, typer.Option("--engine", metavar="URL", help="The engine whose pipelines are shown.")
        ] = "http://127.0.0.1:8084",
        registry: Annotated[
            str, typer.Option("--registry", metavar="URL", help="The schema registry.")
        ] = "http://127.0.0.1:8081",
        read_only: Annotated[bool, typer.Option("--read-only", help="Show everything, change nothing.")] = False,
        password_file: Annotated[
            Path | None,
            typer.Option(
                "--password-file", help="Whose first line people log in with; else HEADRACE_CONSOLE_PASSWORD."
            ),
        ] = None,
        allowed_hosts: Annotated[
            list[str] | None,
            typer.Option(
                "--allowed-host", metavar="NAME", help="A name under which browsers reach the console; repeatable."
            ),
        ] = None,
        mask_fields: Annotated[
            list[str] | None,
            typer.Option("--mask-field", metavar="NAME", help="A field whose content nobody is shown; repeatable."),
        ] = None,
        export: Annotated[
            bool, typer.Option("--export/--no-export", help="Whether tables and records can be saved.")
        ] = True,
        imports: Annotated[
            bool, typer.Option("--import/--no-import", help="Whether files can be written to topics.")
        ] = True,
        log_level: LogLevelOption = LogLevel.WARNING,
        json_logs: JsonLogs = False,
        stop_with_stdin: StopWithStdin = False,
        as_json: Json = False,
    ) -> None:
        """Run the web console in the foreground. Ctrl-C or SIGTERM stops it. It needs no broker to start, and says when one is gone."""
        if not is_installed():
            raise CliError("The console needs NiceGUI", 'Install it with pip install "headrace[console]"')
        from headrace import logs
        from headrace.console.server import run
        from headrace.console.settings import ConsoleSettings

        logs.configure(json_lines=json_logs, level=log_level.value)
        settings = ConsoleSettings(
            bootstrap_servers=cluster.bootstrap_servers,
            source=cluster.source,
            kafka=dict(cluster.properties),
            host=host,
            port=port,
            password=_password(password_file),
            read_only=read_only,
            allowed_hosts=tuple(allowed_hosts or ()),
            engine_url=engine.rstrip("/"),
            registry_url=registry.rstrip("/"),
            mask_fields=tuple(mask_fields or ()),
            export=export,
            imports=imports,
        )
        run(settings, _announce_json if as_json else _announce, stop_with_stdin=stop_with_stdin)


def is_installed() -> bool:
    """Whether this Python has what a console needs."""
    import importlib.util

    return importlib.util.find_spec("nicegui") is not None


def _password(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get("HEADRACE_CONSOLE_PASSWORD") or None
    try:
        password = file.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CliError(f"Cannot read {file}: {reason}", "Check the path given with --password-file") from None
    if not password:
        raise CliError(f"There is no password in {file}", "Write it into the first line")
    return password


def _announce(started: Any) -> None:
    name, address = highlighted("Headrace console", "1;36"), highlighted(started.url, "1")
    say(f"{name} {__version__} is at {address}\n  stop     Ctrl-C")


def _announce_json(started: Any) -> None:
    print_json_line({"event": "started", "service": "console", "url": started.url})
    sys.stdout.flush()
