"""Descriptors (`FileDescriptorProto`, which clients send in base64) → elements, as Confluent's registry reads them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2 as pb
from google.protobuf import text_encoding
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.protobuf import known
from headrace.registry.schemas.protobuf.elements import (
    Enum,
    EnumValue,
    Extend,
    Extensions,
    Field,
    File,
    Group,
    Message,
    OneOf,
    Option,
    Range,
    Reserved,
    Rpc,
    Service,
    Type,
    Value,
    Word,
)
from headrace.registry.schemas.protobuf.parsing import MESSAGE_NESTING

_OPTION_ORDER = [
    "java_package",
    "java_outer_classname",
    "java_multiple_files",
    "java_generate_equals_and_hash",
    "java_string_check_utf8",
    "optimize_for",
    "ctype",
    "packed",
    "jstype",
]
"""The options that Confluent prints first; the others follow by number."""

_LABELS = {1: "optional", 2: "required", 3: "repeated"}
_VISIBILITY = {1: "local", 2: "export"}
_GROUP = pb.FieldDescriptorProto.TYPE_GROUP


def from_base64(text: str) -> File | None:
    """The file whose descriptor this is; None when it is no descriptor at all."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    try:
        proto = _descriptor_class().FromString(data)
    except DecodeError:
        return None
    # Almost any bytes are a message with nothing known in it.
    declares = proto.message_type or proto.enum_type or proto.service or proto.extension or proto.dependency
    return to_file(proto) if declares else None


def to_file(proto: Any) -> File:
    return _Reader(proto).file()


@cache
def _descriptor_class() -> Any:
    """`FileDescriptorProto` with Confluent's options known, so that they are read as such."""
    from headrace.registry.schemas.protobuf.linking import link

    meta = known.known_file(known.CONFLUENT_META)
    descriptor = known.compiled("google/protobuf/descriptor.proto")
    assert meta is not None and descriptor is not None
    pool = DescriptorPool()
    pool.AddSerializedFile(descriptor.SerializeToString())
    compiled_meta = link(meta, known.known_names(), {})
    compiled_meta.name = known.CONFLUENT_META
    pool.AddSerializedFile(compiled_meta.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("google.protobuf.FileDescriptorProto"))


class _Reader:
    def __init__(self, proto: Any) -> None:
        self._proto = proto
        self._proto2 = proto.syntax in ("", "proto2")

    def file(self) -> File:
        proto = self._proto
        if proto.syntax not in ("", "proto2", "proto3", "editions"):
            raise InvalidSchema(f"unexpected syntax: {proto.syntax}")
        editions = proto.syntax == "editions"
        public, weak = set(proto.public_dependency), set(proto.weak_dependency)
        return File(
            syntax="" if editions else proto.syntax,
            edition=pb.Edition.Name(proto.edition).removeprefix("EDITION_") if editions else "",
            package=proto.package,
            imports=tuple(name for index, name in enumerate(proto.dependency) if index not in public | weak),
            public_imports=tuple(name for index, name in enumerate(proto.dependency) if index in public),
            weak_imports=tuple(name for index, name in enumerate(proto.dependency) if index in weak - public),
            options=_options(proto),
            types=self._types(proto.message_type, proto.enum_type, 0),
            extends=self._extends(proto.extension),
            services=tuple(_service(service) for service in proto.service),
            option_imports=tuple(proto.option_dependency),
        )

    def _types(self, messages: Iterable[Any], enums: Iterable[Any], depth: int) -> tuple[Type, ...]:
        return (*(self._message(message, depth) for message in messages), *(_enum(enum) for enum in enums))

    def _message(self, proto: Any, depth: int) -> Message:
        if depth > MESSAGE_NESTING:
            raise InvalidSchema(f"Nested too deeply: more than {MESSAGE_NESTING} levels of messages")
        groups = {field.type_name.rpartition(".")[2] for field in proto.field if field.type == _GROUP}
        nested = {message.name: message for message in proto.nested_type}
        fields = [field for field in proto.field if not field.HasField("oneof_index") or field.proto3_optional]
        for field in proto.field:
            if field.oneof_index >= len(proto.oneof_decl) and field.HasField("oneof_index"):
                raise InvalidSchema(f"Field {field.name!r} is in a oneof that does not exist")
        return Message(
            proto.name,
            fields=self._fields(fields),
            oneofs=self._oneofs(proto, nested),
            groups=self._groups(fields, nested),
            types=self._types(
                (message for message in proto.nested_type if message.name not in groups), proto.enum_type, depth + 1
            ),
            options=_options(proto),
            reserved=(
                *(Reserved((_range(each.start, each.end - 1),)) for each in proto.reserved_range),
                *(Reserved((name,)) for name in proto.reserved_name),
            ),
            extensions=tuple(
                Extensions((_range(each.start, each.end - 1),), _options(each)) for each in proto.extension_range
            ),
            extends=self._extends(proto.extension),
            visibility=_VISIBILITY.get(proto.visibility, ""),
        )

    def _oneofs(self, proto: Any, nested: dict[str, Any]) -> tuple[OneOf, ...]:
        found = []
        for index, oneof in enumerate(proto.oneof_decl):
            members = [
                field
                for field in proto.field
                if field.HasField("oneof_index") and field.oneof_index == index and not field.proto3_optional
            ]
            if members:
                fields, groups = self._fields(members, in_oneof=True), self._groups(members, nested, in_oneof=True)
                found.append(OneOf(oneof.name, fields, groups, _options(oneof)))
        return tuple(found)

    def _fields(self, protos: Iterable[Any], *, in_oneof: bool = False) -> tuple[Field, ...]:
        return tuple(self._field(proto, in_oneof=in_oneof) for proto in protos if proto.type != _GROUP)

    def _groups(self, protos: Iterable[Any], nested: dict[str, Any], *, in_oneof: bool = False) -> tuple[Group, ...]:
        found = []
        for proto in protos:
            if proto.type == _GROUP:
                message = nested.get(proto.type_name.rpartition(".")[2])
                if message is None or message.nested_type or message.enum_type or message.oneof_decl:
                    raise InvalidSchema(f"Group {proto.name!r} holds more than fields, which is not supported")
                label = "" if in_oneof else self._label(proto)
                found.append(Group(message.name, proto.number, label, self._fields(message.field)))
        return tuple(found)

    def _field(self, proto: Any, *, in_oneof: bool = False) -> Field:
        return Field(
            proto.name,
            proto.type_name or pb.FieldDescriptorProto.Type.Name(proto.type).removeprefix("TYPE_").lower(),
            proto.number,
            "" if in_oneof else self._label(proto),
            _default(proto) if proto.HasField("default_value") and self._proto.syntax != "proto3" else None,
            proto.json_name if proto.HasField("json_name") else None,
            _options(proto),
        )

    def _label(self, proto: Any) -> str:
        if proto.proto3_optional or self._proto2:
            return _LABELS[proto.label]
        return "repeated" if _LABELS[proto.label] == "repeated" else ""

    def _extends(self, protos: Iterable[Any]) -> tuple[Extend, ...]:
        found: dict[str, list[Any]] = {}
        for proto in protos:
            if proto.type == _GROUP:
                raise InvalidSchema("A group as an extension is not supported")
            found.setdefault(proto.extendee, []).append(proto)
        return tuple(Extend(name, self._fields(fields)) for name, fields in found.items())


