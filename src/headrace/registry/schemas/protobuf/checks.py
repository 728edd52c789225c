"""Rules of the language that its runtime does not look at and its compiler does: what is reserved, numbers given twice, what proto3 does not have."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.protobuf.elements import (
    Enum,
    EnumValue,
    Extend,
    Field,
    File,
    Group,
    Message,
    Option,
    Range,
    Reserved,
    Type,
)

_OF_THE_LIBRARY = (19_000, 19_999)


def check(file: File) -> None:
    """Raises `InvalidSchema` for the first rule that is broken."""
    _check_types(file.types, file.syntax == "proto3")
    _check_extends(file.extends)


def _check_types(types: Iterable[Type], proto3: bool) -> None:
    for kind in types:
        if isinstance(kind, Enum):
            _check_enum(kind)
        else:
            _check_message(kind, proto3)
            _check_types(kind.types, proto3)


def _check_message(message: Message, proto3: bool) -> None:
    groups = [*message.groups, *(group for oneof in message.oneofs for group in oneof.groups)]
    if proto3 and groups:
        raise InvalidSchema("Groups are not supported in proto3 syntax")
    if proto3 and message.extensions:
        raise InvalidSchema("Extension ranges are not allowed in proto3")
    members = [*message.fields, *(field for oneof in message.oneofs for field in oneof.fields), *groups]
    _check_reserved(f"Field {{}} of {message.name}", message.reserved, members)
    ranges = sorted(_ends(value) for each in message.extensions for value in each.values)
    _check_apart(f"Extension range of {message.name}", [*ranges, *_numbers(message.reserved)])
    for member in members:
        if _OF_THE_LIBRARY[0] <= member.tag <= _OF_THE_LIBRARY[1]:
            raise InvalidSchema("Field numbers 19000 through 19999 are reserved for the protocol buffer library")
        if _within(ranges, member.tag):
            raise InvalidSchema(f"Extension range of {message.name} includes field {member.name!r} ({member.tag})")
    for field in members:
        if isinstance(field, Field):
            _check_field(field)
    _check_extends(message.extends)


def _check_field(field: Field) -> None:
    if field.label == "repeated" and field.default is not None:
        raise InvalidSchema(f"Repeated field {field.name!r} cannot have a default value")
    packable = field.label == "repeated" and field.type not in ("string", "bytes") and not field.type.startswith("map<")
    if _is_true("packed", field.options) and not packable:
        raise InvalidSchema(f"[packed = true] can only be specified for repeated primitive fields, not {field.name!r}")


def _check_extends(extends: Iterable[Extend]) -> None:
    for extend in extends:
        for field in extend.fields:
            if field.label == "required":
                raise InvalidSchema(f"The extension {field.name} cannot be required")
            _check_field(field)


def _check_enum(enum: Enum) -> None:
    names: dict[int, str] = {}
    for value in enum.values:
        other = names.setdefault(value.tag, value.name)
        if other != value.name and not _is_true("allow_alias", enum.options):
            raise InvalidSchema(
                f"{value.name!r} uses the same enum value as {other!r}; if this is meant, set option allow_alias = true"
            )
    _check_reserved(f"Enum value {{}} of {enum.name}", enum.reserved, enum.values)


def _check_reserved(what: str, reserved: Iterable[Reserved], members: Iterable[Field | Group | EnumValue]) -> None:
    reserved = list(reserved)
    ranges = sorted(_numbers(reserved))
    names = {value for each in reserved for value in each.values if isinstance(value, str)}
    _check_apart("Reserved range", ranges)
    for member in members:
        name, tag = member.name, member.tag
        if name in names:
            raise InvalidSchema(f"{what.format(repr(name))} has a reserved name")
        if _within(ranges, tag):
            raise InvalidSchema(f"{what.format(repr(name))} uses reserved number {tag}")


def _check_apart(what: str, ranges: Iterable[Range]) -> None:
    for (first, last), (start, end) in pairwise(sorted(ranges)):
        if start <= last:
            raise InvalidSchema(f"{what} {start} to {end} overlaps with {first} to {last}")


def _within(ranges: list[Range], number: int) -> bool:
    """Whether a number is in one of these ranges, which are in order and apart."""
    index = bisect_right(ranges, (number, math.inf)) - 1
    return index >= 0 and ranges[index][0] <= number <= ranges[index][1]


def _numbers(reserved: Iterable[Reserved]) -> Iterator[Range]:
    return (_ends(value) for each in reserved for value in each.values if not isinstance(value, str))


def _ends(value: int | Range) -> Range:
    return (value, value) if isinstance(value, int) else value


def _is_true(name: str, options: Iterable[Option]) -> bool:
    return any(option.name == name and not option.custom and option.value == "true" for option in options)
