"""Everything the registry knows, in memory: built by `apply` from the records of `_schemas` in their order, and by nothing else. Pure.

A `State` has one owner. A `SharedState` may be asked by any thread: each question is answered at one moment, and what it answers never changes.
"""

from __future__ import annotations

import bisect
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from headrace.registry import subjects
from headrace.registry.model import Association, AssociationKey, JsonObject, Mode, StoredSchema
from headrace.registry.records import (
    AssociationRecord,
    ClearSubjectRecord,
    ConfigRecord,
    ContextRecord,
    DeleteSubjectRecord,
    ModeRecord,
    NoopRecord,
    Record,
    SchemaRecord,
)


@dataclass(slots=True)
class Versions:
    """The versions of one subject, ascending."""

    numbers: list[int] = field(default_factory=list)
    by_number: dict[int, StoredSchema] = field(default_factory=dict)

    def put(self, schema: StoredSchema) -> None:
        if schema.version not in self.by_number:
            bisect.insort(self.numbers, schema.version)
        self.by_number[schema.version] = schema

    def remove(self, version: int) -> None:
        del self.by_number[version]
        self.numbers.remove(version)

    def newest_first(self) -> Iterator[StoredSchema]:
        return (self.by_number[number] for number in reversed(self.numbers))

    def copy(self) -> Versions:
        return Versions(list(self.numbers), dict(self.by_number))


@dataclass(slots=True)
class Context:
    """What is numbered on its own in each context: ids, and which of them a digest has."""

    by_id: dict[int, dict[str, list[int]]] = field(default_factory=dict)
    """id → subject → versions with it, ascending."""
    by_digest: dict[bytes, int] = field(default_factory=dict)
    max_id: int = 0

    def copy(self) -> Context:
        by_id = {id_: {name: list(versions) for name, versions in uses.items()} for id_, uses in self.by_id.items()}
        return Context(by_id, dict(self.by_digest), self.max_id)


