"""How one Protobuf schema differs from another, in Confluent's order.

Fields are compared by number over the whole message, whatever oneof they are in. Messages of other files are compared where a field uses them,
unless both sides refer to the same version.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.hashorder import integers_of, set_of
from headrace.registry.schemas.limits import Budget
from headrace.registry.schemas.model import Difference
from headrace.registry.schemas.protobuf import kinds
from headrace.registry.schemas.protobuf.elements import SCALARS, Enum, Field, File, Message, OneOf, Type, map_types
from headrace.registry.schemas.protobuf.names import NamedType, Names, Scope, package_scope

_GROUPS = {
    "general": "int32 int64 uint32 uint64 bool",
    "signed": "sint32 sint64",
    "text": "string bytes",
    "fixed32": "fixed32 sfixed32",
    "fixed64": "fixed64 sfixed64",
    "float": "float",
    "double": "double",
}
_SCALAR_GROUP = {name: group for group, names in _GROUPS.items() for name in names.split()}
"""Scalars that read one another's bytes; an enum is a general number."""

_STEPS = 60_000
"""Fields and messages compared; about half a second."""

_MESSAGES_WITHIN = 100
"""Levels of messages of other files; a comparison calls itself for each."""


def differences(old: tuple[File, Names], new: tuple[File, Names]) -> list[Difference]:
    """Of the new schema as a reader from the old one as the writer."""
    run = _Run(old[1], new[1], Budget("comparing it with another version", _STEPS))
    place = _Place((), package_scope(old[0].package), package_scope(new[0].package))
    found: Found = []
    if old[0].package != new[0].package:
        found.append(("PACKAGE_CHANGED", ()))
    found += run.types(old[0].types, new[0].types, place)
    return [kinds.difference(kind, f"#/{'/'.join(path)}") for kind, path in found]


