"""The vocabulary of declarations: one function per Kafka type, each giving the description of one field.

A field says in which versions it exists, where it may be null, its default and, when it is a tagged field, its tag. These
descriptions are all that the compilers in `decoder` and `encoder` know about a message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.wire.schema import Struct

Buffer = bytes | bytearray | memoryview
Records = bytes | bytearray | memoryview | list[Buffer] | list[memoryview] | list[bytes] | None

ZERO_UUID = bytes(16)
HIGHEST = 32767


@dataclass(frozen=True, slots=True)
class Versions:
    """An inclusive range of versions, written "3", "0-12", "7+" or "none"."""

    lowest: int
    highest: int

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    @staticmethod
    @cache
    def parse(text: str) -> Versions:
        if text == "none":
            return Versions(0, -1)
        match = re.fullmatch(r"(\d+)(\+|-(\d+))?", text)
        if match is None:
            raise ValueError(f"not a range of versions: {text!r}")
        lowest = int(match[1])
        highest = lowest if match[2] is None else HIGHEST if match[2] == "+" else int(match[3])
        return Versions(lowest, highest)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct: everything its declaration says except the name."""

    kind: str
    versions: Versions
    nullable: Versions
    default: Any
    tag: int | None
    element: Field | None = None
    struct: type[Struct] | None = None

    def tagged_in(self, version: int) -> bool:
        return self.tag is not None and version in self.versions


# The vocabulary returns Any so that `acks: int = int16()` type-checks: the annotation is for readers and mypy, the
# description is for the compilers, and the metaclass in `schema` takes it out of the class again.
def _field(kind: str, default: Any, versions: str, nullable: str, tag: int | None, **more: Any) -> Any:
    return Field(kind, Versions.parse(versions), Versions.parse(nullable), default, tag, **more)


def boolean(default: bool = False, *, versions: str = "0+", tag: int | None = None) -> Any:
    return _field("bool", default, versions, "none", tag)


def int8(default: int = 0, *, versions: str = "0+", tag: int | None = None) -> Any:
    return _field("int8", default, versions, "none", tag)


def int16(default: int = 0, *, versions: str = "0+", tag: int | None = None) -> Any:
    return _field("int16", default, versions, "none", tag)


def uint16(default: int = 0, *, versions: str = "0+", tag: int | None = None) -> Any:
    return _field("uint16", default, versions, "none", tag)


def int32(default: int = 0, *, versions: str = "0+", tag: int | None = None) -> Any:
    return _field("int32", default, versions, "none", tag)


def uint32(default: int = 0, *, versions: str = "0+", tag: int | None = None) -> Any:
    return _field("uint32", default, versions, "none", tag)


def int64(default: int = 0, *, versions: str = "0+", tag: int | None = None) -> Any:
    return _field("int64", default, versions, "none", tag)


def float64(default: float = 0.0, *, versions: str = "0+", tag: int | None = None) -> Any:
    return _field("float64", default, versions, "none", tag)


def uuid(default: bytes = ZERO_UUID, *, versions: str = "0+", tag: int | None = None) -> Any:
    return _field("uuid", default, versions, "none", tag)


def string(default: str | None = "", *, versions: str = "0+", nullable: str = "none", tag: int | None = None) -> Any:
    return _field("string", default, versions, nullable, tag)


def bytes_(default: bytes | None = b"", *, versions: str = "0+", nullable: str = "none", tag: int | None = None) -> Any:
    return _field("bytes", default, versions, nullable, tag)


def records(*, versions: str = "0+", nullable: str = "none") -> Any:
    """Record batches, kept as a slice of the input: they are neither copied nor looked at."""
    return _field("records", None, versions, nullable, None)


def struct(
    of: type[Struct], default: Any = (), *, versions: str = "0+", nullable: str = "none", tag: int | None = None
) -> Any:
    """One nested struct. Its default is a struct of defaults, or None if that is what is passed."""
    return _field("struct", default, versions, nullable, tag, struct=of)


def array(of: Any, default: Any = (), *, versions: str = "0+", nullable: str = "none", tag: int | None = None) -> Any:
    """A list of structs (`array(Topic)`) or of simple values (`array(int32())`), empty or None by default."""
    element = of if isinstance(of, Field) else struct(of)
    return _field("array", default, versions, nullable, tag, element=element)
