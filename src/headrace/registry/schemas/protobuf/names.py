"""What the names in a .proto file mean: every type and extension that it can see, and how a relative name is looked up."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headrace.registry.schemas.protobuf.elements import Enum, Extend, Field, File, Message, Type

Origin = tuple[str, int] | None
"""Subject and version of the file that declares a type; None where the file came along with another."""

OWN: Origin = ("", -1)
"""The schema's own file."""

Scope = tuple[str, ...]
"""The package's parts and the messages around the place where a name is used."""


@dataclass(frozen=True, slots=True)
class NamedType:
    """A message or enum under its full name, without a leading dot."""

    full_name: str
    package: str
    element: Type
    origin: Origin

    @property
    def local_name(self) -> str:
        prefix = f"{self.package}."
        return self.full_name.removeprefix(prefix) if self.package else self.full_name

    @property
    def is_enum(self) -> bool:
        return isinstance(self.element, Enum)

    @property
    def map_type(self) -> str | None:
        return self.element.map_type() if isinstance(self.element, Message) else None


class Names:
    """The types and extensions of some files, those of later files over those of earlier ones and over `under`."""

    def __init__(self, files: Iterable[tuple[Origin, File]], under: Names | None = None) -> None:
        own_types: dict[str, NamedType] = {}
        own_extensions: dict[str, tuple[Field, Scope]] = {}
        self._types: Mapping[str, NamedType] = ChainMap(own_types, under._types if under else {})  # type: ignore[arg-type]
        self._extensions: Mapping[str, tuple[Field, Scope]] = ChainMap(
            own_extensions, under._extensions if under else {}
        )  # type: ignore[arg-type]
        for origin, file in files:
            collector = _Collector(origin, file.package, own_types, own_extensions)
            collector.extends(file.extends, package_scope(file.package))
            collector.types(file.types, package_scope(file.package))

    def type(self, name: str, scope: Scope) -> NamedType | None:
        """The type that `name` means at a place."""
        full = _look_up(self._types, name, scope)
        return None if full is None else self._types[full]

    def extension(self, name: str, scope: Scope) -> str | None:
        """The full name of the extension that an option names at a place."""
        return _look_up(self._extensions, name, scope)

    def extension_field(self, full_name: str) -> tuple[Field, Scope] | None:
        """The extension and where it is declared."""
        return self._extensions.get(full_name)


@dataclass(frozen=True, slots=True)
class _Collector:
    origin: Origin
    package: str
    found_types: dict[str, NamedType]
    found_extensions: dict[str, tuple[Field, Scope]]

    def types(self, types: Iterable[Type], scope: Scope) -> None:
        for element in types:
            inner = (*scope, element.name)
            full_name = ".".join(inner)
            self.found_types[full_name] = NamedType(full_name, self.package, element, self.origin)
            if isinstance(element, Message):
                self.extends(element.extends, inner)
                self.types(element.types, inner)
                for group in (*element.groups, *(group for oneof in element.oneofs for group in oneof.groups)):
                    self.types([Message(group.name, group.fields)], inner)

    def extends(self, extends: Iterable[Extend], scope: Scope) -> None:
        for extend in extends:
            for field in extend.fields:
                self.found_extensions[".".join((*scope, field.name))] = (field, scope)


def package_scope(package: str) -> Scope:
    return tuple(package.split(".")) if package else ()


def _look_up(known: Mapping[str, object], name: str, scope: Scope) -> str | None:
    if name.startswith("."):
        return name[1:] if name[1:] in known else None
    for length in range(len(scope), -1, -1):
        full = ".".join((*scope[:length], name))
        if full in known:
            return full
    return None
