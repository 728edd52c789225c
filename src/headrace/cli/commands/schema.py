"""`headrace schema`: list, show, register, check, diff, delete and configure the schemas of a registry, Headrace's or Confluent's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.admin.errors import UsageMistake, did_you_mean
from headrace.admin.times import counted
from headrace.cli.command import Json, Yes, command, new_app
from headrace.cli.commands.topic import confirm
from headrace.cli.errors import CliError
from headrace.cli.output import console, print_json, print_table, say
from headrace.cli.registry import INCOMPATIBLE, SchemaKind, Url, registry_at, schema_document

if TYPE_CHECKING:
    from headrace.registry.http_client import RemoteRegistry

app = new_app("List, show, register, check, compare and delete schemas in a schema registry.")

Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="The subject, such as orders-value.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The schema's file; - for standard input.")]
Kind = Annotated[
    SchemaKind | None,
    typer.Option("--type", "-t", help="What it is; else the file's ending says (.avsc, .json, .proto)."),
]
References = Annotated[
    list[str] | None,
    typer.Option("--reference", metavar="NAME=SUBJECT:VERSION", help="What the schema calls another one; repeatable."),
]


@command(
    app,
    "list",
    examples=(
        "headrace schema list",
        "headrace schema list orders --deleted",
        "headrace schema list --json | jq -r '.[].subject'",
    ),
)
def list_subjects(
    prefix: Annotated[str, typer.Argument(metavar="PREFIX", help="Only subjects that begin so.")] = "",
    deleted: Annotated[bool, typer.Option("--deleted", help="Also soft deleted ones.")] = False,
    registry: Url = None,
    as_json: Json = False,
) -> None:
    """List the subjects with their newest version."""
    with registry_at(registry) as remote:
        rows = [_row(remote, name, deleted) for name in remote.subjects(prefix, deleted=deleted)]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("SUBJECT", ">VERSIONS", ">LATEST", ">ID", "TYPE", ""),
        [(row["subject"], row["versions"], row["version"], row["id"], row["type"], row["state"]) for row in rows],
        empty="No subjects. `headrace schema register SUBJECT FILE` makes one",
    )


def _row(remote: RemoteRegistry, subject: str, deleted: bool) -> dict[str, Any]:
    versions = remote.versions(subject, deleted=deleted)
    newest = remote.version(subject, str(versions[-1]), deleted=deleted)
    return {
        "subject": subject,
        "versions": len(versions),
        "version": newest["version"],
        "id": newest["id"],
        "type": newest.get("schemaType", "AVRO"),
        "state": "deleted" if newest.get("deleted") else "",
    }


@command(
    app,
    "show",
    examples=(
        "headrace schema show orders-value",
        "headrace schema show orders-value --version 2 --json",
        "headrace schema show --id 17",
        "headrace schema show orders-value --format resolved",
    ),
)
def show(
    subject: Annotated[str | None, typer.Argument(metavar="SUBJECT", help="The subject; not with --id.")] = None,
    version: Annotated[str, typer.Option("--version", "-v", metavar="N", help="A version, or latest.")] = "latest",
    id_: Annotated[int | None, typer.Option("--id", help="The schema with this id, whatever its subject.")] = None,
    form: Annotated[str, typer.Option("--format", help="Another form, such as resolved or serialized.")] = "",
    deleted: Annotated[bool, typer.Option("--deleted", help="Also a soft deleted one.")] = False,
    registry: Url = None,
    as_json: Json = False,
) -> None:
    """Show a schema: what it is, what it refers to, and its text."""
    if (subject is None) == (id_ is None):
        raise UsageMistake("Name a subject, or an id with --id", "Write it like `headrace schema show orders-value`")
    with registry_at(registry) as remote:
        found = (
            remote.version(subject, version, form, deleted=deleted) if subject else remote.by_id(id_ or 0, form=form)
        )
    if as_json:
        print_json(found)
        return
    from headrace.cli.schema_view import pretty

    title = f"{subject} version {found['version']}" if subject else f"id {id_}"
    facts = [
        found.get("schemaType", "AVRO"),
        f"id {found['id']}" if "id" in found else "",
        "soft deleted" if found.get("deleted") else "",
    ]
    say(f"{title}  ({', '.join(fact for fact in facts if fact)})")
    for reference in found.get("references", ()):
        say(f"  refers to {reference['name']}: {reference['subject']} version {reference['version']}")
    for what in ("metadata", "ruleSet"):
        if what in found:
            say(f"  {what}: {found[what]}")
    sys.stdout.write(pretty(found["schema"]) + "\n")


@command(
    app,
    "register",
    examples=(
        "headrace schema register orders-value order.avsc",
        "headrace schema register orders-value order.proto --reference money.proto=money.proto:1",
        "cat order.json | headrace schema register orders-value - --type json --normalize",
    ),
)
def register(
    subject: Subject,
    file: File,
    kind: Kind = None,
    references: References = None,
    normalize: Annotated[bool, typer.Option("--normalize", help="Bring what has no fixed order into one.")] = False,
    registry: Url = None,
    as_json: Json = False,
) -> None:
    """Register a schema under a subject. One that is there already keeps its id; one that breaks others is refused (exit code 3)."""
    schema = schema_document(file, kind, references)
    with registry_at(registry, "Registering") as remote:
        answer = remote.register(subject, schema, normalize=normalize)
        found = remote.look_up(subject, schema, normalize=normalize)
    if as_json:
        print_json({"subject": subject, "id": answer["id"], "version": found["version"], "type": schema["schemaType"]})
        return
    say(f"{subject} version {found['version']} has id {answer['id']}")


@command(
    app,
    "check",
    examples=(
        "headrace schema check orders-value order.avsc",
        "headrace schema check orders-value order.avsc --version 3 --json",
        "headrace schema check orders-value order.avsc && headrace schema register orders-value order.avsc",
    ),
)
def check(
    subject: Subject,
    file: File,
    version: Annotated[
        str | None, typer.Option("--version", "-v", metavar="N", help="Against one version; else as registering would.")
    ] = None,
    kind: Kind = None,
    references: References = None,
    registry: Url = None,
    as_json: Json = False,
) -> None:
    """Would this schema break anyone? Exit code 0 when it would not, 3 when it would."""
    schema = schema_document(file, kind, references)
    with registry_at(registry, "Checking") as remote:
        answer = remote.check(subject, schema, version)
        level = remote.config(subject, in_scope=True).get("compatibilityLevel", "?")
    messages = answer.get("messages") or []
    if as_json:
        print_json({"subject": subject, "level": level, "compatible": answer["is_compatible"], "messages": messages})
    elif answer["is_compatible"]:
        say(f"Compatible: {subject} may have it under {level}")
    else:
        from headrace.cli.schema_view import plain

        say(f"Not compatible under {level}:")
        for message in messages:
            if not message.startswith(("{oldSchema", "{validateFields")):
                say(f"  {plain(message)}")
    if not answer["is_compatible"]:
        raise typer.Exit(INCOMPATIBLE)


@command(
    app,
    "diff",
    examples=(
        "headrace schema diff orders-value",
        "headrace schema diff orders-value 2 5",
        "headrace schema diff orders-value --file order.avsc --json",
    ),
)
def diff(
    subject: Subject,
    old: Annotated[str | None, typer.Argument(metavar="OLD", help="A version; else the one before the newest.")] = None,
    new: Annotated[str | None, typer.Argument(metavar="NEW", help="A version; else the newest.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Compare the newest version, or OLD, with this file instead.")
    ] = None,
    kind: Kind = None,
    references: References = None,
    registry: Url = None,
    as_json: Json = False,
) -> None:
    """Show what changed between two versions, and which direction breaks and why."""
    from headrace.cli.schema_view import comparison, print_comparison

    with registry_at(registry) as remote:
        versions = [str(number) for number in remote.versions(subject)]
        if file is not None:
            before = remote.version(subject, old or "latest")
            after = {**schema_document(file, kind, references), "subject": subject, "version": str(file)}
        else:
            if old is None and len(versions) < 2:
                raise CliError(f"{subject} has one version only", "Compare it with a file: --file FILE")
            before = remote.version(subject, old or versions[-2])
            after = remote.version(subject, new or versions[-1])
        found = comparison(remote, before, after)
    if as_json:
        print_json(found)
        return
    print_comparison(console(), found)


@command(
    app,
    "delete",
    examples=(
        "headrace schema delete orders-value",
        "headrace schema delete orders-value --version 2",
        "headrace schema delete orders-value --permanent --yes",
    ),
)
def delete(
    subject: Subject,
    version: Annotated[str | None, typer.Option("--version", "-v", metavar="N", help="One version; else all.")] = None,
    permanent: Annotated[bool, typer.Option("--permanent", help="For good, what was soft deleted before.")] = False,
    yes: Yes = False,
    registry: Url = None,
    as_json: Json = False,
) -> None:
    """Soft delete a subject or a version: it is hidden, and its ids stay readable. With --permanent it is gone."""
    what = f"version {version} of '{subject}'" if version else f"'{subject}'"
    if permanent:
        confirm(f"Delete {what} for good? Records written with it cannot be read any more.", yes)
    else:
        confirm(f"Soft delete {what}?", yes, "This hides schemas")
    with registry_at(registry, "Deleting") as remote:
        versions = remote.delete(subject, version, permanent=permanent)
    if as_json:
        print_json({"subject": subject, "versions": versions, "permanent": permanent})
        return
    say(f"Deleted {counted(len(versions), 'version')} of {subject}{' for good' if permanent else ''}")


_FLAGS = ("normalize", "validateFields", "validateNewSchemas", "validateRules")
_SETTINGS = ("compatibilityLevel", "compatibilityPolicy", "compatibilityGroup", "alias", *_FLAGS)


@command(
    app,
    "config",
    examples=(
        "headrace schema config",
        "headrace schema config orders-value",
        "headrace schema config orders-value --set compatibilityLevel=FULL --set normalize=true",
        "headrace schema config orders-value --unset",
    ),
)
def config(
    subject: Annotated[
        str | None, typer.Argument(metavar="SUBJECT", help="A subject or :.context:; else everything.")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", "-s", metavar="KEY=VALUE", help="Change a setting; repeatable.")
    ] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Take all settings back.")] = False,
    registry: Url = None,
    as_json: Json = False,
) -> None:
    """Show or change what counts for a subject: its compatibility level and more."""
    wanted = _changes(changes or [])
    if wanted and unset:
        raise UsageMistake("--set and --unset exclude each other", "Leave one of them out")
    with registry_at(registry) as remote:
        if wanted:
            remote.set_config(subject, wanted)
        elif unset:
            remote.delete_config(subject)
        found = remote.config(subject, in_scope=True)
    if as_json:
        print_json(found)
        return
    print_table(("SETTING", "VALUE"), sorted((name, str(value)) for name, value in found.items()))


def _changes(texts: list[str]) -> dict[str, Any]:
    from headrace.cli.cluster import pairs

    found: dict[str, Any] = {}
    for name, text in pairs(texts, "--set").items():
        known = "compatibilityLevel" if name in ("compatibility", "level") else name
        if known not in _SETTINGS:
            raise UsageMistake(
                f"There is no setting '{name}'", did_you_mean(name, _SETTINGS) or f"There are {', '.join(_SETTINGS)}"
            )
        if known in _FLAGS and text.lower() not in ("true", "false"):
            raise UsageMistake(f"{known} is true or false, not '{text}'", "")
        found[known] = text.lower() == "true" if known in _FLAGS else text or None
    return found
