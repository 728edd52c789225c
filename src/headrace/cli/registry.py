"""The schema registry a command talks to, and schemas as files."""

from __future__ import annotations

import contextlib
import enum
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.admin.errors import UsageMistake
from headrace.cli.errors import CliError
from headrace.cli.output import patience

if TYPE_CHECKING:
    from headrace.registry.http_client import RemoteRegistry

DEFAULT_REGISTRY = "http://127.0.0.1:8081"
INCOMPATIBLE = 3
"""The exit code of a check that says no: other than that of a check that could not be made."""


class SchemaKind(enum.StrEnum):
    AVRO = "avro"
    JSON = "json"
    PROTOBUF = "protobuf"


Url = Annotated[
    str | None,
    typer.Option("--registry", "-r", metavar="URL", help=f"The registry; else HEADRACE_REGISTRY, {DEFAULT_REGISTRY}."),
]


@contextlib.contextmanager
def registry_at(url: str | None, doing: str = "Asking the registry") -> Iterator[RemoteRegistry]:
    """The registry a command talks to; its refusals become one line."""
    from headrace.registry.http_client import RemoteRegistry

    with registry_in_words():
        ca = os.environ.get("HEADRACE_REGISTRY_CA")
        remote = RemoteRegistry(url or os.environ.get("HEADRACE_REGISTRY") or DEFAULT_REGISTRY, ca=ca)
        with patience(doing):
            yield remote


@contextlib.contextmanager
def registry_in_words() -> Iterator[None]:
    """What a registry refuses, or that there is none, as a command says it."""
    from headrace.registry.http_client import Refused, RegistryUnreachable

    try:
        yield
    except RegistryUnreachable as error:
        raise CliError(str(error), "Start one with `headrace registry`, or name another with --registry URL") from None
    except Refused as error:
        step = "See them with `headrace schema list`" if error.code in (40401, 40402) else ""
        raise CliError(str(error), step, exit_code=INCOMPATIBLE if error.status == 409 else 1) from None


def schema_document(file: Path, kind: SchemaKind | None, references: list[str] | None) -> dict[str, Any]:
    """A schema's file as a request's body."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"Cannot read {file}: {getattr(error, 'strerror', None) or error}", "Check the path") from None
    found = kind or {
        ".avsc": SchemaKind.AVRO,
        ".avro": SchemaKind.AVRO,
        ".proto": SchemaKind.PROTOBUF,
        ".json": SchemaKind.JSON,
    }.get(file.suffix)
    if found is None:
        raise UsageMistake(f"What is {file}?", "Say it with --type avro, json or protobuf")
    return {"schema": text, "schemaType": found.name, "references": [_reference(each) for each in references or []]}


def _reference(text: str) -> dict[str, Any]:
    name, equals, target = text.partition("=")
    subject, colon, version = target.rpartition(":")
    if not (equals and colon and name and subject and version.isdigit()):
        raise UsageMistake(
            f"--reference '{text}' is not NAME=SUBJECT:VERSION", "Write it like money.proto=money.proto:1"
        )
    return {"name": name, "subject": subject, "version": int(version)}