class State:
    """Subjects, settings, modes, contexts, associations, and the indexes that answer requests."""

    def __init__(self) -> None:
        self._subjects: dict[str, Versions] = {}
        self._contexts: dict[str, Context] = {}
        self._named_contexts: set[str] = set()
        self._configs: dict[str | None, JsonObject] = {}
        self._modes: dict[str | None, Mode] = {}
        self._referrers: dict[tuple[str, int], set[tuple[str, int]]] = {}
        self._associations: dict[AssociationKey, Association] = {}
        self.complaints: dict[tuple[str, int], str] = {}
        """Schemas in the topic that are left alone, by subject and version, and why."""

    def copy(self) -> State:
        """An independent state with the same content."""
        twin = State()
        twin._subjects = {name: versions.copy() for name, versions in self._subjects.items()}
        twin._contexts = {name: context.copy() for name, context in self._contexts.items()}
        twin._named_contexts = set(self._named_contexts)
        twin._configs = dict(self._configs)
        twin._modes = dict(self._modes)
        twin._referrers = {key: set(uses) for key, uses in self._referrers.items()}
        twin._associations = dict(self._associations)
        twin.complaints = dict(self.complaints)
        return twin

    # Changes

    def apply(self, record: Record) -> None:
        """Take the next record of the topic."""
        match record:
            case SchemaRecord(subject, version, None):
                self._forget(subject, version)
            case SchemaRecord(_, _, StoredSchema() as schema):
                self._keep(schema)
            case ConfigRecord(subject, config):
                _put(self._configs, subject, config)
            case ModeRecord(subject, mode):
                _put(self._modes, subject, mode)
            case DeleteSubjectRecord(subject, version):
                self._soft_delete(subject, version)
            case ClearSubjectRecord(scope, present):
                self._clear(scope, present)
            case ContextRecord(context, present):
                (self._named_contexts.add if present else self._named_contexts.discard)(context)
            case AssociationRecord(key, association):
                _put(self._associations, key, association)
            case NoopRecord():
                pass

    def _keep(self, schema: StoredSchema) -> None:
        context = self._context(schema.subject)
        other = self._other_use(context, schema)
        if other is not None and other.text != schema.text:
            self.complaints[_key(schema)] = f"id {schema.id} already stands for another schema"
            return
        self.complaints.pop(_key(schema), None)
        self._forget(schema.subject, schema.version)
        self._subjects.setdefault(schema.subject, Versions()).put(schema)
        bisect.insort(context.by_id.setdefault(schema.id, {}).setdefault(schema.subject, []), schema.version)
        context.by_digest[schema.digest] = schema.id
        context.max_id = max(context.max_id, schema.id)
        for reference in schema.references:
            target = (subjects.beside(schema.subject, reference.subject), reference.version)
            self._referrers.setdefault(target, set()).add(_key(schema))

    def _other_use(self, context: Context, schema: StoredSchema) -> StoredSchema | None:
        """Another version with the same id. One is enough: they all have the same text."""
        for name, numbers in context.by_id.get(schema.id, {}).items():
            for number in numbers:
                if (name, number) != _key(schema):
                    return self._subjects[name].by_number[number]
        return None

    def _forget(self, subject: str, version: int) -> None:
        self.complaints.pop((subject, version), None)
        versions = self._subjects.get(subject)
        schema = versions.by_number.get(version) if versions else None
        if versions is None or schema is None:
            return
        versions.remove(version)
        if not versions.numbers:
            del self._subjects[subject]
        self._forget_id(schema)
        for reference in schema.references:
            target = (subjects.beside(subject, reference.subject), reference.version)
            uses = self._referrers.get(target, set())
            uses.discard((subject, version))
            if not uses:
                self._referrers.pop(target, None)

    def _forget_id(self, schema: StoredSchema) -> None:
        context = self._context(schema.subject)
        uses = context.by_id[schema.id]
        uses[schema.subject].remove(schema.version)
        if not uses[schema.subject]:
            del uses[schema.subject]
        if not uses:
            del context.by_id[schema.id]
            if context.by_digest.get(schema.digest) == schema.id:
                del context.by_digest[schema.digest]

    def _soft_delete(self, subject: str, through: int | None) -> None:
        for schema in self.versions(subject, deleted=False):
            if through is not None and schema.version <= through:
                self._subjects[subject].by_number[schema.version] = schema.as_deleted()

    def _clear(self, scope: str | None, present: bool) -> None:
        if not present:
            return
        for name in [name for name in self._subjects if subjects.covers(scope, name)]:
            for schema in [each for each in self.versions(name) if each.deleted]:
                self._forget(name, schema.version)

    def _context(self, subject: str) -> Context:
        return self._contexts.setdefault(subjects.context_of(subject), Context())

    # Questions

    def versions(self, subject: str, *, deleted: bool = True) -> list[StoredSchema]:
        """All versions of a subject, ascending."""
        versions = self._subjects.get(subject)
        if versions is None:
            return []
        found = (versions.by_number[number] for number in versions.numbers)
        return list(found) if deleted else [each for each in found if not each.deleted]

    def version(self, subject: str, version: int, *, deleted: bool = False) -> StoredSchema | None:
        """One version, or with -1 the latest that is not deleted."""
        if version == -1:
            return self.latest(subject)
        versions = self._subjects.get(subject)
        schema = versions.by_number.get(version) if versions else None
        return schema if schema is not None and (deleted or not schema.deleted) else None

    def latest(self, subject: str) -> StoredSchema | None:
        versions = self._subjects.get(subject)
        if versions is None:
            return None
        return next((each for each in versions.newest_first() if not each.deleted), None)

    def has_subjects(self, scope: str | None, *, deleted: bool) -> bool:
        """Whether a subject, or anything in a context, is there."""
        if scope in self._subjects:
            return deleted or self.latest(scope) is not None
        if not subjects.is_context(scope):
            return False
        return any(subjects.covers(scope, name) and (deleted or self.latest(name)) for name in self._subjects)

    def counts(self) -> tuple[int, int]:
        """Subjects and versions, also soft deleted ones."""
        return len(self._subjects), sum(len(versions.numbers) for versions in self._subjects.values())

    def subject_names(self) -> list[str]:
        """All subjects, also those of which everything is soft deleted, sorted."""
        return sorted(self._subjects)

    def by_id(self, id_: int, context: str, subject: str | None = None) -> StoredSchema | None:
        """A schema with this id in a context; with `subject`, that of the subject."""
        uses = self._contexts[context].by_id.get(id_) if context in self._contexts else None
        if not uses:
            return None
        name = next(iter(uses)) if subject is None else subject
        numbers = uses.get(name)
        return self._subjects[name].by_number[numbers[-1]] if numbers else None

    def uses_of_id(self, id_: int, context: str) -> list[StoredSchema]:
        """Every version in a context that has this id."""
        found = self._contexts.get(context, Context()).by_id.get(id_, {})
        return [self._subjects[name].by_number[number] for name in sorted(found) for number in found[name]]

    def id_of(self, digest: bytes, context: str) -> int | None:
        found = self._contexts.get(context)
        return found.by_digest.get(digest) if found else None

    def max_id(self, context: str) -> int:
        found = self._contexts.get(context)
        return found.max_id if found else 0

    def next_id(self, context: str) -> int:
        return self.max_id(context) + 1

    def referrers(self, subject: str, version: int, *, deleted: bool) -> list[StoredSchema]:
        """The versions that refer to this one."""
        found = (self.version(*key, deleted=deleted) for key in self._referrers.get((subject, version), ()))
        return sorted((each for each in found if each is not None), key=lambda each: (each.id, each.subject))

    def contexts(self) -> list[str]:
        return [subjects.DEFAULT_CONTEXT, *sorted(self._named_contexts)]

    def has_context(self, context: str) -> bool:
        return context == subjects.DEFAULT_CONTEXT or context in self._named_contexts

    def config(self, subject: str | None) -> JsonObject | None:
        """What was set for exactly this subject or context, or (None) at the top."""
        return self._configs.get(subject)

    def config_in_scope(self, subject: str | None) -> JsonObject:
        """What counts for a subject: its own settings, else its context's, else the top ones; some fall through one by one."""
        own = self._configs.get(subject)
        if own is None:
            return self._configs.get(_parent(subject)) or self._configs.get(_EVERYWHERE) or {}
        top = {} if subject is None else self._configs.get(None) or {}
        return {**{name: top[name] for name in _INHERITED if name in top}, **own}

    def mode(self, subject: str | None) -> Mode | None:
        return self._modes.get(subject)

    def mode_in_scope(self, subject: str | None) -> Mode:
        for scope in (subject, _parent(subject), _EVERYWHERE):
            if scope in self._modes:
                return self._modes[scope]
        return Mode.READWRITE

    def modes_under(self, context: str) -> list[str]:
        """The subjects of a context that have a mode of their own."""
        return sorted(
            name for name in self._modes if name and subjects.split(name)[1] and subjects.context_of(name) == context
        )

    def aliases(self) -> dict[str, list[str]]:
        """subject → the subjects that are other names for it."""
        found: dict[str, list[str]] = {}
        for name, config in sorted(self._configs.items(), key=lambda each: each[0] or ""):
            if name is not None and config.get("alias"):
                found.setdefault(subjects.beside(name, config["alias"]), []).append(name)
        return found

    def associations(self) -> list[Association]:
        return sorted(self._associations.values(), key=lambda each: (each.key.subject, each.key.association_type))

    def association(self, key: AssociationKey) -> Association | None:
        return self._associations.get(key)


