"""Finding what is kept: by prefix, in any context, or by a schema that somebody sends. Asks the state, changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from headrace.registry import subjects
from headrace.registry.candidate import candidate, filled_in, same
from headrace.registry.errors import RegistryError
from headrace.registry.model import StoredSchema
from headrace.registry.parsing import resolve
from headrace.registry.registration import RECENT
from headrace.registry.requests import SchemaRequest
from headrace.registry.schemas import fingerprint
from headrace.registry.state import State

if TYPE_CHECKING:
    from headrace.registry.service import Registry

Found = TypeVar("Found")


def names_with_prefix(state: State, prefix: str) -> list[str]:
    """The subjects that begin so, in the context that the prefix names or else the default one; a prefix after `:*:` is sought in every context."""
    names = state.subject_names()
    if not prefix.startswith(subjects.ANY_CONTEXT):
        within = prefix.startswith(":.")
        return [name for name in names if name.startswith(prefix) and name.startswith(":.") == within]
    start = prefix.removeprefix(subjects.ANY_CONTEXT)
    return [name for name in names if subjects.split(name)[1].startswith(start)]


def in_any_context(state: State, subject: str, find: Callable[[str], Found | None]) -> Found | None:
    """What `find` gives for a subject; one without a context is sought in all of them."""
    found = find(subject)
    context, name = subjects.split(subject)
    if found is not None or context != subjects.DEFAULT_CONTEXT or not name:
        return found
    others = (find(subjects.join(each, name)) for each in state.contexts()[1:])
    return next((each for each in others if each is not None), None)


def schema_by_id(state: State, id_: int, subject: str | None) -> StoredSchema | None:
    """The schema with an id; ids are numbered in each context, so the subject says in which, and is looked at first."""
    if subject is None or subjects.is_context(subject):
        return state.by_id(id_, subjects.context_of(subject or ""))
    found = in_any_context(state, subject, lambda name: state.by_id(id_, subjects.context_of(name), name))
    return found or (state.by_id(id_, subjects.context_of(subject)) if _is_default(subject) else None)


def _is_default(subject: str) -> bool:
    return subjects.context_of(subject) == subjects.DEFAULT_CONTEXT


def look_up(
    registry: Registry, subject: str, request: SchemaRequest, normalize: bool, deleted: bool, *, new: bool = False
) -> StoredSchema | None:
    """The version that a schema is registered as. With `new` the schema is also checked as one that is to be registered, under this subject alone."""
    if new:
        return _under(registry, subject, request, normalize, deleted, new=True)

    def find(name: str) -> StoredSchema | None:
        try:
            return _under(registry, name, request, normalize, deleted, new=False)
        except RegistryError:
            if name == subject:
                raise
            # Its references are not there in another context.
            return None

    return in_any_context(registry.state, subject, find)


def known_version(
    registry: Registry, subject: str, request: SchemaRequest, *, normalize: bool, deleted: bool, new: bool = False
) -> StoredSchema | None:
    """The same as `look_up` where it takes no time: the text was parsed before, and is registered as it is. None says nothing."""
    state, defaults = registry.state, registry.defaults
    config = defaults.config(state, subject)
    if normalize or defaults.flag(config, "normalize") or not request.text:
        return None
    strict = new and defaults.flag(config, "validateNewSchemas")
    resolved = resolve(state, subject, request.references) if request.references else {}
    parsed = registry.parser.known(request.schema_type, request.text, request.references, resolved, new=strict)
    if parsed is None:
        return None
    digest = fingerprint(parsed.canonical(), request.references, request.metadata, request.rule_set)
    id_ = state.id_of(digest, subjects.context_of(subject))
    found = None if id_ is None else state.by_id(id_, subjects.context_of(subject), subject)
    return found if found is not None and found.digest == digest and (deleted or not found.deleted) else None


def _under(
    registry: Registry, subject: str, request: SchemaRequest, normalize: bool, deleted: bool, *, new: bool
) -> StoredSchema | None:
    state, parser = registry.state, registry.parser
    config = registry.defaults.config(state, subject)
    latest = state.latest(subject)
    complete = filled_in(config, request, latest, None)
    if not request.text.strip() and not new:
        return None
    sought = candidate(
        state,
        parser,
        subject,
        replace(request, text=complete.text, schema_type=complete.schema_type, references=complete.references),
        normalize=normalize or registry.defaults.flag(config, "normalize"),
        new=new and registry.defaults.flag(config, "validateNewSchemas"),
    )
    versions = list(reversed(state.versions(subject, deleted=deleted)))
    # As it was sent, then with the metadata and rules that registering it would add.
    for attempt in (
        sought,
        replace(sought, request=replace(sought.request, metadata=complete.metadata, rule_set=complete.rule_set)),
    ):
        digest = attempt.digest
        for each in versions:
            if each.digest == digest:
                return each
        for each in versions[:RECENT]:
            if same(state, parser, attempt, each):
                return each
        if complete == request:
            break
    return None
