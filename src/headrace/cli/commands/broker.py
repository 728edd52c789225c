"""`headrace broker` and `headrace up`: run the services in the foreground until a signal."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace import __version__
from headrace.admin.errors import UsageMistake
from headrace.cli.cluster import pairs
from headrace.cli.command import Json, command
from headrace.cli.errors import CliError
from headrace.cli.output import highlighted, print_json_line, say

if TYPE_CHECKING:
    from headrace.cli.service_child import ServiceChild


class LogLevel(enum.StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


DataDir = Annotated[Path | None, typer.Option("--data-dir", "-d", help="Where the data lives (./headrace-data).")]
Port = Annotated[
    int | None,
    typer.Option("--port", "-p", min=0, max=65535, help="Kafka port on 127.0.0.1 (9092); 0 picks a free one."),
]
HttpPort = Annotated[
    int | None,
    typer.Option("--http-port", min=0, max=65535, help="Port for /metrics and /healthz; 0 picks a free one (none)."),
]
Config = Annotated[Path | None, typer.Option("--config", "-c", help="A file in the form of Kafka's server.properties.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="A server setting; repeatable, wins over --config."),
]
LogLevelOption = Annotated[LogLevel, typer.Option("--log-level", help="What to log to standard error.")]
JsonLogs = Annotated[bool, typer.Option("--json-logs", help="Log lines as JSON objects.")]

StopWithStdin = Annotated[bool, typer.Option("--stop-with-stdin", hidden=True, help="Stop when standard input ends.")]


def register(app: typer.Typer) -> None:
    @command(
        app,
        "broker",
        examples=(
            "headrace broker",
            "headrace broker --data-dir /var/lib/headrace --port 9092 --http-port 9644",
            "headrace broker --config server.properties --set log.retention.hours=24",
            "headrace broker --set listeners=PLAINTEXT://0.0.0.0:9092 --set advertised.listeners=PLAINTEXT://myhost:9092",
        ),
    )
    def broker(
        data_dir: DataDir = None,
        port: Port = None,
        http_port: HttpPort = None,
        config: Config = None,
        settings: Set = None,
        log_level: LogLevelOption = LogLevel.WARNING,
        json_logs: JsonLogs = False,
        stop_with_stdin: StopWithStdin = False,
        as_json: Json = False,
    ) -> None:
        """Run a broker in the foreground. Ctrl-C or SIGTERM stops it cleanly."""
        properties = server_properties(data_dir, port, http_port, config, settings)
        serve(properties, log_level.value, json_logs=json_logs, stop_with_stdin=stop_with_stdin, as_json=as_json)

    @command(
        app,
        "up",
        examples=(
            "headrace up",
            "headrace up --data-dir ./data --port 9092 --registry-port 8081",
            "headrace up --no-engine --no-registry --no-console",
        ),
    )
    def up(
        data_dir: DataDir = None,
        port: Port = None,
        http_port: HttpPort = None,
        engine_port: Annotated[
            int, typer.Option("--engine-port", min=0, max=65535, help="HTTP port of the engine; 0 picks a free one.")
        ] = 8084,
        engine: Annotated[bool, typer.Option("--engine/--no-engine", help="Whether pipelines can run.")] = True,
        registry_port: Annotated[
            int,
            typer.Option(
                "--registry-port", min=0, max=65535, help="HTTP port of the schema registry; 0 picks a free one."
            ),
        ] = 8081,
        registry: Annotated[
            bool, typer.Option("--registry/--no-registry", help="Whether there is a schema registry.")
        ] = True,
        console_port: Annotated[
            int,
            typer.Option("--console-port", min=0, max=65535, help="HTTP port of the web console; 0 picks a free one."),
        ] = 8080,
        console: Annotated[bool, typer.Option("--console/--no-console", help="Whether there is a web console.")] = True,
        config: Config = None,
        settings: Set = None,
        log_level: LogLevelOption = LogLevel.WARNING,
        json_logs: JsonLogs = False,
        as_json: Json = False,
    ) -> None:
        """Run all services in the foreground: the broker, the schema registry, the engine for pipelines where PySpark is installed, and the web console where NiceGUI is."""
        from headrace.cli.commands.console import is_installed as can_show
        from headrace.cli.console_child import console_child
        from headrace.cli.engine_child import engine_child, is_installed
        from headrace.cli.registry_child import registry_child
        from headrace.cli.service_child import chosen_port

        properties = server_properties(data_dir, port, http_port, config, settings)
        engine_port, registry_port = chosen_port(engine_port), chosen_port(registry_port)
        children: list[ServiceChild] = []
        if registry:
            children.append(registry_child(registry_port, as_json=as_json))
        if engine and is_installed():
            data = Path(properties["log.dirs"].split(",")[0])
            children.append(engine_child(engine_port, data, as_json=as_json))
        elif engine:
            say('Pipelines need PySpark: pip install "headrace[all]". The broker runs without them')
        if console and can_show():
            children.append(console_child(console_port, engine_port, registry_port, as_json=as_json))
        elif console:
            say('The web console needs NiceGUI: pip install "headrace[console]". The broker runs without it')
        serve(properties, log_level.value, json_logs=json_logs, as_json=as_json, children=children)


def server_properties(
    data_dir: Path | None, port: int | None, http_port: int | None, config: Path | None, settings: list[str] | None
) -> dict[str, str]:
    """What the options mean together: defaults, under the file, under --set, under --data-dir and the ports."""
    from headrace.launch import DEFAULT_DATA_DIR, DEFAULT_PORT, read_properties

    given: dict[str, str] = {}
    if config is not None:
        try:
            given = read_properties(str(config))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise CliError(f"Cannot read {config}: {reason}", "Check the path given with --config") from None
    given |= pairs(settings or [], "--set")
    if data_dir is not None:
        given["log.dirs"] = str(data_dir)
        given.pop("log.dir", None)
    if port is not None:
        if port and "listeners" in given:
            raise UsageMistake("--port and listeners both say where to listen", "Leave one of them out")
        given.setdefault("listeners", f"PLAINTEXT://127.0.0.1:{port}")
    if http_port is not None:
        given["headrace.http.port"] = str(http_port)
    if "log.dirs" not in given and "log.dir" not in given:
        given["log.dirs"] = DEFAULT_DATA_DIR
    given.setdefault("listeners", f"PLAINTEXT://127.0.0.1:{DEFAULT_PORT}")
    return given


def serve(
    properties: dict[str, str],
    log_level: str,
    *,
    json_logs: bool,
    as_json: bool,
    stop_with_stdin: bool = False,
    children: Sequence[ServiceChild] = (),
) -> None:
    """Run until a signal; what stops a start becomes one line. Children are started once the broker answers, and stopped before it."""
    from headrace import logs
    from headrace.broker.startup import StartError
    from headrace.launch import run_broker
    from headrace.settings import SettingError

    logs.configure(json_lines=json_logs, level=log_level)
    try:
        announce = _announce_json if as_json else _announce
        clean = run_broker(
            properties,
            _and_start(announce, children),
            stop_with_stdin=stop_with_stdin,
            before_stop=lambda: _stop_all(children),
        )
    except SettingError as error:
        raise CliError(f"Setting {error}", "The reference lists them: docs/reference/broker-settings.md") from error
    except StartError as error:
        raise CliError(str(error)) from error
    if not clean:
        raise CliError("The broker stopped because it lost its log directory", "The log above says why")


def _and_start(announce: Callable[[Any], None], children: Sequence[ServiceChild]) -> Callable[[Any], None]:
    def both(started: Any) -> None:
        announce(started)
        for child in children:
            child.start(started.bootstrap_servers)

    return both


def _stop_all(children: Sequence[ServiceChild]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    if children:
        with ThreadPoolExecutor(len(children)) as stoppers:
            list(stoppers.map(lambda child: child.stop(), children))


def _announce(started: Any) -> None:
    # Without Rich: the event loop would import it while the first clients wait.
    name, address = highlighted("Headrace", "1;36"), highlighted(started.bootstrap_servers, "1")
    details = f"(node {started.node_id}, cluster {started.cluster_id}, {started.start_ms} ms)"
    lines = [f"{name} {__version__} is ready at {address} {highlighted(details, '2')}"]
    lines.append(f"  data     {', '.join(started.data_dirs)}")
    if started.http_address:
        lines.append(f"  metrics  http://{started.http_address}/metrics")
    lines.append("  stop     Ctrl-C")
    say("\n".join(lines))


def _announce_json(started: Any) -> None:
    from dataclasses import asdict

    print_json_line({"event": "started", **asdict(started)})
    sys.stdout.flush()
