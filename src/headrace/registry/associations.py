"""Associating topics with the subjects of their keys and values. Pure.

A STRONG association makes the subject the topic's own: nothing else may be associated with it or refer to it, and it is frozen. A WEAK one only says where to look.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.registry import subjects
from headrace.registry.defaults import Defaults
from headrace.registry.deletion import check_writable, on_delete_subject
from headrace.registry.errors import RegistryError, invalid_association, reference_exists
from headrace.registry.model import Association, AssociationKey
from headrace.registry.parsing import Parser
from headrace.registry.records import AssociationRecord, Record
from headrace.registry.registration import Outcome, on_register
from headrace.registry.requests import SchemaRequest, schema_request
from headrace.registry.state import State

ANY = "-"
TOPIC = "topic"
STRONG, WEAK = "STRONG", "WEAK"


@dataclass(frozen=True)
class Wish:
    """One association that is asked for; None where the request says nothing."""

    kind: str
    subject: str | None
    lifecycle: str | None
    frozen: bool | None
    schema: SchemaRequest | None
    normalize: bool


@dataclass(frozen=True)
class AssociationRequest:
    name: str
    namespace: str
    id: str
    wishes: tuple[Wish, ...]

    def own_subject(self, kind: str) -> str:
        """The subject that belongs to the topic alone."""
        return subjects.normalize(f":.{self.namespace}:{self.name}-{kind}")


def association_request(
    body: Any, resource_id: str | None, context: str, *, create: bool, dry_run: bool
) -> AssociationRequest:
    if not isinstance(body, dict):
        raise invalid_association("associations", "the body must be an object")
    id_ = _text(body, "resourceId") or resource_id or ""
    if resource_id is not None and id_ != resource_id:
        raise invalid_association(
            "resourceId", "Resource ID in the path parameter does not match the resource ID in the request body"
        )
    if not id_ and not dry_run:
        raise invalid_association("resourceId", "cannot be null or empty")
    if (_text(body, "resourceType") or TOPIC) != TOPIC:
        raise invalid_association("resourceType", f"must be '{TOPIC}'")
    wishes = body.get("associations")
    if not isinstance(wishes, list) or not wishes:
        raise invalid_association("associations", "cannot be null or empty")
    found = tuple(_wish(each, context) for each in wishes)
    kinds = [each.kind for each in found]
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise invalid_association(
                "associationType", f"may only appear once per request, but '{kind}' appears more than once"
            )
    return AssociationRequest(_name(body, "resourceName"), _name(body, "resourceNamespace"), id_, found)


def matching(
    found: Iterable[Association],
    *,
    resource_type: str = "",
    kinds: Sequence[str] = (),
    lifecycle: str = "",
    subject: str | None = None,
    name: str | None = None,
    namespace: str | None = None,
    resource_id: str | None = None,
) -> list[Association]:
    """Those that fit everything that is said; `-` fits any name and any namespace."""
    return [
        each
        for each in found
        if resource_type in ("", each.key.resource_type)
        and (not kinds or each.key.association_type in kinds)
        and lifecycle in ("", each.lifecycle)
        and subject in (None, each.key.subject)
        and name in (None, ANY, each.key.resource_name)
        and namespace in (None, ANY, each.key.resource_namespace)
        and resource_id in (None, each.resource_id)
    ]


def on_associate(
    state: State, parser: Parser, defaults: Defaults, request: AssociationRequest, *, create: bool
) -> Outcome:
    """The answer says what is associated then."""
    records: list[Record] = []
    answers = []
    # Later wishes are judged with the earlier ones granted.
    ahead = state.copy() if len(request.wishes) > 1 else state
    for wish in request.wishes:
        known = matching(ahead.associations(), resource_type=TOPIC, kinds=[wish.kind], resource_id=request.id)
        association = _granted(ahead, request, wish, known[0] if known else None, create=create)
        mine, shown = _with_schema(ahead, parser, defaults, wish, association)
        if not known or known[0] != association:
            mine.append(AssociationRecord(association.key, association))
        for record in mine if ahead is not state else ():
            ahead.apply(record)
        records += mine
        answers.append(shown)
    answer = {
        "resourceName": request.name,
        "resourceNamespace": request.namespace,
        **({"resourceId": request.id} if request.id else {}),
        "resourceType": TOPIC,
        "associations": answers,
    }
    return Outcome(records, answer)


def on_dissociate(
    state: State, resource_id: str, resource_type: str, kinds: Sequence[str], *, cascade: bool
) -> Outcome:
    """With `cascade` the subjects of STRONG associations are soft deleted with them."""
    found = matching(state.associations(), resource_type=resource_type, kinds=kinds, resource_id=resource_id)
    records: list[Record] = []
    for each in found:
        subject = each.key.subject
        check_writable(state, subject)
        if each.lifecycle == STRONG and not cascade and state.latest(subject) is not None:
            raise invalid_association("cascadeLifecycle", f"must be true to end the strong association of '{subject}'")
        records.append(AssociationRecord(each.key, None))
        if each.lifecycle == STRONG and state.latest(subject) is not None:
            alone = state.copy()
            alone.apply(AssociationRecord(each.key, None))
            records += on_delete_subject(alone, subject, permanent=False).records
    return Outcome(records, None)


def _granted(
    state: State, request: AssociationRequest, wish: Wish, known: Association | None, *, create: bool
) -> Association:
    lifecycle = wish.lifecycle or (known.lifecycle if known else STRONG if wish.schema is not None else WEAK)
    own = request.own_subject(wish.kind)
    subject = wish.subject or (known.key.subject if known else own if lifecycle == STRONG else None)
    if subject is None:
        raise invalid_association("subject", "must be provided for WEAK associations")
    frozen = lifecycle == STRONG if wish.frozen is None else wish.frozen
    if frozen != (lifecycle == STRONG):
        raise invalid_association(
            "frozen", f"association with lifecycle of {lifecycle} cannot be frozen={str(frozen).lower()}"
        )
    if (subject == own) != (lifecycle == STRONG):
        rule = (
            f"frozen associations must use subject '{own}'"
            if frozen
            else f"WEAK associations cannot use subject '{own}'"
        )
        raise invalid_association("subject", rule)
    check_writable(state, subject)
    if known is not None:
        return _changed(wish, known, subject, lifecycle, create=create)
    _check_others(state, subject, lifecycle)
    key = AssociationKey(request.name, request.namespace, TOPIC, wish.kind, subject)
    return Association(key, str(uuid.uuid5(uuid.NAMESPACE_OID, f"{request.id}/{key}")), request.id, lifecycle, frozen)


def _changed(wish: Wish, known: Association, subject: str, lifecycle: str, *, create: bool) -> Association:
    same = subject == known.key.subject and lifecycle == known.lifecycle
    if same:
        return known
    if create:
        raise RegistryError(
            40903, f"An association of type '{wish.kind}' already exists for resource '{known.key.resource_name}'"
        )
    if subject != known.key.subject:
        raise invalid_association(
            "subject", f"subject of association cannot be changed from '{known.key.subject}' to '{subject}'"
        )
    raise RegistryError(40908, f"The association of type  '{wish.kind}' is frozen for subject '{subject}'")


def _check_others(state: State, subject: str, lifecycle: str) -> None:
    others = matching(state.associations(), subject=subject)
    if lifecycle == STRONG and others:
        raise RegistryError(40904, f"An association already exists for subject '{subject}'")
    if any(each.lifecycle == STRONG for each in others):
        raise RegistryError(40905, f"A strong association already exists for subject '{subject}'")
    if lifecycle == STRONG:
        for schema in state.versions(subject):
            if state.referrers(subject, schema.version, deleted=True):
                raise reference_exists(subject, schema.version)


def _with_schema(
    state: State, parser: Parser, defaults: Defaults, wish: Wish, association: Association
) -> tuple[list[Record], dict[str, Any]]:
    """The schema of a wish, registered first; without one the subject must have a version."""
    subject = association.key.subject
    shown: dict[str, Any] = {
        "subject": subject,
        "associationType": wish.kind,
        "lifecycle": association.lifecycle,
        "frozen": association.frozen,
    }
    if wish.schema is None:
        if state.latest(subject) is None:
            raise RegistryError(40907, f"No active (non-deleted) version exists for subject '{subject}'")
        return [], shown
    if association.lifecycle == WEAK:
        raise invalid_association("lifecycle", "cannot be WEAK when schema is provided")
    outcome = on_register(state, parser, defaults, subject, wish.schema, normalize=wish.normalize)
    kept = outcome.answer
    schema = {"subject": subject, "version": kept.version, "id": kept.id, "guid": kept.guid, "schema": kept.text}
    return list(outcome.records), {**shown, "schema": {**schema, "schemaType": kept.schema_type}}


def _wish(value: Any, context: str) -> Wish:
    if not isinstance(value, dict):
        raise invalid_association("associations", "must be objects")
    lifecycle = _text(value, "lifecycle")
    if lifecycle is not None and lifecycle.upper() not in (STRONG, WEAK):
        raise invalid_association("lifecycle", f"must be {STRONG} or {WEAK}")
    for name in ("frozen", "normalize"):
        if not isinstance(value.get(name), bool | None):
            raise invalid_association(name, "must be true or false")
    subject, schema = _text(value, "subject"), value.get("schema")
    if subject is not None and not subjects.is_valid(subject):
        raise invalid_association("subject", "is not a valid subject")
    return Wish(
        kind=_text(value, "associationType") or "value",
        subject=subjects.beside(context, subject) if subject else None,
        lifecycle=lifecycle.upper() if lifecycle else None,
        frozen=value.get("frozen"),
        schema=None if schema is None else schema_request(schema),
        normalize=value.get("normalize") is True,
    )


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise invalid_association(name, "must be a text")
    return value


def _name(fields: Mapping[str, Any], name: str) -> str:
    value = _text(fields, name)
    if not value or ":" in value or any(ord(char) < 32 for char in value):
        raise invalid_association(name, "cannot be null or empty, and has neither colons nor control characters")
    return value
