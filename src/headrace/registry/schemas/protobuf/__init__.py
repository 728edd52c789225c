"""Protobuf schemas: proto2, proto3 and editions, as text or as descriptors.

`parsing` and `descriptors` give elements, `printing` and `normalizing` the texts that Confluent's registry keeps, `names` says what names mean,
`comparison` holds two files against one another, `linking` lets the runtime of Protocol Buffers judge a new schema and make its descriptor.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.limits import check_size
from headrace.registry.schemas.model import Difference, Policy, Source, ordered_references
from headrace.registry.schemas.protobuf.checks import check
from headrace.registry.schemas.protobuf.comparison import differences
from headrace.registry.schemas.protobuf.descriptors import from_base64
from headrace.registry.schemas.protobuf.elements import Enum, File, Message, Option, Type
from headrace.registry.schemas.protobuf.known import known_file, known_names
from headrace.registry.schemas.protobuf.linking import link
from headrace.registry.schemas.protobuf.names import OWN, Names
from headrace.registry.schemas.protobuf.normalizing import normalize
from headrace.registry.schemas.protobuf.parsing import parse_file
from headrace.registry.schemas.protobuf.printing import print_file, without_extensions


@dataclass(frozen=True)
class ProtobufSchema:
    """A parsed .proto file; see `headrace.registry.schemas.model.ParsedSchema`."""

    source: Source
    file: File
    dependencies: Mapping[str, File]
    normal_text: str | None = None
    schema_type: str = "PROTOBUF"

    @property
    def name(self) -> str | None:
        file = self._effective_file
        first = next((kind for kind in file.types if isinstance(kind, Message)), None) or next(iter(file.types), None)
        if first is None:
            return None
        return f"{file.package}.{first.name}" if file.package else first.name

    @cached_property
    def _effective_file(self) -> File:
        """A file that only imports another publicly stands for that one."""
        file = self.file
        holds = file.types or file.imports or file.services or file.extends
        if holds or len(file.public_imports) != 1:
            return file
        name = file.public_imports[0]
        imported = self.dependencies.get(name) or known_file(name)
        return imported if imported is not None and imported.types else file

    @cached_property
    def _canonical(self) -> str:
        return print_file(self.file) if self.normal_text is None else self.normal_text

    def canonical(self) -> str:
        return self._canonical

    @cached_property
    def names(self) -> Names:
        origins = {reference.name: (reference.subject, reference.version) for reference in self.source.references}
        files = ((origins.get(name), file) for name, file in self.dependencies.items())
        return Names((*files, (OWN, self.file)), known_names())

    def normalized(self) -> ProtobufSchema:
        text = print_file(normalize(self.file, self.names))
        references = ordered_references(self.source.references)
        source = replace(self.source, text=text, references=references)
        return ProtobufSchema(source, parse_file(text), self.dependencies, text)

    def format(self, name: str) -> str:
        if name == "serialized":
            return base64.b64encode(self._linked).decode()
        if name == "ignore_extensions":
            return print_file(without_extensions(self.file))
        return self.canonical()

    @cached_property
    def _linked(self) -> bytes:
        return link(self.file, self.names, self.dependencies).SerializeToString(deterministic=True)

    def validate(self) -> None:
        """Raises `InvalidSchema` for what parses and yet is no schema: unknown types, numbers given twice."""
        check(self.file)
        self._linked  # noqa: B018  (kept for `format=serialized`)

    def differences(self, previous: ProtobufSchema, policy: Policy = Policy.STRICT) -> list[Difference]:
        return differences((previous.file, previous.names), (self.file, self.names))

    def has_top_level_field(self, name: str) -> bool:
        messages = (kind for kind in self._effective_file.types if isinstance(kind, Message))
        return any(field.name == name for message in messages for field in message.fields)

    def tags(self) -> frozenset[str]:
        found = _tags("confluent.file_meta", self.file.options)
        waiting: list[Type] = list(self.file.types)
        while waiting:
            kind = waiting.pop()
            if isinstance(kind, Enum):
                found |= _tags("confluent.enum_meta", kind.options)
                found.update(*(_tags("confluent.enum_value_meta", value.options) for value in kind.values))
                continue
            found |= _tags("confluent.message_meta", kind.options)
            fields = (*kind.fields, *(field for oneof in kind.oneofs for field in oneof.fields))
            found.update(*(_tags("confluent.field_meta", field.options) for field in fields))
            waiting += kind.types
        return frozenset(found)

    def with_source(self, source: Source) -> ProtobufSchema:
        return replace(self, source=source)


def _tags(name: str, options: Iterable[Option]) -> set[str]:
    found: set[str] = set()
    for option in options:
        if option.custom and option.name.lstrip(".") == name:
            value = option.value
            if isinstance(value, Option):
                value = {value.name: value.value}
            tags = value.get("tags") if isinstance(value, dict) else None
            found.update(tag for tag in (tags if isinstance(tags, list) else [tags]) if isinstance(tag, str))
    return found


def _file(text: str) -> File:
    try:
        return parse_file(text)
    except InvalidSchema as error:
        file = from_base64(text.strip())
        if file is None:
            raise InvalidSchema(f"Could not parse Protobuf - {error}") from None
        return file


class ProtobufType:
    """PROTOBUF."""

    name = "PROTOBUF"
    formats = ("serialized", "ignore_extensions")

    def parse(self, source: Source, *, new: bool = False) -> ProtobufSchema:
        check_size(source.text, source.resolved)
        dependencies = {name: _file(text) for name, text in source.resolved.items()}
        schema = ProtobufSchema(source, _file(source.text), dependencies)
        if new:
            schema.validate()
        return schema
