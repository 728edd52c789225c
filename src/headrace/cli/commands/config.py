"""`headrace config`: the settings of topics and brokers."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.admin.cluster import Cluster
from headrace.admin.errors import UsageMistake
from headrace.cli.cluster import pairs
from headrace.cli.command import Json, command, new_app
from headrace.cli.errors import CliError
from headrace.cli.output import patience, print_json, print_table

app = new_app("Describe and change the settings of topics and brokers.")

Topic = Annotated[str | None, typer.Option("--topic", "-t", metavar="TOPIC", help="Settings of this topic.")]
Broker = Annotated[
    str | None,
    typer.Option("--broker", metavar="ID", help="Settings of this broker."),
]


@command(
    app,
    "describe",
    examples=(
        "headrace config describe --topic orders",
        "headrace config describe --topic orders --all",
        "headrace config describe --broker 1 --all --json",
    ),
)
def describe(
    cluster: Cluster,
    topic: Topic = None,
    broker: Broker = None,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Also those at their defaults.")] = False,
    as_json: Json = False,
) -> None:
    """Show settings, their values and where these come from."""
    from headrace.admin.settings import settings

    kind, name = _resource(cluster, topic, broker)
    with patience("Asking for settings"):
        entries = [entry for entry in settings(cluster, kind, name) if everything or entry.source != "default"]
    if as_json:
        print_json([entry.document() for entry in entries])
        return
    print_table(
        ("SETTING", "VALUE", "FROM", ""),
        [(e.name, e.readable(), e.source, "read-only" if e.read_only else "") for e in entries],
        empty=f"All settings of {kind} {name} are at their defaults; --all shows them",
    )


@command(
    app,
    "set",
    examples=(
        "headrace config set retention.ms=3600000 --topic orders",
        "headrace config set max.connections=1000 --broker 1",
    ),
)
def assign(
    cluster: Cluster,
    assignments: Annotated[list[str], typer.Argument(metavar="KEY=VALUE", help="What to set.")],
    topic: Topic = None,
    broker: Broker = None,
    as_json: Json = False,
) -> None:
    """Set values; they hold from now on and survive restarts."""
    from headrace.cli.settings_view import alter_settings

    changes = pairs(assignments, "config set")
    kind, name = _resource(cluster, topic, broker)
    alter_settings(cluster, kind, name, changes, [], as_json=as_json)


@command(app, "unset", examples=("headrace config unset retention.ms --topic orders",))
def unset(
    cluster: Cluster,
    keys: Annotated[list[str], typer.Argument(metavar="KEY", help="What to put back to its default.")],
    topic: Topic = None,
    broker: Broker = None,
    as_json: Json = False,
) -> None:
    """Put settings back to their defaults."""
    from headrace.cli.settings_view import alter_settings

    kind, name = _resource(cluster, topic, broker)
    alter_settings(cluster, kind, name, {}, keys, as_json=as_json)


def _resource(cluster: Cluster, topic: str | None, broker: str | None) -> tuple[str, str]:
    """Exactly one of the two, and it must exist."""
    if (topic is None) == (broker is None):
        raise UsageMistake("Whose settings?", "Say --topic NAME or --broker ID")
    if topic is not None:
        cluster.topic(topic)
        return "topic", topic
    assert broker is not None
    known = cluster.admin().list_topics(timeout=cluster.timeout_s).brokers
    if not broker.isdigit() or int(broker) not in known:
        raise CliError(f"There is no broker '{broker}'", f"There is: {', '.join(map(str, sorted(known)))}")
    return "broker", broker
