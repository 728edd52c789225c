"""Deleting subjects, versions and contexts: soft first, which hides them and keeps their ids readable, then permanently. Pure."""

from __future__ import annotations

from headrace.registry import subjects
from headrace.registry.errors import (
    RegistryError,
    context_not_empty,
    not_permitted,
    reference_exists,
    subject_not_found,
    subject_not_soft_deleted,
    subject_soft_deleted,
    version_not_found,
    version_not_soft_deleted,
    version_soft_deleted,
)
from headrace.registry.model import StoredSchema
from headrace.registry.records import ConfigRecord, ContextRecord, DeleteSubjectRecord, ModeRecord, Record, SchemaRecord
from headrace.registry.registration import Outcome
from headrace.registry.state import State


def on_delete_version(state: State, subject: str, version: int, *, permanent: bool) -> Outcome:
    """The answer is the number of the version."""
    schema = _version(state, subject, version, permanent=permanent)
    check_writable(state, subject)
    number = schema.version
    remaining = [each for each in state.versions(subject, deleted=False) if each.version != number]
    if not permanent and not remaining and any(each.key.subject == subject for each in state.associations()):
        raise RegistryError(40907, f"No active (non-deleted) version exists for subject '{subject}'")
    if state.referrers(subject, number, deleted=permanent):
        raise reference_exists(subject, number)
    if not permanent:
        return Outcome([SchemaRecord(subject, number, schema.as_deleted())], number)
    if not schema.deleted:
        raise version_not_soft_deleted(subject, number)
    last = len(state.versions(subject)) == 1
    return Outcome([SchemaRecord(subject, number, None), *(_settings_of(state, subject) if last else ())], number)


def on_delete_subject(state: State, subject: str, *, permanent: bool) -> Outcome:
    """The answer is the list of versions."""
    if not state.has_subjects(subject, deleted=True):
        raise subject_not_found(subject)
    if not permanent and not state.has_subjects(subject, deleted=False):
        raise subject_soft_deleted(subject)
    check_writable(state, subject)
    if any(each.key.subject == subject for each in state.associations()):
        raise RegistryError(40904, f"An association already exists for subject '{subject}'")
    versions = state.versions(subject, deleted=permanent)
    for schema in versions:
        if any(each.subject != subject for each in state.referrers(subject, schema.version, deleted=permanent)):
            raise reference_exists(subject, schema.version)
        if permanent and not schema.deleted:
            raise subject_not_soft_deleted(subject)
    numbers = [schema.version for schema in versions]
    if not permanent:
        return Outcome([DeleteSubjectRecord(subject, numbers[-1] if numbers else 0)], numbers)
    # Newest first, since versions of one subject may refer to older ones.
    gone = [SchemaRecord(subject, number, None) for number in reversed(numbers)]
    return Outcome([*gone, *_settings_of(state, subject)], numbers)


def on_delete_context(state: State, context: str) -> Outcome:
    scope = subjects.join(context, "")
    if state.has_subjects(scope, deleted=True):
        raise context_not_empty(scope)
    if not state.has_context(context) or context == subjects.DEFAULT_CONTEXT:
        return Outcome((), None)
    return Outcome([ContextRecord(context, False)], None)


def check_writable(state: State, subject: str | None) -> None:
    if state.mode_in_scope(subject).is_read_only:
        context = subjects.context_prefix(subject or "")
        raise not_permitted(f"Subject {subject or ''} in context {context} is in read-only mode")


def _version(state: State, subject: str, version: int, *, permanent: bool) -> StoredSchema:
    schema = state.version(subject, version, deleted=True)
    if schema is None:
        if state.has_subjects(subject, deleted=True):
            raise version_not_found(version)
        raise subject_not_found(subject)
    if schema.deleted and not permanent:
        raise version_soft_deleted(subject, version)
    return schema


def _settings_of(state: State, subject: str) -> list[Record]:
    """What a subject's own settings become when the last of it is gone."""
    records: list[Record] = []
    if state.mode(subject) is not None:
        records.append(ModeRecord(subject, None))
    if state.config(subject) is not None:
        records.append(ConfigRecord(subject, None))
    return records
