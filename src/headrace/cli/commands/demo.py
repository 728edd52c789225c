"""`headrace demo`: the emergency centre of a country, with everything that it needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.admin.cluster import Cluster
from headrace.admin.errors import UsageMistake
from headrace.cli.command import Json, command
from headrace.cli.errors import CliError
from headrace.cli.output import console, print_json_line, say

if TYPE_CHECKING:
    from headrace.demo.show import Outcome


def register(app: typer.Typer) -> None:
    @command(
        app,
        "demo",
        examples=(
            "headrace demo",
            "headrace demo --seconds 120 --headless --score",
            "headrace demo --speed 5 --seconds 144 --headless --score --json",
            "headrace demo --chaos --rate 500",
            "headrace demo --bootstrap-server kafka:9092",
        ),
    )
    def demo(
        cluster: Cluster,
        seconds: Annotated[
            float | None, typer.Option("--seconds", "-s", min=1.0, help="End after so long. Default: at Ctrl-C.")
        ] = None,
        rate: Annotated[float, typer.Option("--rate", min=1.0, max=100_000.0, help="Posts a second.")] = 2000.0,
        speed: Annotated[
            float, typer.Option("--speed", min=0.1, max=100.0, help="How fast the scenario's time goes.")
        ] = 1.0,
        seed: Annotated[int, typer.Option("--seed", min=0, help="The same scenario for the same seed.")] = 7,
        headless: Annotated[bool, typer.Option("--headless", help="No web page, for scripts.")] = False,
        show_score: Annotated[
            bool, typer.Option("--score", help="Say at the end what was missed, and how fast the rest was.")
        ] = False,
        chaos: Annotated[
            bool, typer.Option("--chaos", help="Kill Spark's Java, then the broker, in the middle.")
        ] = False,
        data_dir: Annotated[Path, typer.Option("--data-dir", "-d", help="Where the demo keeps its data.")] = Path(
            "headrace-demo"
        ),
        port: Annotated[
            int, typer.Option("--port", "-p", min=0, max=65535, help="Port of the demo's broker, if it is free.")
        ] = 9092,
        console_port: Annotated[
            int, typer.Option("--console-port", min=0, max=65535, help="Port of the web page, if it is free.")
        ] = 8080,
        as_json: Json = False,
    ) -> None:
        """Run the emergency centre: posts, sensors and traffic of a country in, alerts out, scored against what really happened."""
        from headrace.cli.commands.console import is_installed as can_show
        from headrace.cli.engine_child import is_installed
        from headrace.demo.scenario import Scenario
        from headrace.demo.services import ServiceDied
        from headrace.demo.show import Show, Wishes
        from headrace.plan.engine import EngineError
        from headrace.streams import StreamsError

        if not is_installed():
            raise CliError("The demo's pipelines need PySpark", 'Install it: pip install "headrace[all]"')
        given = cluster if cluster.source != "the default" else None
        if chaos and given is not None:
            raise UsageMistake(
                "--chaos kills the broker, and this one is not the demo's", "Leave out --bootstrap-server"
            )
        page = None if headless or not can_show() else console_port
        wishes = Wishes(Scenario(seed, rate, speed), data_dir, seconds, port, chaos, given, page)
        try:
            outcome = Show(wishes, say).run()
        except KeyboardInterrupt:
            say("Stopped before it began")
            return
        except (ServiceDied, EngineError, StreamsError) as error:
            raise CliError(f"{error}", f"The logs are in {data_dir}") from error
        if as_json:
            print_json_line(outcome.document())
        else:
            _print(outcome, with_score=show_score)


def _print(outcome: Outcome, *, with_score: bool) -> None:
    out, score = console(), outcome.score
    out.print(
        f"{outcome.seconds:.0f} s, {outcome.sent:,} posts, {len([one for one in score.found if one.alert])} incidents found"
    )
    if not with_score:
        return
    for one in score.found:
        what = f"{one.incident.kind.value} near {one.incident.place.name} at {one.incident.start_s:.0f} s"
        out.print(f"  [red]missed[/]  {what}" if one.delay_s is None else f"  [green]{one.delay_s:5.1f} s[/] {what}")
    for alert in score.false_alerts:
        out.print(f"  [red]false[/]   {alert.kind} in {alert.region} at {alert.time_s:.0f} s: {alert.reason}")
    for alert in score.duplicates:
        out.print(f"  [red]twice[/]   {alert.kind} in {alert.region} at {alert.time_s:.0f} s")
    out.print(
        f"missed {len(score.missed)}, false {len(score.false_alerts)}, twice {len(score.duplicates)}; "
        f"results at most {outcome.behind_s:.1f} s behind"
    )
