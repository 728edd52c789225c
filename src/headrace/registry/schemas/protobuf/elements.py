"""A .proto file as written: what the parser reads, the printer prints, and everything else looks at.

Names of types stay as the author wrote them; `names` says what they mean. Order is kept, comments are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

LARGEST_TAG = 536_870_911
SCALARS = frozenset(
    [
        "double",
        "float",
        "int32",
        "int64",
        "uint32",
        "uint64",
        "sint32",
        "sint64",
        "fixed32",
        "fixed64",
        "sfixed32",
        "sfixed64",
        "bool",
        "string",
        "bytes",
    ]
)


class Word(str):
    """A value that stands without quotes: a number, true and false, or the name of an enum's value."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Option:
    """`name = value`; `custom` names stand in parentheses. A value that is an option is a path: `(a).b = 1`."""

    name: str
    value: Value
    custom: bool = False


Value: TypeAlias = "str | Word | list[Value] | dict[str, Value] | Option"
Range: TypeAlias = tuple[int, int]
"""First and last number, both included; `LARGEST_TAG` is "max"."""


@dataclass(frozen=True, slots=True)
class Field:
    """`label` is optional, required, repeated or "" where none is written."""

    name: str
    type: str
    tag: int
    label: str = ""
    default: str | None = None
    json_name: str | None = None
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    tag: int
    label: str = ""
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class OneOf:
    name: str
    fields: tuple[Field, ...] = ()
    groups: tuple[Group, ...] = ()
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Reserved:
    """One `reserved` statement: numbers, ranges and names as they are listed."""

    values: tuple[int | Range | str, ...]


@dataclass(frozen=True, slots=True)
class Extensions:
    values: tuple[int | Range, ...]
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Extend:
    name: str
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class EnumValue:
    name: str
    tag: int
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Enum:
    """`visibility` is export, local or "" where none is written (editions, from 2024)."""

    name: str
    values: tuple[EnumValue, ...] = ()
    options: tuple[Option, ...] = ()
    reserved: tuple[Reserved, ...] = ()
    visibility: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """Compared by identity: a file may hold two that look alike."""

    name: str
    fields: tuple[Field, ...] = ()
    oneofs: tuple[OneOf, ...] = ()
    groups: tuple[Group, ...] = ()
    types: tuple[Type, ...] = ()
    options: tuple[Option, ...] = ()
    reserved: tuple[Reserved, ...] = ()
    extensions: tuple[Extensions, ...] = ()
    extends: tuple[Extend, ...] = ()
    visibility: str = ""

    def is_map_entry(self) -> bool:
        return any(option.name == "map_entry" and option.value == "true" for option in self.options)

    def map_type(self) -> str | None:
        """`map<key, value>` where this is the message of a map's entries, as descriptors have them."""
        kinds = {field.name: field.type for field in self.fields}
        if not self.is_map_entry() or "key" not in kinds or "value" not in kinds:
            return None
        return f"map<{kinds['key']}, {kinds['value']}>"


Type: TypeAlias = Message | Enum


@dataclass(frozen=True, slots=True)
class Rpc:
    name: str
    request: str
    response: str
    request_streams: bool = False
    response_streams: bool = False
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    rpcs: tuple[Rpc, ...] = ()
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """`syntax` is proto2, proto3 or "" where none is written; `edition` is "" or for instance 2023."""

    syntax: str = ""
    edition: str = ""
    package: str = ""
    imports: tuple[str, ...] = ()
    public_imports: tuple[str, ...] = ()
    weak_imports: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    types: tuple[Type, ...] = ()
    extends: tuple[Extend, ...] = ()
    services: tuple[Service, ...] = ()
    option_imports: tuple[str, ...] = ()


def map_types(name: str) -> tuple[str, str] | None:
    """Key and value type of `map<key, value>`, else None."""
    if not name.startswith("map<") or not name.endswith(">"):
        return None
    key, _, value = name[4:-1].partition(",")
    return key.strip(), value.strip()
