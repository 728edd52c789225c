"""Elements → descriptors (`FileDescriptorProto`), with every type name resolved. Options are filled in by `interpretation`."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf import descriptor_pb2 as pb
from google.protobuf import text_encoding

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.protobuf.elements import (
    LARGEST_TAG,
    SCALARS,
    Enum,
    Extend,
    Field,
    File,
    Group,
    Message,
    Range,
    Service,
    Type,
    map_types,
)
from headrace.registry.schemas.protobuf.interpretation import Interpreter
from headrace.registry.schemas.protobuf.names import Names, Scope, package_scope

_LABELS = {
    "": pb.FieldDescriptorProto.LABEL_OPTIONAL,
    "optional": pb.FieldDescriptorProto.LABEL_OPTIONAL,
    "required": pb.FieldDescriptorProto.LABEL_REQUIRED,
    "repeated": pb.FieldDescriptorProto.LABEL_REPEATED,
}
_VISIBILITY = {"export": 2, "local": 1}
_INT32 = range(-(1 << 31), 1 << 31)


class Builder:
    """Builds the descriptor of one file; `imports` says which of the file's imports exist."""

    def __init__(self, file: File, names: Names, imports: frozenset[str], options: Interpreter) -> None:
        self._file = file
        self._names = names
        self._imports = imports
        self._options = options

    def build(self, name: str) -> pb.FileDescriptorProto:
        file = self._file
        proto = pb.FileDescriptorProto(name=name)
        if file.package:
            proto.package = file.package
        if file.edition:
            proto.syntax = "editions"
            proto.edition = _edition(file.edition)
        elif file.syntax == "proto3":
            proto.syntax = "proto3"
        self._add_imports(proto)
        scope = package_scope(file.package)
        self._add_types(file.types, scope, proto.message_type, proto.enum_type)
        self._add_extends(file.extends, scope, proto.extension)
        for service in file.services:
            self._add_service(service, scope, proto.service.add())
        self._options.into(proto.options, file.options, scope)
        return proto

    def _add_imports(self, proto: pb.FileDescriptorProto) -> None:
        file = self._file
        for names, indexes in (
            (file.imports, None),
            (file.public_imports, proto.public_dependency),
            (file.weak_imports, proto.weak_dependency),
        ):
            # An import that only names options nobody knows is left out, as in Confluent's registry; types from it would not resolve.
            for name in dict.fromkeys(names):
                if name in self._imports and name not in proto.dependency:
                    if indexes is not None:
                        indexes.append(len(proto.dependency))
                    proto.dependency.append(name)
        proto.option_dependency.extend(name for name in file.option_imports if name in self._imports)

    def _add_types(self, types: Iterable[Type], scope: Scope, messages, enums) -> None:  # type: ignore[no-untyped-def]
        for kind in types:
            if isinstance(kind, Enum):
                self._fill_enum(kind, scope, enums.add(name=kind.name))
            else:
                self._fill_message(kind, scope, messages.add(name=kind.name))

    def _fill_message(self, message: Message, outer: Scope, proto: pb.DescriptorProto) -> None:
        scope = (*outer, message.name)
        self._add_types(message.types, scope, proto.nested_type, proto.enum_type)
        for field in message.fields:
            self._fill_field(field, scope, proto.field.add(), proto)
        for group in message.groups:
            self._fill_group(group, scope, proto)
        for index, oneof in enumerate(message.oneofs):
            self._options.into(proto.oneof_decl.add(name=oneof.name).options, oneof.options, scope)
            for field in oneof.fields:
                self._fill_field(field, scope, proto.field.add(oneof_index=index), None)
            for group in oneof.groups:
                self._fill_group(group, scope, proto).oneof_index = index
        self._add_synthetic_oneofs(proto)
        self._add_extends(message.extends, scope, proto.extension)
        self._add_ranges(message, scope, proto)
        if message.visibility:
            proto.visibility = _VISIBILITY[message.visibility]  # type: ignore[assignment]
        self._options.into(proto.options, message.options, scope)

    def _add_ranges(self, message: Message, scope: Scope, proto: pb.DescriptorProto) -> None:
        for reserved in message.reserved:
            for value in reserved.values:
                if isinstance(value, str):
                    proto.reserved_name.append(value)
                else:
                    first, last = _bounds(value)
                    proto.reserved_range.add(start=first, end=last + 1)
        for extensions in message.extensions:
            for numbers in extensions.values:
                first, last = _bounds(numbers)
                entry = proto.extension_range.add(start=first, end=last + 1)
                self._options.into(entry.options, extensions.options, scope)

    def _add_synthetic_oneofs(self, proto: pb.DescriptorProto) -> None:
        """A proto3 field with the label `optional` is a oneof of its own to the runtimes."""
        taken = {field.name for field in proto.field} | {oneof.name for oneof in proto.oneof_decl}
        for field in proto.field:
            if field.proto3_optional:
                name = f"_{field.name}"
                while name in taken:
                    name = f"X{name}"
                taken.add(name)
                field.oneof_index = len(proto.oneof_decl)
                proto.oneof_decl.add(name=name)

    def _fill_group(self, group: Group, scope: Scope, owner: pb.DescriptorProto) -> pb.FieldDescriptorProto:
        self._fill_message(Message(group.name, group.fields), scope, owner.nested_type.add(name=group.name))
        full_name = ".".join((*scope, group.name))
        return owner.field.add(
            name=group.name.lower(),
            number=_int32(group.tag),
            label=_LABELS[group.label],
            type=pb.FieldDescriptorProto.TYPE_GROUP,
            type_name=f".{full_name}",
        )

    def _fill_field(
        self, field: Field, scope: Scope, proto: pb.FieldDescriptorProto, owner: pb.DescriptorProto | None
    ) -> None:
        proto.name = field.name
        proto.number = _int32(field.tag)
        entry = map_types(field.type)
        if entry is not None and owner is not None:
            self._fill_map(field, entry, scope, proto, owner)
        else:
            proto.label = _LABELS[field.label]
            proto.proto3_optional = field.label == "optional" and self._file.syntax == "proto3" and owner is not None
            if not proto.proto3_optional:
                proto.ClearField("proto3_optional")
            self._set_type(proto, field.type, scope)
        if field.default is not None:
            proto.default_value = _default(field)
        if field.json_name is not None:
            proto.json_name = field.json_name
        self._options.into(proto.options, field.options, scope)

    def _fill_map(
        self,
        field: Field,
        kinds: tuple[str, str],
        scope: Scope,
        proto: pb.FieldDescriptorProto,
        owner: pb.DescriptorProto,
    ) -> None:
        name = f"{_camel_case(field.name)}Entry"
        entry = owner.nested_type.add(name=name)
        entry.options.map_entry = True
        for number, (part, kind) in enumerate(zip(("key", "value"), kinds, strict=True), 1):
            # Names inside the entry mean what they mean in the message around it.
            self._set_type(entry.field.add(name=part, number=number, label=_LABELS[""]), kind, scope)
        proto.label = _LABELS["repeated"]
        proto.type = pb.FieldDescriptorProto.TYPE_MESSAGE
        proto.type_name = "." + ".".join((*scope, name))

    def _set_type(self, proto: pb.FieldDescriptorProto, name: str, scope: Scope) -> None:
        if name in SCALARS:
            proto.type = pb.FieldDescriptorProto.Type.Value(f"TYPE_{name.upper()}")
            return
        found = self._names.type(name, scope)
        if found is None:
            raise InvalidSchema(f"Could not resolve type: {name}")
        kind = pb.FieldDescriptorProto.TYPE_ENUM if found.is_enum else pb.FieldDescriptorProto.TYPE_MESSAGE
        proto.type = kind
        proto.type_name = f".{found.full_name}"

    def _fill_enum(self, enum: Enum, scope: Scope, proto: pb.EnumDescriptorProto) -> None:
        for value in enum.values:
            entry = proto.value.add(name=value.name, number=_int32(value.tag))
            self._options.into(entry.options, value.options, scope)
        for reserved in enum.reserved:
            for numbers in reserved.values:
                if isinstance(numbers, str):
                    proto.reserved_name.append(numbers)
                else:
                    first, last = (numbers, numbers) if isinstance(numbers, int) else numbers
                    # "max" of an enum is the largest 32-bit number.
                    last = _INT32[-1] if last == LARGEST_TAG else last
                    proto.reserved_range.add(start=_int32(first), end=_int32(last))
        if enum.visibility:
            proto.visibility = _VISIBILITY[enum.visibility]  # type: ignore[assignment]
        self._options.into(proto.options, enum.options, scope)

    def _add_extends(self, extends: Iterable[Extend], scope: Scope, fields) -> None:  # type: ignore[no-untyped-def]
        for extend in extends:
            found = self._names.type(extend.name, scope)
            if found is None:
                raise InvalidSchema(f"Could not resolve type: {extend.name}")
            for field in extend.fields:
                self._fill_field(field, scope, fields.add(extendee=f".{found.full_name}"), None)

    def _add_service(self, service: Service, scope: Scope, proto: pb.ServiceDescriptorProto) -> None:
        proto.name = service.name
        for rpc in service.rpcs:
            method = proto.method.add(name=rpc.name)
            for attribute, name in (("input_type", rpc.request), ("output_type", rpc.response)):
                found = self._names.type(name, (*scope, service.name))
                if found is None:
                    raise InvalidSchema(f"Could not resolve type: {name}")
                setattr(method, attribute, f".{found.full_name}")
            if rpc.request_streams:
                method.client_streaming = True
            if rpc.response_streams:
                method.server_streaming = True
            self._options.into(method.options, rpc.options, scope)
        self._options.into(proto.options, service.options, scope)


def _edition(name: str) -> pb.Edition:
    try:
        return pb.Edition.Value(f"EDITION_{name}")
    except ValueError:
        raise InvalidSchema(f"Unknown edition {name!r}") from None


def _bounds(value: int | Range) -> Range:
    first, last = (value, value) if isinstance(value, int) else value
    if not 0 < first <= last <= LARGEST_TAG:
        raise InvalidSchema(f"Not a range of field numbers: {first} to {last}")
    return first, last


def _int32(value: int) -> int:
    if value not in _INT32:
        raise InvalidSchema(f"Number out of range: {value}")
    return value


def _default(field: Field) -> str:
    if field.type != "bytes":
        return str(field.default)
    text = field.default or ""
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError:
        data = text.encode()
    return str(text_encoding.CEscape(data, as_utf8=False))


def _camel_case(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
