"""`headrace engine`: run the pipeline service in the foreground until a signal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace import __version__
from headrace.admin.cluster import Cluster
from headrace.cli.cluster import pairs
from headrace.cli.command import Json, command
from headrace.cli.commands.broker import JsonLogs, LogLevel, LogLevelOption, StopWithStdin
from headrace.cli.errors import CliError
from headrace.cli.output import highlighted, print_json_line, say


def register(app: typer.Typer) -> None:
    @command(
        app,
        "engine",
        examples=(
            "headrace engine",
            "headrace engine --bootstrap-server kafka-1:9092 --master spark://spark-1:7077 --checkpoint-dir s3a://bucket/checkpoints",
            "headrace engine --port 0 --memory 2g --python-module fraud.rules",
        ),
    )
    def engine(
        cluster: Cluster,
        host: Annotated[str, typer.Option("--host", help="Where to listen for HTTP.")] = "127.0.0.1",
        port: Annotated[
            int, typer.Option("--port", "-p", min=0, max=65535, help="HTTP port; 0 picks a free one.")
        ] = 8084,
        data_dir: Annotated[Path, typer.Option("--data-dir", "-d", help="Checkpoints, tables and Spark's log.")] = Path(
            "headrace-engine"
        ),
        checkpoint_dir: Annotated[
            str | None,
            typer.Option("--checkpoint-dir", help="Checkpoints elsewhere; on a cluster a shared file system."),
        ] = None,
        master: Annotated[str | None, typer.Option("--master", help="A Spark master (this machine).")] = None,
        memory: Annotated[str | None, typer.Option("--memory", help="Heap of the Spark driver, such as 1g.")] = None,
        python_modules: Annotated[
            list[str] | None,
            typer.Option(
                "--python-module", metavar="MODULE", help="A module whose functions plans may name; repeatable."
            ),
        ] = None,
        spark: Annotated[
            list[str] | None, typer.Option("--spark", metavar="KEY=VALUE", help="A Spark setting; repeatable.")
        ] = None,
        log_level: LogLevelOption = LogLevel.WARNING,
        json_logs: JsonLogs = False,
        stop_with_stdin: StopWithStdin = False,
        as_json: Json = False,
    ) -> None:
        """Run the pipeline engine in the foreground. Ctrl-C or SIGTERM stops it; its pipelines go on at the next start."""
        from headrace import logs
        from headrace.engine.server import run
        from headrace.engine.settings import EngineSettings
        from headrace.plan.engine import EngineError

        logs.configure(json_lines=json_logs, level=log_level.value)
        cluster.check_reachable()
        settings = EngineSettings(
            bootstrap_servers=cluster.bootstrap_servers,
            host=host,
            port=port,
            data_dir=str(data_dir),
            checkpoint_dir=checkpoint_dir,
            master=master,
            memory=memory,
            python_modules=tuple(python_modules or ()),
            kafka=dict(cluster.properties),
            spark=pairs(spark or [], "--spark"),
        )
        try:
            run(settings, _announce_json if as_json else _announce, stop_with_stdin=stop_with_stdin)
        except EngineError as error:
            raise CliError(str(error)) from error


def _announce(started: Any) -> None:
    name, address = highlighted("Headrace engine", "1;36"), highlighted(started.url, "1")
    say(f"{name} {__version__} answers at {address}; Spark is starting\n  stop     Ctrl-C")


def _announce_json(started: Any) -> None:
    print_json_line({"event": "started", "url": started.url})
    sys.stdout.flush()