def _enum(proto: Any) -> Enum:
    return Enum(
        proto.name,
        tuple(EnumValue(value.name, value.number, _options(value)) for value in proto.value),
        _options(proto),
        (
            *(Reserved((_range(each.start, each.end),)) for each in proto.reserved_range),
            *(Reserved((name,)) for name in proto.reserved_name),
        ),
        _VISIBILITY.get(proto.visibility, ""),
    )


def _service(proto: Any) -> Service:
    rpcs = (
        Rpc(m.name, m.input_type, m.output_type, m.client_streaming, m.server_streaming, _options(m))
        for m in proto.method
    )
    return Service(proto.name, tuple(rpcs), _options(proto))


def _range(first: int, last: int) -> int | Range:
    return first if first == last else (first, last)


def _default(proto: Any) -> str:
    if proto.type != pb.FieldDescriptorProto.TYPE_BYTES:
        return str(proto.default_value)
    try:
        return text_encoding.CUnescape(proto.default_value).decode("latin-1")
    except ValueError:
        raise InvalidSchema(f"Invalid default value of {proto.name!r}") from None


def _options(owner: Any) -> tuple[Option, ...]:
    if not owner.HasField("options"):
        return ()
    fields = owner.options.ListFields()
    order = {name: index for index, name in enumerate(_OPTION_ORDER)}
    plain = [(field, value) for field, value in fields if not field.is_extension]
    plain.sort(key=lambda entry: (order.get(entry[0].name, len(order)), entry[0].number))
    found: list[Option] = []
    for field, value in plain:
        values: Sequence[Any] = value if field.is_repeated else [value]
        if field.name != "uninterpreted_option":
            found += [Option(field.name, _value(field, each)) for each in values]
    for field, value in fields:
        if field.is_extension:
            meta = _meta(value)
            found += [Option(field.full_name, meta, custom=True)] if meta else []
    return tuple(found)


def _meta(meta: Any) -> dict[str, Value]:
    """Confluent's own option: documentation, parameters, tags and rules."""
    found: dict[str, Value] = {}
    if meta.doc:
        found["doc"] = meta.doc
    if meta.params:
        found["params"] = [_parameter(key, value) for key, value in sorted(meta.params.items())]
    if meta.tags:
        found["tags"] = list(meta.tags)
    rules: list[Value] = [
        {name: getattr(rule, name) for name in ("name", "doc", "expr", "sql") if getattr(rule, name)}
        for rule in meta.rules
    ]
    if any(rules):
        found["rules"] = [rule for rule in rules if rule]
    return found


def _parameter(key: str, value: str) -> dict[str, Value]:
    # Confluent writes the value of these two first, as it did before maps.
    return {"value": value, "key": key} if key in ("precision", "scale") else {"key": key, "value": value}


def _value(field: FieldDescriptor, value: Any) -> Value:
    if field.message_type is not None:
        return {
            each.name: [_value(each, entry) for entry in inner] if each.is_repeated else _value(each, inner)
            for each, inner in value.ListFields()
            if not each.is_extension
        }
    if field.enum_type is not None:
        number = field.enum_type.values_by_number.get(value)
        return Word(number.name if number else str(value))
    if isinstance(value, bool):
        return Word("true" if value else "false")
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return Word(str(value))
