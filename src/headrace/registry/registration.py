"""Registering a schema, as a state machine: what a request means for the state becomes records to write, and an answer for when they are written. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.registry import subjects
from headrace.registry.candidate import Candidate, candidate, filled_in, same
from headrace.registry.compatibility import differences
from headrace.registry.defaults import Defaults
from headrace.registry.documents import merged_rule_sets, with_version, without_rules
from headrace.registry.errors import incompatible, invalid_schema, not_permitted
from headrace.registry.model import StoredSchema
from headrace.registry.parsing import Parser
from headrace.registry.records import ContextRecord, Record, SchemaRecord
from headrace.registry.requests import LATEST, SchemaRequest, TagRequest
from headrace.registry.state import State

# Versions in which a schema that was sent in another form is sought. Finding the same text takes no time and has no such bound.
RECENT = 20


@dataclass(frozen=True)
class Outcome:
    """What a request leads to: records that must be in the topic, in one piece, before the answer is given."""

    records: Sequence[Record]
    answer: Any


def on_register(
    state: State,
    parser: Parser,
    defaults: Defaults,
    subject: str,
    request: SchemaRequest,
    *,
    normalize: bool = False,
    force: bool = False,
) -> Outcome:
    """Keep a schema under a subject, unless it is kept already. The answer is the `StoredSchema`."""
    _check_mode(state, subject, request)
    mode, config = state.mode_in_scope(subject), defaults.config(state, subject)
    versions = state.versions(subject)
    new_version = versions[-1].version + 1 if versions else 1
    active = [each for each in reversed(versions) if not each.deleted]
    if not mode.is_import:
        request = filled_in(config, request, active[0] if active else None, new_version)
    validate = request.id is None and defaults.flag(config, "validateNewSchemas")
    sought = candidate(
        state, parser, subject, request, normalize=normalize or defaults.flag(config, "normalize"), new=validate
    )
    _check_references(state, sought)
    known = _already_there(state, parser, sought, active)
    if known is not None:
        return Outcome((), known)
    if not mode.is_import and not force:
        messages = differences(state, parser, defaults, sought, list(reversed(active)))
        if messages:
            raise incompatible(subject, messages)
    return _kept(state, sought, new_version)


def on_tag(
    state: State, parser: Parser, defaults: Defaults, subject: str, version: int, request: TagRequest
) -> Outcome:
    """Keep a version again, as a new one, with other metadata and rules."""
    base = state.version(subject, version)
    if base is None:
        raise invalid_schema(f"Version {version} of subject '{subject}' is not there any more")
    newest = state.latest(subject) or base
    number = request.new_version or newest.version + 1
    rule_set = request.rule_set
    if request.rules_to_merge is not None or request.rules_to_remove:
        before = state.version(subject, number - 1) if request.new_version else newest
        rule_set = merged_rule_sets(before.rule_set if before else None, request.rules_to_merge)
        rule_set = without_rules(rule_set, list(request.rules_to_remove))
    metadata = with_version(request.metadata if request.metadata is not None else base.metadata, number)
    wanted = SchemaRequest(base.text, base.schema_type, base.references, metadata, rule_set, version=number)
    return on_register(state, parser, defaults, subject, wanted)


def _check_mode(state: State, subject: str, request: SchemaRequest) -> None:
    mode, context = state.mode_in_scope(subject), subjects.context_prefix(subject)
    where = f"Subject {subject} in context {context}"
    if mode.is_read_only:
        raise not_permitted(f"{where} is in read-only mode")
    if request.id is not None and not mode.is_import:
        raise not_permitted(f"{where} is not in import mode")
    if request.id is None and mode.is_import:
        raise not_permitted(f"{where} is not in read-write mode")


def _check_references(state: State, sought: Candidate) -> None:
    """A subject that belongs to its topic alone cannot be referred to."""
    if not sought.request.references:
        return
    strong = {each.key.subject for each in state.associations() if each.lifecycle == "STRONG"}
    for reference in sought.request.references:
        if subjects.beside(sought.subject, reference.subject) in strong:
            raise not_permitted(f"Subject '{reference.subject}' has a strong association and cannot be referenced")


def _already_there(
    state: State, parser: Parser, sought: Candidate, active: Sequence[StoredSchema]
) -> StoredSchema | None:
    """The version that the request means, when it is kept under the subject and not deleted."""
    request = sought.request
    if request.version > 0:
        return None
    fitting = [each for each in active if request.id is None or each.id == request.id]
    for each in fitting:
        if each.digest == sought.digest:
            return each
    recent = fitting[: 1 if request.version == LATEST else RECENT]
    return next((each for each in recent if same(state, parser, sought, each)), None)


def _kept(state: State, sought: Candidate, new_version: int) -> Outcome:
    subject, request = sought.subject, sought.request
    version = request.version if request.version > 0 else new_version
    if version != new_version and not state.mode_in_scope(subject).is_import:
        raise invalid_schema("Version is not one more than previous version")
    schema = sought.stored(version, _id(state, sought))
    records: list[Record] = []
    context = subjects.context_of(subject)
    if not state.has_context(context):
        records.append(ContextRecord(context, True))
    for older in state.versions(subject):
        # The same schema was registered and deleted before; one version with its id is enough, unless somebody refers to the old one.
        again = older.deleted and older.id == schema.id and older.version < version
        if again and not state.referrers(subject, older.version, deleted=True):
            records.append(SchemaRecord(subject, older.version, None))
    return Outcome((*records, SchemaRecord(subject, version, schema)), schema)


def _id(state: State, sought: Candidate) -> int:
    """Equal schemas share an id in a context; a given id must be free or stand for the same schema."""
    context = subjects.context_of(sought.subject)
    known, wanted = state.id_of(sought.digest, context), sought.request.id
    if wanted is None:
        return state.next_id(context) if known is None else known
    holder = state.by_id(wanted, context)
    if holder is not None and holder.digest != sought.digest:
        prefix = subjects.context_prefix(sought.subject)
        raise not_permitted(f"Overwrite new schema with id {wanted} in context {prefix} is not permitted.")
    return wanted
