"""Changing settings and modes, of everything, of a context or of a subject. Pure."""

from __future__ import annotations

from typing import Any

from headrace.registry import subjects
from headrace.registry.defaults import Defaults
from headrace.registry.deletion import check_writable
from headrace.registry.errors import invalid_mode, not_permitted, reference_exists, subject_not_found
from headrace.registry.model import Mode
from headrace.registry.records import CONFIG_FIELDS, ClearSubjectRecord, ConfigRecord, ModeRecord, Record, SchemaRecord
from headrace.registry.registration import Outcome
from headrace.registry.state import State


def on_set_config(state: State, subject: str | None, changes: dict[str, Any]) -> Outcome:
    """What is named changes, the rest stays; the answer is all that is set then."""
    check_writable(state, subject)
    merged = {**(state.config(subject) or {}), **changes}
    config = {name: merged[name] for name in CONFIG_FIELDS if merged.get(name) is not None}
    return Outcome([ConfigRecord(subject, config)], config)


def on_delete_config(state: State, defaults: Defaults, subject: str | None) -> Outcome:
    """The answer is what was set."""
    config = state.config(subject)
    if config is None and subject is not None and not subjects.is_global_context(subject):
        raise subject_not_found(subject)
    check_writable(state, subject)
    return Outcome([ConfigRecord(subject, None)], defaults.complete(config or {}))


def on_set_mode(state: State, defaults: Defaults, subject: str | None, mode: Mode | None, *, force: bool) -> Outcome:
    """Import mode starts with nothing there, unless forced: what is soft deleted goes for good."""
    _check_allowed(defaults)
    if mode is Mode.FORWARD and not subjects.is_global_context(subject):
        raise invalid_mode("Forward mode only supported on global level")
    records: list[Record] = []
    if mode is Mode.IMPORT and state.mode_in_scope(subject) is not Mode.IMPORT and not force:
        if state.has_subjects(subject, deleted=False):
            raise not_permitted("Cannot import since found existing subjects")
        records += _deleted_for_good(state, subject)
        records.append(ClearSubjectRecord(subject))
    return Outcome([*records, ModeRecord(subject, mode)], mode)


def on_delete_mode(state: State, defaults: Defaults, subject: str | None, *, recursive: bool) -> Outcome:
    """The answer is the mode that was set."""
    mode = state.mode(subject)
    if mode is None and not recursive and subject is not None and not subjects.is_global_context(subject):
        raise subject_not_found(subject)
    _check_allowed(defaults)
    within = recursive and subjects.is_context(subject)
    under = state.modes_under(subjects.context_of(subject or "")) if within else []
    if mode is None and (subject is None or subjects.is_global_context(subject)):
        mode = Mode.READWRITE
    return Outcome([ModeRecord(name, None) for name in (subject, *under)], mode)


def _deleted_for_good(state: State, scope: str | None) -> list[Record]:
    records: list[Record] = []
    for name in state.subject_names():
        if subjects.covers(scope, name):
            for schema in state.versions(name):
                if state.referrers(name, schema.version, deleted=True):
                    raise reference_exists(name, schema.version)
                records.append(SchemaRecord(name, schema.version, None))
    return records


def _check_allowed(defaults: Defaults) -> None:
    if not defaults.mode_changes:
        raise not_permitted("Mode changes are not allowed")
