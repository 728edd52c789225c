"""`headrace registry`: run the schema registry in the foreground until a signal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace import __version__
from headrace.admin.cluster import Cluster
from headrace.cli.cluster import pairs
from headrace.cli.command import Json, command
from headrace.cli.commands.broker import Config, JsonLogs, LogLevel, LogLevelOption, Set, StopWithStdin
from headrace.cli.errors import CliError
from headrace.cli.output import highlighted, print_json_line, say


def register(app: typer.Typer) -> None:
    @command(
        app,
        "registry",
        examples=(
            "headrace registry",
            "headrace registry --bootstrap-server kafka-1:9092 --host 0.0.0.0 --set host.name=registry-1",
            "headrace registry --config schema-registry.properties --set schema.compatibility.level=full",
            "headrace registry --users users.txt --tls-certificate server.pem",
            "echo -n secret | headrace registry --hash-password",
        ),
    )
    def registry(
        cluster: Cluster,
        host: Annotated[str, typer.Option("--host", help="Where to listen for HTTP.")] = "127.0.0.1",
        port: Annotated[
            int, typer.Option("--port", "-p", min=0, max=65535, help="HTTP port; 0 picks a free one.")
        ] = 8081,
        config: Config = None,
        settings: Set = None,
        users: Annotated[
            Path | None, typer.Option("--users", help="Names, passwords and roles; the same as headrace.users.file.")
        ] = None,
        tls_certificate: Annotated[
            Path | None, typer.Option("--tls-certificate", help="HTTPS with this certificate; a PEM file.")
        ] = None,
        tls_key: Annotated[Path | None, typer.Option("--tls-key", help="The certificate's key; a PEM file.")] = None,
        hash_password: Annotated[
            bool, typer.Option("--hash-password", help="Read a password, print it for the users' file, and end.")
        ] = False,
        log_level: LogLevelOption = LogLevel.WARNING,
        json_logs: JsonLogs = False,
        stop_with_stdin: StopWithStdin = False,
        as_json: Json = False,
    ) -> None:
        """Run the schema registry in the foreground. Ctrl-C or SIGTERM stops it. Several on one cluster are one: one leads, the others forward."""
        if hash_password:
            _print_hashed()
            return
        from headrace import logs
        from headrace.registry.errors import StartFailure
        from headrace.registry.server import run
        from headrace.registry.settings import RegistrySettings
        from headrace.settings.definition import SettingError

        logs.configure(json_lines=json_logs, level=log_level.value)
        cluster.check_reachable()
        given = _texts(config, settings)
        files = {"headrace.users.file": users, "headrace.tls.certificate": tls_certificate, "headrace.tls.key": tls_key}
        given |= {name: str(path) for name, path in files.items() if path is not None}
        try:
            values, kafka = _parsed(given)
            wanted = RegistrySettings(cluster.bootstrap_servers, host, port, values, {**cluster.properties, **kafka})
            run(wanted, _announce_json if as_json else _announce, stop_with_stdin=stop_with_stdin)
        except SettingError as error:
            raise CliError(
                f"Setting {error}", "The reference lists them: docs/reference/registry-settings.md"
            ) from error
        except StartFailure as error:
            raise CliError(str(error)) from error


def _texts(config: Path | None, settings: list[str] | None) -> dict[str, str]:
    from headrace.launch import read_properties

    given: dict[str, str] = {}
    if config is not None:
        try:
            given = read_properties(str(config))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise CliError(f"Cannot read {config}: {reason}", "Check the path given with --config") from None
    return given | pairs(settings or [], "--set")


def _parsed(given: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    from headrace.registry.settings import parse_values

    return parse_values(given)


def _print_hashed() -> None:
    from headrace.registry.users import hashed

    password = (
        sys.stdin.readline().rstrip("\n") if not sys.stdin.isatty() else typer.prompt("Password", hide_input=True)
    )
    if not password:
        raise CliError(
            "There is no password on standard input", "Try `echo -n secret | headrace registry --hash-password`"
        )
    typer.echo(hashed(password))


def _announce(started: Any) -> None:
    name, address = highlighted("Headrace registry", "1;36"), highlighted(started.url, "1")
    say(f"{name} {__version__} answers at {address} ({started.subjects} subjects)\n  stop     Ctrl-C")


def _announce_json(started: Any) -> None:
    print_json_line({"event": "started", "service": "registry", "url": started.url, "subjects": started.subjects})
    sys.stdout.flush()