class SharedState(State):
    """A state that one thread changes while others ask. A change of several records is seen whole or not at all."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()

    def apply_all(self, records: Iterable[Record]) -> None:
        with self._lock:
            for record in records:
                super().apply(record)


def _guarded(name: str) -> Callable[..., Any]:
    plain = getattr(State, name)

    @functools.wraps(plain)
    def call(self: SharedState, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            return plain(self, *arguments, **options)

    return call


for _name, _value in list(vars(State).items()):
    if not _name.startswith("_") and callable(_value):
        setattr(SharedState, _name, _guarded(_name))

_EVERYWHERE = subjects.join(subjects.GLOBAL_CONTEXT, "")
_INHERITED = (
    "normalize",
    "validateFields",
    "validateNewSchemas",
    "validateRules",
    "compatibilityPolicy",
    "compatibilityGroup",
)


def _parent(subject: str | None) -> str | None:
    """Where a subject's settings come from when it has none: its context, which for the default one is the top."""
    return (subjects.context_prefix(subject) or None) if subject is not None else None


Key = TypeVar("Key")
Value = TypeVar("Value")


def _put(values: dict[Key, Value], key: Key, value: Value | None) -> None:
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value


def _key(schema: StoredSchema) -> tuple[str, int]:
    return schema.subject, schema.version