Found = list[tuple[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a comparison is: the path that differences are told with, and what names mean there on either side."""

    path: tuple[str, ...]
    old: Scope
    new: Scope

    def inside(self, name: str) -> _Place:
        return _Place((*self.path, name), (*self.old, name), (*self.new, name))


class _Run:
    """One comparison of two schemas; `_open` are the old messages under way, where recursion ends."""

    def __init__(self, old: Names, new: Names, budget: Budget) -> None:
        self._old = old
        self._new = new
        self._budget = budget
        self._open: set[int] = set()
        self._kinds_known: dict[tuple[int, str, Scope], _Kind] = {}
        self._members_known: dict[int, _Members] = {}

    def types(self, old: Iterable[Type], new: Iterable[Type], place: _Place) -> Found:
        old_messages, old_enums = _by_name(old)
        new_messages, new_enums = _by_name(new)
        found: Found = []
        for name in set_of(list(old_messages), new_messages):
            found += self._messages_named(name, old_messages, new_messages, place.inside(name))
        for name in set_of(list(old_enums), new_enums):
            path = (*place.path, name)
            if name not in new_enums:
                found.append(("ENUM_REMOVED", path))
            elif name not in old_enums:
                found.append(("ENUM_ADDED", path))
            else:
                found += self._enums(old_enums[name], new_enums[name], path)
        return found

    def _messages_named(
        self, name: str, old: dict[str, tuple[int, Message]], new: dict[str, tuple[int, Message]], place: _Place
    ) -> Found:
        self._budget.spend()
        if name not in new:
            return [] if old[name][1].map_type() else [("MESSAGE_REMOVED", place.path)]
        if name not in old:
            return [] if new[name][1].map_type() else [("MESSAGE_ADDED", place.path)]
        (old_index, old_message), (new_index, new_message) = old[name], new[name]
        found = self._messages(old_message, new_message, place)
        return found if old_index == new_index else [*found, ("MESSAGE_MOVED", place.path)]

    def _enums(self, old: Enum, new: Enum, path: tuple[str, ...]) -> Found:
        before = {value.tag: value.name for value in old.values}
        after = {value.tag: value.name for value in new.values}
        self._budget.spend(len(before) + len(after))
        found: Found = []
        for tag in integers_of(list(before), after):
            if tag not in after:
                found.append(("ENUM_CONST_REMOVED", (*path, str(tag))))
            elif tag not in before:
                found.append(("ENUM_CONST_ADDED", (*path, str(tag))))
            elif before[tag] != after[tag]:
                found.append(("ENUM_CONST_CHANGED", (*path, str(tag))))
        return found

    def _messages(self, old: Message, new: Message, place: _Place) -> Found:
        found: Found = []
        if id(old) not in self._open:
            if len(self._open) >= _MESSAGES_WITHIN:
                raise InvalidSchema(f"Schema too complex: more than {_MESSAGES_WITHIN} messages within one another")
            self._open.add(id(old))
            found += self._members(self._of(old), self._of(new), place)
            found += self.types(old.types, new.types, place)
            self._open.discard(id(old))
            return found
        return self.types(old.types, new.types, place)

    def _of(self, message: Message) -> _Members:
        known = self._members_known.get(id(message))
        if known is None:
            known = self._members_known[id(message)] = _Members(message)
        return known

    def _kind(self, name: str, names: Names, scope: Scope) -> _Kind:
        key = (id(names), name, scope)
        known = self._kinds_known.get(key)
        if known is None:
            known = self._kinds_known[key] = _Kind.of(name, names, scope)
        return known

    def _members(self, old: _Members, new: _Members, place: _Place) -> Found:
        found = [
            *_newly_exclusive(old, new, place.path),
            *_oneofs_added_or_removed(old, new, place.path),
        ]
        deleted = {
            name
            for name, oneof in old.oneofs.items()
            if name not in new.oneofs and not any(field.tag in new.fields for field in oneof.fields)
        }
        for tag in sorted({*old.fields, *new.fields}):
            self._budget.spend()
            before, after = old.fields.get(tag), new.fields.get(tag)
            old_oneof, new_oneof = old.oneof_of.get(tag), new.oneof_of.get(tag)
            if before is None:
                assert after is not None
                kind = "REQUIRED_FIELD_ADDED" if after.label == "required" else "FIELD_ADDED"
                found.append(_at(place.path, new_oneof, tag, kind if new_oneof is None else "ONEOF_FIELD_ADDED"))
            elif after is None:
                kind = "REQUIRED_FIELD_REMOVED" if before.label == "required" else "FIELD_REMOVED"
                if old_oneof is None:
                    found.append(_at(place.path, None, tag, kind))
                elif old_oneof not in deleted:
                    found.append(_at(place.path, old_oneof, tag, "ONEOF_FIELD_REMOVED"))
            else:
                if old_oneof is not None and new_oneof is None:
                    found.append(_at(place.path, None, tag, "ONEOF_FIELD_MOVED_TO_TOP_LEVEL"))
                _, path = _at(place.path, new_oneof, tag, "")
                found += self._fields(before, after, _Place(path, place.old, place.new))
        return found

    def _fields(self, old: Field, new: Field, place: _Place) -> Found:
        found: Found = [] if old.name == new.name else [("FIELD_NAME_CHANGED", place.path)]
        return found + self._kinds(old.type, new.type, (old.label, new.label), place)

    def _kinds(self, old: str, new: str, labels: tuple[str, str], place: _Place) -> Found:
        self._budget.spend()
        old_kind, new_kind = self._kind(old, self._old, place.old), self._kind(new, self._new, place.new)
        if old_kind.what != new_kind.what:
            return [("FIELD_KIND_CHANGED", place.path)]
        if old_kind.entry and new_kind.entry:
            keys = self._kinds(old_kind.entry[0], new_kind.entry[0], ("", ""), place)
            return keys + self._kinds(old_kind.entry[1], new_kind.entry[1], ("", ""), place)
        if old_kind.what == "scalar":
            return _scalars(old_kind.group, new_kind.group, labels, place.path)
        return self._message_types(old_kind, new_kind, place)

    def _message_types(self, old: _Kind, new: _Kind, place: _Place) -> Found:
        if old.type is None or new.type is None:
            return [] if old.name == new.name else [("FIELD_NAMED_TYPE_CHANGED", place.path)]
        local = old.type.local_name
        if local != new.type.local_name:
            return [("FIELD_NAMED_TYPE_CHANGED", place.path)]
        if old.type.origin is not None and old.type.origin == new.type.origin:
            return []
        parts = tuple(local.split("."))
        inside = _Place(parts, (*package_scope(old.type.package), *parts), (*package_scope(new.type.package), *parts))
        assert isinstance(old.type.element, Message) and isinstance(new.type.element, Message)
        found = self._messages(old.type.element, new.type.element, inside)
        if any(kinds.breaks(kind) for kind, _ in found):
            found.append(("FIELD_NAMED_TYPE_CHANGED", place.path))
        return found


class _Members:
    """The fields of a message by number, and the oneofs that they are in."""

    def __init__(self, message: Message) -> None:
        self.fields: dict[int, Field] = {field.tag: field for field in message.fields}
        self.oneof_of: dict[int, str] = {}
        self.oneofs: dict[str, OneOf] = {}
        for oneof in message.oneofs:
            self.oneofs[oneof.name] = oneof
            for field in oneof.fields:
                self.fields[field.tag] = field
                self.oneof_of[field.tag] = oneof.name


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a field's type is at its place: a scalar of a group, a map of two types or a message."""

    what: str
    name: str
    group: str = ""
    entry: tuple[str, str] | None = None
    type: NamedType | None = None

    @classmethod
    def of(cls, name: str, names: Names, scope: Scope) -> _Kind:
        if name in SCALARS:
            return cls("scalar", name, group=_SCALAR_GROUP[name])
        entry = map_types(name)
        if entry is None:
            found = names.type(name, scope)
            if found is None or not (found.is_enum or found.map_type):
                return cls("message", name, type=found)
            if found.is_enum:
                return cls("scalar", name, group="general")
            entry = map_types(found.map_type or "")
        return cls("map", name, entry=entry)


def _by_name(types: Iterable[Type]) -> tuple[dict[str, tuple[int, Message]], dict[str, Enum]]:
    messages: dict[str, tuple[int, Message]] = {}
    enums: dict[str, Enum] = {}
    for kind in types:
        if isinstance(kind, Enum):
            enums[kind.name] = kind
        else:
            messages[kind.name] = (len(messages), kind)
    return messages, enums


def _at(path: tuple[str, ...], oneof: str | None, tag: int, kind: str) -> tuple[str, tuple[str, ...]]:
    return kind, (*path, str(tag)) if oneof is None else (*path, oneof, str(tag))


def _newly_exclusive(old: _Members, new: _Members, path: tuple[str, ...]) -> Found:
    """Oneofs whose fields could be set together before."""
    found: Found = []
    for oneof in new.oneofs.values():
        tags = [field.tag for field in oneof.fields]
        moved_in = [tag for tag in tags if tag in old.fields and tag not in old.oneof_of]
        from_oneofs = {old.oneof_of[tag] for tag in tags if tag in old.oneof_of}
        if len(moved_in) + len(from_oneofs) > 1:
            several = len(moved_in) > 1
            kind = "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if several else "FIELD_MOVED_TO_EXISTING_ONEOF"
            found.append((kind, (*path, oneof.name)))
    return found


def _oneofs_added_or_removed(old: _Members, new: _Members, path: tuple[str, ...]) -> Found:
    return [
        ("ONEOF_ADDED" if name in new.oneofs else "ONEOF_REMOVED", (*path, name))
        for name in sorted(old.oneofs.keys() ^ new.oneofs.keys())
    ]


def _scalars(old: str, new: str, labels: tuple[str, str], path: tuple[str, ...]) -> Found:
    if old != new:
        return [("FIELD_SCALAR_KIND_CHANGED", path)]
    if all(labels) and labels[0] != labels[1]:
        kind = "FIELD_STRING_OR_BYTES_LABEL_CHANGED" if old == "text" else "FIELD_NUMERIC_LABEL_CHANGED"
        return [(kind, path)]
    return []
