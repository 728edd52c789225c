"""`headrace verify`: does this cluster keep its promises while things break?"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.admin.cluster import Cluster
from headrace.admin.errors import UsageMistake
from headrace.admin.times import counted
from headrace.cli.command import Json, command
from headrace.cli.errors import FAILED, CliError
from headrace.cli.output import console, print_json, print_table, say

NO_VERDICT = 3
SHOWN = 10

Seconds = Annotated[float, typer.Option("--seconds", min=1.0, help="How long to work and break things.")]
Faults = Annotated[
    str, typer.Option("--faults", metavar="LIST", help="Of kill, pause, cut, delay, silence, lose, late; or all.")
]
Seed = Annotated[int, typer.Option("--seed", help="Makes the same choices again.")]
Producers = Annotated[int, typer.Option("--producers", min=0, help="Plain idempotent producers.")]
Writers = Annotated[int, typer.Option("--writers", min=0, help="Transactional writers.")]
Transformers = Annotated[
    int, typer.Option("--transformers", min=0, help="Workers that consume, transform and produce.")
]
Partitions = Annotated[int, typer.Option("--partitions", "-p", min=1, help="Partitions of each topic.")]
OwnBroker = Annotated[
    bool, typer.Option("--own-broker", help="Start a Headrace broker for this run; it may be killed and paused.")
]
StartCommand = Annotated[
    str | None,
    typer.Option("--start-command", metavar="COMMAND", help="Runs the broker; it is started, killed and paused."),
]
Pid = Annotated[int | None, typer.Option("--pid", help="The broker's process, which may be paused.")]
WorkerCommand = Annotated[
    str | None, typer.Option("--worker", metavar="COMMAND", help="A program for the transactional workers.")
]
History = Annotated[Path | None, typer.Option("--history", help="Keep the history in this file.")]
CheckFile = Annotated[Path | None, typer.Option("--check", help="Judge a history that was kept, and do nothing else.")]


def register(app: typer.Typer) -> None:
    @command(
        app,
        "verify",
        examples=(
            "headrace verify --bootstrap-server kafka:9092",
            "headrace verify --own-broker --faults kill,pause --seconds 60",
            "headrace verify -b kafka:9092 --faults cut,delay,lose --seed 7 --history run.jsonl",
            "headrace verify --check run.jsonl --json",
        ),
    )
    def verify(
        cluster: Cluster,
        seconds: Seconds = 30.0,
        faults: Faults = "",
        seed: Seed = 0,
        producers: Producers = 2,
        writers: Writers = 2,
        transformers: Transformers = 2,
        partitions: Partitions = 3,
        own_broker: OwnBroker = False,
        start_command: StartCommand = None,
        pid: Pid = None,
        worker: WorkerCommand = None,
        history: History = None,
        check_file: CheckFile = None,
        as_json: Json = False,
    ) -> None:
        """Write, read and break things, then look for lost, repeated, torn and dirty records.

        Works in topics of its own, which are deleted afterwards. Exit code 1 means that a promise was broken, 3 that there is no verdict.
        """
        if check_file is not None:
            _report_verdict(_judge(check_file), as_json)
            return
        chosen = _faults(faults, can_kill=own_broker or bool(start_command), can_pause=pid is not None)
        if writers + producers == 0:
            raise UsageMistake("Nobody writes", "Leave --producers or --writers above 0")
        workers = {"producers": producers, "writers": writers, "transformers": transformers, "worker_command": worker}
        choices = {"seconds": seconds, "seed": seed, "faults": chosen, "partitions": partitions, "history": history}
        with _target(cluster, own_broker, start_command, pid) as (target, servers):
            outcome = _run(servers, target, properties=cluster.properties, **workers, **choices)
        if not as_json:
            _print_run(outcome)
        _report_verdict(outcome.verdict, as_json, _run_document(outcome))


def _faults(text: str, *, can_kill: bool, can_pause: bool) -> tuple[Any, ...]:
    from headrace.verify.nemesis import NETWORK, Fault

    possible = [*([Fault.KILL] if can_kill else []), *([Fault.PAUSE] if can_kill or can_pause else []), *NETWORK]
    if text == "all":
        return tuple(possible)
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in list(Fault):
            raise UsageMistake(f"There is no fault '{name}'", f"Choose of {', '.join(Fault)}, or all")
        if name not in possible:
            way = "--own-broker or --start-command" + ("" if name == Fault.KILL else " or --pid")
            raise UsageMistake(f"'{name}' needs a broker process that it may harm", f"Give it one with {way}")
    return tuple(Fault(name) for name in names)


@contextlib.contextmanager
def _target(cluster: Cluster, own: bool, start_command: str | None, pid: int | None) -> Iterator[tuple[Any, str]]:
    """The process that may be harmed, and the address of the cluster."""
    from headrace.verify.target import GivenProcess, OwnProcess

    if own:
        from headrace.testing import broker_process
        from headrace.verify.own_broker import OwnBroker

        with broker_process() as process:
            yield OwnBroker(process), process.bootstrap_servers
        return
    if start_command:
        process = OwnProcess(start_command, cluster.bootstrap_servers)
        try:
            process.start()
            yield process, cluster.bootstrap_servers
        except RuntimeError as error:
            raise CliError(str(error), "Try the command by itself") from None
        finally:
            process.stop()
        return
    cluster.check_reachable()
    yield GivenProcess(pid) if pid is not None else None, cluster.bootstrap_servers


def _run(servers: str, target: Any, **choices: Any) -> Any:
    """Run what was chosen, which has the names of `headrace.verify.run.Plan`."""
    from headrace.verify.readers import Unfinished
    from headrace.verify.run import Plan, run

    with _progress() as progress:
        try:
            return run(Plan(servers, **choices), target, progress)
        except Unfinished as error:
            raise CliError(f"No verdict: {error}", "Is the cluster well?", exit_code=NO_VERDICT) from None


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str, int], None]]:
    """One line that changes on a terminal; elsewhere a line per phase."""
    if sys.stderr.isatty():
        with console(stderr=True).status("starting") as status:
            yield lambda what, events: status.update(f"{what}, {events:,} events")
        return
    said: set[str] = set()

    def announce(what: str, events: int) -> None:
        phase = "working" if what.endswith("left") else what
        if phase not in said:
            said.add(phase)
            say(f"{phase} ({events:,} events) ...")

    yield announce


def _judge(path: Path) -> Any:
    from headrace.verify.checker import check
    from headrace.verify.history import read_events

    try:
        return check(read_events(path))
    except (OSError, ValueError, KeyError) as error:
        raise CliError(f"Cannot judge {path}: {error}", "Give a file that --history has written") from None


def _run_document(outcome: Any) -> dict[str, Any]:
    plan = outcome.plan
    return {
        "bootstrap_servers": plan.bootstrap_servers,
        "seconds": round(outcome.seconds, 1),
        "seed": plan.seed,
        "faults": dict(outcome.faults),
    }


def _print_run(outcome: Any) -> None:
    faults = ", ".join(f"{count} x {name}" for name, count in sorted(outcome.faults.items())) or "no faults"
    console().print(f"{outcome.seconds:.0f} s at {outcome.plan.bootstrap_servers}, seed {outcome.plan.seed}, {faults}")


def _report_verdict(verdict: Any, as_json: bool, run: dict[str, Any] | None = None) -> None:
    """Print it, and end with 1 when a promise was broken."""
    if as_json:
        found = [asdict(anomaly) for anomaly in verdict.anomalies]
        document = {"good": not verdict.broken, "complete": verdict.complete, "operations": verdict.counts}
        print_json({**(run or {}), **document, "anomalies": found})
    else:
        _print_verdict(verdict)
    if verdict.broken:
        raise typer.Exit(FAILED)


def _print_verdict(verdict: Any) -> None:
    from headrace.verify.anomalies import MEANING, Kind

    print_table(
        ("OPERATION", ">OK", ">FAILED", ">UNKNOWN"),
        [
            (name, *(f"{outcomes.get(outcome, 0):,}" for outcome in ("ok", "fail", "unknown")))
            for name, outcomes in sorted(verdict.counts.items())
        ],
    )
    by_kind = {kind: [a for a in verdict.anomalies if a.kind == kind] for kind in Kind}
    rows = []
    for kind, anomalies in by_kind.items():
        known = sum(anomaly.known_flaw for anomaly in anomalies)
        rows.append((kind.value, len(anomalies) - known, known, MEANING[kind]))
    print_table(("ANOMALY", ">FOUND", ">KNOWN FLAW", "MEANING"), rows)
    out = console()
    for anomaly in verdict.broken[:SHOWN]:
        out.print(f"{anomaly.kind.value}: {anomaly.detail}", markup=False)
    if verdict.known_flaws:
        out.print(
            f"{counted(len(verdict.known_flaws), 'case')} of the known flaw of version 1 of transactions: an EndTxn that came late "
            "ended the next transaction (KIP-890). Clients that use version 2 are safe from it."
        )
    if not verdict.complete:
        out.print("There is no final read in this history, so what was lost cannot be told.")
    out.print("No promise was broken." if not verdict.broken else f"{counted(len(verdict.broken), 'broken promise')}.")
