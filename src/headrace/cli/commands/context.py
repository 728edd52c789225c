"""`headrace context`: names for the clusters a user talks to."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli import completing
from headrace.cli.cluster import pairs
from headrace.cli.command import Json, command, new_app
from headrace.cli.contexts import Context, load_contexts
from headrace.cli.output import print_json, print_table, say

app = new_app("Name the clusters you talk to. The names are kept in ~/.config/headrace/config.toml.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The context.", autocompletion=completing.contexts)]


@command(
    app,
    "add",
    examples=(
        "headrace context add local --bootstrap-server 127.0.0.1:9092",
        "headrace context add production -b kafka-1:9092,kafka-2:9092 -X security.protocol=SASL_SSL --use",
    ),
)
def add(
    name: Name,
    bootstrap_server: Annotated[
        str, typer.Option("--bootstrap-server", "-b", metavar="HOST:PORT", help="Where the cluster is.")
    ],
    properties: Annotated[
        list[str] | None, typer.Option("--property", "-X", metavar="KEY=VALUE", help="A client setting; repeatable.")
    ] = None,
    use: Annotated[bool, typer.Option("--use", help="Make it the current one.")] = False,
    as_json: Json = False,
) -> None:
    """Add a context, or change it. The first one becomes the current one."""
    contexts = load_contexts()
    contexts.by_name[name] = Context(name, bootstrap_server, pairs(properties or [], "-X"))
    if use or contexts.current is None:
        contexts.current = name
    contexts.save()
    if as_json:
        print_json({"context": name, "current": contexts.current == name})
    else:
        say(f"Context {name} is {bootstrap_server}" + (" and the current one" if contexts.current == name else ""))


@command(app, "list", examples=("headrace context list",))
def list_contexts(as_json: Json = False) -> None:
    """List contexts; the current one has a star. Values of client settings are not shown."""
    contexts = load_contexts()
    if as_json:
        print_json(
            [
                {
                    "context": context.name,
                    "bootstrap_servers": context.bootstrap_servers,
                    "properties": sorted(context.properties),
                    "current": context.name == contexts.current,
                }
                for context in contexts.by_name.values()
            ]
        )
        return
    print_table(
        ("", "CONTEXT", "BOOTSTRAP SERVERS", "CLIENT SETTINGS"),
        [
            ("*" if c.name == contexts.current else "", c.name, c.bootstrap_servers, ", ".join(sorted(c.properties)))
            for c in contexts.by_name.values()
        ],
        empty="No contexts yet. Add one with `headrace context add NAME --bootstrap-server HOST:PORT`",
    )


@command(app, "use", examples=("headrace context use production",))
def use_context(name: Name, as_json: Json = False) -> None:
    """Make a context the current one."""
    contexts = load_contexts()
    contexts.current = contexts.get(name).name
    contexts.save()
    if as_json:
        print_json({"context": name, "current": True})
    else:
        say(f"Commands talk to {name} ({contexts.by_name[name].bootstrap_servers}) from now on")


@command(app, "remove", examples=("headrace context remove production",))
def remove(name: Name, as_json: Json = False) -> None:
    """Forget a context."""
    contexts = load_contexts()
    contexts.get(name)
    del contexts.by_name[name]
    if contexts.current == name:
        contexts.current = None
    contexts.save()
    if as_json:
        print_json({"context": name, "removed": True})
    else:
        say(f"Forgot context {name}")
