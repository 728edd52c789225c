"""Records with schemas on the command line: JSON that people write is encoded for `headrace produce`, what was encoded is shown as JSON by `headrace consume`."""

from __future__ import annotations

import contextlib
import enum
import json
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.admin.errors import Problem
from headrace.admin.records_in import NewRecord, shortened
from headrace.cli.errors import CliError
from headrace.cli.output import say
from headrace.cli.records_out import DecodedMessage
from headrace.cli.registry import SchemaKind, registry_at, registry_in_words, schema_document

if TYPE_CHECKING:
    from headrace.registry.http_client import RemoteRegistry
    from headrace.serde.codec import Decoder, Encoder
    from headrace.serde.schemas import Schema


class WriteFormat(enum.StrEnum):
    AVRO = "avro"
    JSON_SCHEMA = "json-schema"
    PROTOBUF = "protobuf"


class ReadFormat(enum.StrEnum):
    """`auto`: every record names its schema, and so its kind."""

    AVRO = "avro"
    JSON_SCHEMA = "json-schema"
    PROTOBUF = "protobuf"
    AUTO = "auto"


def _written(part: str) -> tuple[Any, Any]:
    schema = f"A file, which is registered as TOPIC-{part}, an id, SUBJECT or SUBJECT:VERSION; #NAME chooses a Protobuf message. Default: TOPIC-{part}'s newest."
    return (
        Annotated[WriteFormat | None, typer.Option(f"--{part}-format", help=f"Encode the {part}, written as JSON.")],
        Annotated[str | None, typer.Option(f"--{part}-schema", metavar="SCHEMA", help=schema)],
    )


def _read(part: str) -> tuple[Any, Any]:
    schema = "Avro only: show records in this schema; a file, an id, SUBJECT or SUBJECT:VERSION."
    return (
        Annotated[
            ReadFormat | None,
            typer.Option(f"--{part}-format", help=f"Decode the {part} with its schema; auto: whatever it is."),
        ],
        Annotated[str | None, typer.Option(f"--{part}-schema", metavar="SCHEMA", help=schema)],
    )


WriteValueFormat, WriteValueSchema = _written("value")
WriteKeyFormat, WriteKeySchema = _written("key")
ReadValueFormat, ReadValueSchema = _read("value")
ReadKeyFormat, ReadKeySchema = _read("key")


@dataclass(frozen=True)
class Wanted:
    """What the options say of keys or of values; `part` is key or value."""

    part: str
    form: WriteFormat | ReadFormat | None
    schema: str | None

    def __bool__(self) -> bool:
        return self.form is not None or self.schema is not None


def encoded(records: Iterable[NewRecord], topic: str, url: str | None, *wanted: Wanted) -> Iterable[NewRecord]:
    """The records with keys or values encoded; as they are where nobody asked for it."""
    asked = [one for one in wanted if one]
    if not asked:
        return records
    with registry_at(url) as remote, _in_words():
        encoders = {one.part: _encoder(remote, topic, one) for one in asked}
    return _encode_all(records, encoders)


def _encode_all(records: Iterable[NewRecord], encoders: dict[str, Encoder]) -> Iterator[NewRecord]:
    for number, record in enumerate(records, 1):
        changes: dict[str, bytes | None] = {}
        for part, encoder in encoders.items():
            data: bytes | None = getattr(record, part)
            changes[part] = None if data is None else _encode(data, encoder, f"The {part} of record {number}")
        yield replace(record, **changes)


def _encode(data: bytes, encoder: Encoder, what: str) -> bytes:
    from headrace.serde.errors import SerdeError

    try:
        return encoder.encode(_parsed(data))
    except SerdeError as error:
        raise Problem(f"{what} does not fit its schema: {error}", "See it with `headrace schema show`") from None
    except ValueError as error:
        raise Problem(f"{what} is not JSON: {error}: {shortened(data)}", "Write one value per line") from None


def _parsed(data: bytes) -> Any:
    """JSON; a plain word is a text, so that nobody has to write quotes around a key."""
    text = data.decode()
    try:
        return json.loads(text)
    except ValueError:
        if text.lstrip()[:1] in ("{", "[", '"'):
            raise
        return text


