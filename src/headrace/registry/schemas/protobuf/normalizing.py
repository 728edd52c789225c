"""A file with everything in order whose order means nothing, and every name in full (`normalize=true`).

The order of messages stays: serializers write a message's position.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.protobuf.elements import (
    LARGEST_TAG,
    SCALARS,
    Enum,
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
    Service,
    Type,
    Value,
    Word,
    map_types,
)
from headrace.registry.schemas.protobuf.names import NamedType, Names, Scope, package_scope

_DECIMAL = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?\Z")
_OCTAL = re.compile(r"-?0[0-7]{1,22}\Z")
_HEX = re.compile(r"-?0[xX][0-9a-fA-F]{1,16}\Z")


def normalize(file: File, names: Names) -> File:
    """Raises `InvalidSchema` for a type that does not resolve."""
    return _Normalizer(names).file(file)


class _Normalizer:
    def __init__(self, names: Names) -> None:
        self._names = names

    def file(self, file: File) -> File:
        scope = package_scope(file.package)
        return replace(
            file,
            syntax="" if file.syntax == "proto2" else file.syntax,
            imports=_sorted_once(file.imports),
            public_imports=_sorted_once(file.public_imports),
            weak_imports=_sorted_once(file.weak_imports),
            option_imports=_sorted_once(file.option_imports),
            options=self._options(file.options, scope),
            types=self._types(file.types, scope),
            extends=self._extends(file.extends, scope),
            services=tuple(self._service(service, scope) for service in file.services),
        )

    def _types(self, types: Iterable[Type], scope: Scope) -> tuple[Type, ...]:
        # The messages of maps' entries that descriptors have stand in their fields' types.
        kept = (kind for kind in types if isinstance(kind, Enum) or kind.map_type() is None)
        return tuple(self._type(kind, (*scope, kind.name)) for kind in kept)

    def _type(self, kind: Type, scope: Scope) -> Type:
        if isinstance(kind, Enum):
            values = sorted(kind.values, key=lambda value: (value.tag, value.name))
            return replace(
                kind,
                reserved=_reserved(kind.reserved),
                options=self._options(kind.options, scope),
                values=tuple(replace(value, options=self._options(value.options, scope)) for value in values),
            )
        oneofs = [self._oneof(oneof, scope) for oneof in kind.oneofs if oneof.fields or oneof.groups]
        return replace(
            kind,
            reserved=_reserved(kind.reserved),
            options=self._options(kind.options, scope),
            fields=self._fields(kind.fields, scope),
            oneofs=tuple(sorted(oneofs, key=_first_tag)),
            groups=self._groups(kind.groups, scope),
            extensions=self._extensions(kind.extensions, scope),
            extends=self._extends(kind.extends, scope),
            types=self._types(kind.types, scope),
        )

    def _oneof(self, oneof: OneOf, scope: Scope) -> OneOf:
        return replace(
            oneof,
            options=self._options(oneof.options, scope),
            fields=self._fields(oneof.fields, scope),
            groups=self._groups(oneof.groups, scope),
        )

    def _groups(self, groups: Iterable[Group], scope: Scope) -> tuple[Group, ...]:
        found = (replace(group, fields=self._fields(group.fields, (*scope, group.name))) for group in groups)
        return tuple(sorted(found, key=lambda group: group.tag))

    def _extensions(self, extensions: Iterable[Extensions], scope: Scope) -> tuple[Extensions, ...]:
        single = (
            Extensions((_shortest(value),), self._options(each.options, scope))
            for each in extensions
            for value in each.values
        )
        return tuple(sorted(single, key=lambda each: _start(each.values[0])))

    def _extends(self, extends: Iterable[Extend], scope: Scope) -> tuple[Extend, ...]:
        found: dict[str, list[Field]] = {}
        for extend in extends:
            found.setdefault(self._full(extend.name, scope), []).extend(extend.fields)
        return tuple(Extend(name, self._fields(fields, scope)) for name, fields in found.items())

    def _service(self, service: Service, scope: Scope) -> Service:
        rpcs = tuple(
            replace(
                rpc,
                request=self._full(rpc.request, scope),
                response=self._full(rpc.response, scope),
                options=self._options(rpc.options, scope),
            )
            for rpc in service.rpcs
        )
        return replace(service, rpcs=rpcs, options=self._options(service.options, scope))

    def _fields(self, fields: Iterable[Field], scope: Scope) -> tuple[Field, ...]:
        return tuple(sorted((self._field(field, scope) for field in fields), key=lambda field: field.tag))

    def _field(self, field: Field, scope: Scope) -> Field:
        kind = self._field_type(field.type, scope)
        default = field.default
        if default is not None and kind not in ("string", "bytes"):
            default = _number(default)
        # default and json_name are options to their printer, which puts them last: sorted, they stand among the others.
        options = list(field.options)
        if default is not None:
            quoted = kind in ("string", "bytes")
            options.append(Option("default", default if quoted else Word(default)))
        if field.json_name is not None:
            options.append(Option("json_name", field.json_name))
        label = "" if map_types(kind) else field.label
        return Field(field.name, kind, field.tag, label, None, None, self._options(options, scope))

    def _field_type(self, name: str, scope: Scope) -> str:
        if name in SCALARS:
            return name
        entry = map_types(name)
        if entry is None:
            found = self._names.type(name, scope)
            if found is None:
                raise InvalidSchema(f"Could not resolve type: {name}")
            if found.map_type is None:
                return f".{found.full_name}"
            entry = map_types(found.map_type)
            assert entry is not None
        key, value = entry
        resolved = None if value in SCALARS else self._names.type(value, scope)
        return f"map<{key}, {value if resolved is None else '.' + resolved.full_name}>"

    def _full(self, name: str, scope: Scope) -> str:
        found = self._names.type(name, scope)
        if found is None:
            raise InvalidSchema(f"Could not resolve type: {name}")
        return f".{found.full_name}"

    def _options(self, options: Iterable[Option], scope: Scope) -> tuple[Option, ...]:
        found: dict[str, list[Option]] = {}
        for option in sorted((self._option(option, scope) for option in options), key=lambda option: option.name):
            found.setdefault(option.name, []).append(option)
        result: list[Option] = []
        for name, several in found.items():
            found_field = self._names.extension_field(name) if several[0].custom else None
            if found_field is None or found_field[0].label == "repeated":
                result += several
            else:
                result.append(self._merged(self._message_of(*found_field), several))
        return tuple(result)

    def _option(self, option: Option, scope: Scope) -> Option:
        name = self._names.extension(option.name, scope) if option.custom else None
        value = _as_literal(option.value) if name else option.value
        return Option(name or option.name, self._value(value, scope), option.custom)

    def _value(self, value: Value, scope: Scope) -> Value:
        if isinstance(value, Word):
            return Word(_number(value))
        if isinstance(value, list):
            return [self._value(entry, scope) for entry in value]
        if isinstance(value, dict):
            entries = {
                self._key(key, scope): self._value(_single(entry), scope) for key, entry in value.items() if entry != []
            }
            return dict(sorted(entries.items()))
        return value

    def _key(self, key: str, scope: Scope) -> str:
        if key.startswith("["):
            return f"[{self._names.extension(key[1:-1], scope) or key[1:-1]}]"
        return key

    def _merged(self, kind: NamedType | None, options: list[Option]) -> Option:
        """Several statements about one option that is not repeated: `(a).b = 1, (a).c = 2` is `(a) = {b: 1, c: 2}`."""
        first, *more = options
        value = first.value
        for option in more:
            if isinstance(value, dict) and isinstance(option.value, dict):
                value = self._merged_literals(kind, value, option.value)
            else:
                value = option.value
        return replace(first, value=value)

    def _merged_literals(
        self, kind: NamedType | None, one: dict[str, Value], other: dict[str, Value]
    ) -> dict[str, Value]:
        merged = dict(one)
        for key, value in other.items():
            field = _field_named(kind, key)
            if key not in merged:
                merged[key] = value
            elif field is None or field.label == "repeated":
                before = _listed(merged[key])
                merged[key] = [*before, *(each for each in _listed(value) if each not in before)]
            elif isinstance(earlier := merged[key], dict) and isinstance(value, dict):
                assert kind is not None
                inner = self._message_of(field, tuple(kind.full_name.split(".")))
                merged[key] = self._merged_literals(inner, earlier, value)
            else:
                merged[key] = value
        return dict(sorted(merged.items()))

    def _message_of(self, field: Field, scope: Scope) -> NamedType | None:
        found = self._names.type(field.type, scope)
        return found if found and isinstance(found.element, Message) else None


def _field_named(kind: NamedType | None, name: str) -> Field | None:
    if kind is None or not isinstance(kind.element, Message):
        return None
    message = kind.element
    fields = (*message.fields, *(field for oneof in message.oneofs for field in oneof.fields))
    return next((field for field in fields if field.name == name), None)


def _listed(value: Value) -> list[Value]:
    return value if isinstance(value, list) else [value]


def _single(value: Value) -> Value:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _as_literal(value: Value) -> Value:
    """The rest of a path as a message literal: `.b = 1` is `{b: 1}`."""
    return {value.name: _as_literal(value.value)} if isinstance(value, Option) else value


def _sorted_once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _start(value: int | Range | str) -> int:
    if isinstance(value, str):
        return (1 << 31) - 1
    return value if isinstance(value, int) else value[0]


def _shortest(value: int | Range) -> int | Range:
    return value[0] if isinstance(value, tuple) and value[0] == value[1] else value


def _reserved(reserved: Iterable[Reserved]) -> tuple[Reserved, ...]:
    values = [value if isinstance(value, str) else _shortest(value) for each in reserved for value in each.values]
    return tuple(Reserved((value,)) for value in sorted(values, key=lambda value: (_start(value), str(value))))


def _first_tag(oneof: OneOf) -> int:
    return min((member.tag for member in (*oneof.fields, *oneof.groups)), default=LARGEST_TAG)


def _number(word: str) -> str:
    """A number in one form: decimal, without an exponent and zeros at the end. Any other word as it is."""
    if _HEX.match(word):
        return str(int(word, 16))
    if _OCTAL.match(word):
        return str(int(word, 8))
    if not _DECIMAL.match(word):
        return str(word)
    text = f"{Decimal(word):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
