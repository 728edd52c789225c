"""What the registry keeps, as answers show it: the JSON objects of Confluent's API."""

from __future__ import annotations

import re
from typing import Any

from headrace.registry import subjects
from headrace.registry.errors import invalid_schema
from headrace.registry.model import PROTOBUF, Association, StoredSchema
from headrace.registry.parsing import Parser
from headrace.registry.records import reference_documents
from headrace.registry.schemas import InvalidSchema
from headrace.registry.state import State

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}\s*")


def schema_entity(schema: StoredSchema, text: str | None = None, *, qualified: bool = False) -> dict[str, Any]:
    """A version under its subject."""
    return {"subject": schema.subject, "version": schema.version, "id": schema.id, **_content(schema, text, qualified)}


def schema_by_id(
    schema: StoredSchema, text: str | None = None, *, named: bool = False, qualified: bool = False
) -> dict[str, Any]:
    """A schema sought by its id; `named` says under which subject, when one was asked for."""
    where = {"subject": schema.subject, "version": schema.version} if named else {}
    return {**where, **_content(schema, text, qualified)}


def registered(schema: StoredSchema, text: str | None = None, *, sent: str = "") -> dict[str, Any]:
    """The answer to a registration of what was `sent`."""
    content = _content(schema, text, False)
    del content["deleted"]
    if text is None and schema.schema_type == PROTOBUF and _BASE64.fullmatch(sent):
        # Python's client takes a text in the answer for its own form of the schema, which is a descriptor, and cannot read it then.
        del content["schema"]
    return {"id": schema.id, "version": schema.version, **content}


def _content(schema: StoredSchema, text: str | None, qualified: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"guid": schema.guid, "schemaType": schema.schema_type}
    if schema.references:
        found["references"] = reference_documents(schema.references)
        if qualified and subjects.context_of(schema.subject) != subjects.DEFAULT_CONTEXT:
            for reference in found["references"]:
                reference["subject"] = subjects.beside(schema.subject, reference["subject"])
    if schema.metadata is not None:
        found["metadata"] = schema.metadata
    if schema.rule_set is not None:
        found["ruleSet"] = schema.rule_set
    found["schema"] = schema.text if text is None else text
    if schema.timestamp_ms is not None:
        found["ts"] = schema.timestamp_ms
    return {**found, "deleted": schema.deleted}


def formatted(state: State, parser: Parser, schema: StoredSchema, name: str) -> str | None:
    """The text in another form; None for the usual one."""
    if not name.strip():
        return None
    try:
        return parser.stored(state, schema).format(name.strip())
    except InvalidSchema as error:
        raise invalid_schema(str(error)) from None


def association_entity(association: Association) -> dict[str, Any]:
    key = association.key
    found: dict[str, Any] = {
        "subject": key.subject,
        "guid": association.guid,
        "resourceName": key.resource_name,
        "resourceNamespace": key.resource_namespace,
        "resourceId": association.resource_id,
        "resourceType": key.resource_type,
        "associationType": key.association_type,
        "lifecycle": association.lifecycle,
        "frozen": association.frozen,
    }
    times = {"createTs": association.created_ms, "updateTs": association.updated_ms}
    return found | {name: value for name, value in times.items() if value is not None}