def _encoder(remote: RemoteRegistry, topic: str, wanted: Wanted) -> Encoder:
    from headrace.serde.codec import Encoder
    from headrace.serde.schemas import fetch

    place, _, message = (wanted.schema or "").partition("#")
    id_ = _id(remote, f"{topic}-{wanted.part}", place, wanted.form)
    schema = fetch(remote, id_)
    if wanted.form is not None and schema.kind != wanted.form.value:
        raise CliError(
            f"Schema {id_} is {schema.kind}, not {wanted.form}",
            f"Choose another with --{wanted.part}-schema, or leave --{wanted.part}-format out",
        )
    return Encoder(id_, schema, message)


def _id(remote: RemoteRegistry, subject: str, place: str, form: str | None) -> int:
    if not place:
        return int(remote.version(subject)["id"])
    if place.isdigit():
        return int(place)
    if Path(place).suffix in (".avsc", ".avro", ".proto", ".json") or Path(place).is_file():
        kinds = {"avro": SchemaKind.AVRO, "json-schema": SchemaKind.JSON, "protobuf": SchemaKind.PROTOBUF}
        return int(remote.register(subject, schema_document(Path(place), kinds.get(form or ""), None))["id"])
    return int(_version(remote, place)["id"])


def _version(remote: RemoteRegistry, place: str) -> dict[str, Any]:
    """SUBJECT:VERSION, or the newest of SUBJECT."""
    name, colon, version = place.rpartition(":")
    return remote.version(name, version) if colon and version.isdigit() else remote.version(place)


def decoded(messages: Generator[Any, None, None], url: str | None, *wanted: Wanted) -> Generator[Any, None, None]:
    """The messages with keys or values decoded. What cannot be is passed on as it is, and told."""
    asked = [one for one in wanted if one]
    if not asked:
        return messages
    with registry_at(url) as remote, _in_words():
        return _Decoding(remote, asked).run(messages)


class _Decoding:
    def __init__(self, remote: RemoteRegistry, wanted: list[Wanted]) -> None:
        from headrace.serde.codec import Decoder

        self._forms = {one.part: one.form for one in wanted}
        self._decoders: dict[str, Decoder] = {one.part: Decoder(remote, _reader(remote, one)) for one in wanted}
        self._failed = 0

    def run(self, messages: Generator[Any, None, None]) -> Generator[Any, None, None]:
        try:
            with registry_in_words():
                for message in messages:
                    yield None if message is None else self._decoded(message)
        finally:
            messages.close()
            if self._failed > 1:
                say(f"{self._failed:,} keys or values could not be decoded and are shown as they are.")

    def _decoded(self, message: Any) -> Any:
        found: dict[str, Any] = {}
        for part, decoder in self._decoders.items():
            data: bytes | None = getattr(message, part)()
            if data is not None:
                self._decode(part, decoder, data, message, found)
        return DecodedMessage(message, found)

    def _decode(self, part: str, decoder: Decoder, data: bytes, message: Any, found: dict[str, Any]) -> None:
        from headrace.registry.http_client import Refused
        from headrace.serde.errors import SerdeError

        try:
            known = decoder.decode(data)
            form = self._forms[part]
            if form not in (None, ReadFormat.AUTO) and known.kind != form:
                raise SerdeError(f"its schema {known.schema_id} is {known.kind}, not {form}")
            found[part] = known.value
        except (SerdeError, Refused) as error:
            self._failed += 1
            if self._failed == 1:
                place = f"{message.topic()}[{message.partition()}]@{message.offset()}"
                say(f"The {part} of {place} cannot be decoded and is shown as it is: {error}")


def _reader(remote: RemoteRegistry, wanted: Wanted) -> Schema | None:
    """The schema that records are wanted in."""
    from headrace.serde.schemas import Kind, Schema, resolved

    if wanted.schema is None:
        return None
    place = Path(wanted.schema)
    if place.suffix in (".avsc", ".avro") or place.is_file():
        return Schema(Kind.AVRO, schema_document(place, SchemaKind.AVRO, None)["schema"])
    if wanted.schema.isdigit():
        return resolved(remote, remote.by_id(int(wanted.schema)))
    return resolved(remote, _version(remote, wanted.schema))


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    """What is wrong with a schema, as a command says it."""
    from headrace.serde.errors import SerdeError

    try:
        yield
    except SerdeError as error:
        raise CliError(f"The schema cannot be used: {error}", "See it with `headrace schema show`") from None
