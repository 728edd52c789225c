"""Schemas of the state, parsed: references followed, results kept for the next time. Safe for any thread; the state that is asked is the caller's."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from headrace.registry import subjects
from headrace.registry.errors import invalid_schema
from headrace.registry.model import JsonObject, StoredSchema
from headrace.registry.schemas import InvalidSchema, ParsedSchema, Reference, UnknownSchemaType, parse
from headrace.registry.state import State

MAX_REFERENCES = 1_000
MAX_REFERENCED_CHARS = 16 << 20
CACHE_CHARS = 64 << 20
_Key = tuple[str, str, tuple[Reference, ...], tuple[tuple[str, str], ...], bool]


class Parser:
    """Parses within bounds and remembers what it parsed, up to a number of characters of text."""

    def __init__(self, cache_chars: int = CACHE_CHARS) -> None:
        self._cache: OrderedDict[_Key, tuple[ParsedSchema, int]] = OrderedDict()
        self._room = cache_chars
        self._lock = threading.Lock()

    def parse(
        self,
        schema_type: str,
        text: str,
        references: tuple[Reference, ...],
        resolved: dict[str, str],
        *,
        metadata: JsonObject | None = None,
        rule_set: JsonObject | None = None,
        version: int | None = None,
        new: bool = False,
    ) -> ParsedSchema:
        """A parsed schema; what is wrong with it becomes 42201 in Confluent's words."""
        key = (schema_type, text, references, tuple(resolved.items()), new)
        found = self._cached(key)
        if found is None:
            try:
                found = parse(schema_type, text, references, resolved, new=new)
            except UnknownSchemaType as error:
                raise invalid_schema(str(error)) from None
            except InvalidSchema as error:
                raise invalid_schema(f"Invalid schema of type {schema_type}, details: {error}") from None
            self._remember(key, found)
        return found.with_source(replace(found.source, metadata=metadata, rule_set=rule_set, version=version))

    def known(
        self,
        schema_type: str,
        text: str,
        references: tuple[Reference, ...],
        resolved: dict[str, str],
        *,
        new: bool = False,
    ) -> ParsedSchema | None:
        """The schema as it was parsed before, without its metadata; None when it would have to be parsed now."""
        return self._cached((schema_type, text, references, tuple(resolved.items()), new))

    def stored(self, state: State, schema: StoredSchema) -> ParsedSchema:
        """A version that is kept, parsed."""
        return self.parse(
            schema.schema_type,
            schema.text,
            schema.references,
            resolve(state, schema.subject, schema.references),
            metadata=schema.metadata,
            rule_set=schema.rule_set,
            version=schema.version,
        )

    def _cached(self, key: _Key) -> ParsedSchema | None:
        with self._lock:
            found = self._cache.get(key)
            if found is None:
                return None
            self._cache.move_to_end(key)
            return found[0]

    def _remember(self, key: _Key, schema: ParsedSchema) -> None:
        size = len(key[1]) + sum(len(text) for _, text in key[3]) + 1_000
        with self._lock:
            if key in self._cache:
                return
            self._cache[key] = (schema, size)
            self._room -= size
            while self._room < 0:
                _, (_, freed) = self._cache.popitem(last=False)
                self._room += freed


def resolve(state: State, subject: str, references: Sequence[Reference]) -> dict[str, str]:
    """The texts of all references of a schema under `subject`, also of those of references, what others need first."""
    found: dict[str, str] = {}
    _collect(state, subject, references, found, set())
    return found


def _collect(
    state: State, subject: str, references: Sequence[Reference], found: dict[str, str], underway: set[str]
) -> None:
    for reference in references:
        if reference.name in found or reference.name in underway:
            continue
        target = subjects.beside(subject, reference.subject)
        schema = state.version(target, reference.version, deleted=True)
        if schema is None:
            raise invalid_schema(
                f'No schema reference found for subject "{target}" and version {reference.version} '
                f"(reference {reference.name!r}): register it first"
            )
        underway.add(reference.name)
        if len(underway) > MAX_REFERENCES:
            raise invalid_schema(f"more than {MAX_REFERENCES} references, counting those of references")
        _collect(state, target, schema.references, found, underway)
        found[reference.name] = schema.text
        if sum(map(len, found.values())) > MAX_REFERENCED_CHARS:
            raise invalid_schema(f"references hold more than {MAX_REFERENCED_CHARS} characters")
