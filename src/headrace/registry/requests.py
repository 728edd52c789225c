"""Request bodies as values: what a client sent, checked for its form. Unknown properties are left alone, as Confluent's registry does. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.registry.documents import BadDocument, BadRule, check_rules, metadata_of, rule_set_of
from headrace.registry.errors import (
    RegistryError,
    bad_request,
    invalid_level,
    invalid_mode,
    invalid_rule_set,
    invalid_schema,
    unprocessable,
)
from headrace.registry.model import AVRO, MAX_INT, JsonObject, Mode
from headrace.registry.records import CONFIG_FIELDS, BadRecord, references_of
from headrace.registry.schemas import Level, Policy, Reference

LATEST = -1


@dataclass(frozen=True)
class SchemaRequest:
    """A schema that somebody wants registered, looked up or checked. `version` 0 and `id` None leave the choice to the registry."""

    text: str = ""
    schema_type: str = AVRO
    references: tuple[Reference, ...] = ()
    metadata: JsonObject | None = None
    rule_set: JsonObject | None = None
    version: int = 0
    id: int | None = None


@dataclass(frozen=True)
class TagRequest:
    """A new version of a schema with other metadata and rules."""

    metadata: JsonObject | None
    rule_set: JsonObject | None
    rules_to_merge: JsonObject | None
    rules_to_remove: tuple[str, ...]
    new_version: int | None


def schema_request(body: Any) -> SchemaRequest:
    fields = _object(body)
    return SchemaRequest(
        text=_text(fields, "schema") or "",
        schema_type=_text(fields, "schemaType") or AVRO,
        references=_references(fields),
        metadata=_document(metadata_of, fields.get("metadata")),
        rule_set=_rules(fields.get("ruleSet")),
        version=_number(fields, "version", -1) or 0,
        id=_id(_number(fields, "id", -1)),
    )


def tag_request(body: Any) -> TagRequest:
    fields = _object(body)
    for name in ("tagsToAdd", "tagsToRemove"):
        if fields.get(name):
            raise unprocessable(f"{name}: tags inside of schemas cannot be changed here; register the schema with them")
    removed = fields.get("rulesToRemove")
    if removed is not None and (not isinstance(removed, list) or not all(isinstance(each, str) for each in removed)):
        raise bad_request("rulesToRemove must be a list of names")
    rule_set = _rules(fields.get("ruleSet"))
    merge = _rules(fields.get("rulesToMerge"))
    if rule_set is not None and (merge is not None or removed is not None):
        raise invalid_rule_set("ruleSet should be omitted if specifying rulesToMerge or rulesToRemove")
    return TagRequest(
        _document(metadata_of, fields.get("metadata")),
        rule_set,
        merge,
        tuple(removed or ()),
        _number(fields, "newVersion", 1),
    )


def config_request(body: Any) -> dict[str, Any]:
    """The settings to change; None takes one back. `compatibility` is the old name of `compatibilityLevel`."""
    fields = dict(_object(body))
    if "compatibility" in fields:
        fields["compatibilityLevel"] = fields.pop("compatibility")
    return {name: _setting(name, fields[name]) for name in CONFIG_FIELDS if name in fields}


def mode_request(body: Any) -> Mode | None:
    """The mode to set; None takes it back."""
    mode = _text(_object(body), "mode")
    if mode is None:
        return None
    try:
        return Mode(mode.upper())
    except ValueError:
        raise invalid_mode() from None


def _setting(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in ("normalize", "validateFields", "validateNewSchemas", "validateRules"):
        if not isinstance(value, bool):
            raise bad_request(f"{name} must be true or false")
        return value
    if name.endswith("Metadata"):
        return _document(metadata_of, value)
    if name.endswith("RuleSet"):
        return _rules(value)
    if not isinstance(value, str):
        raise invalid_level() if name == "compatibilityLevel" else bad_request(f"{name} must be a text")
    if name == "compatibilityLevel":
        return _member(Level, value, invalid_level())
    if name == "compatibilityPolicy":
        return _member(Policy, value, unprocessable(f"{name} is one of {', '.join(Policy)}"))
    return value or None


def _member(kind: Any, value: str, error: RegistryError) -> str:
    try:
        return str(kind(value.upper()).value)
    except ValueError:
        raise error from None


def _object(body: Any) -> Mapping[str, Any]:
    if body is None:
        raise unprocessable("the body must not be empty")
    if not isinstance(body, dict):
        raise bad_request("the body must be a JSON object")
    return body


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise bad_request(f"{name} must be a text")
    return value


def _number(fields: Mapping[str, Any], name: str, least: int) -> int | None:
    value = fields.get(name)
    if (
        isinstance(value, str)
        and value.strip().removeprefix("-").isascii()
        and value.strip().removeprefix("-").isdigit()
    ):
        value = int(value)
    if value is not None and (type(value) is not int or not least <= value <= MAX_INT):
        raise bad_request(f"{name} must be a number from {least} to {MAX_INT}")
    return value


def _id(number: int | None) -> int | None:
    return None if number is None or number < 0 else number


def _references(fields: Mapping[str, Any]) -> tuple[Reference, ...]:
    try:
        return references_of(fields.get("references"))
    except BadRecord as error:
        raise invalid_schema(f"Invalid reference: {error}") from None


def _document(reader: Any, value: Any) -> JsonObject | None:
    try:
        found: JsonObject | None = reader(value)
        return found
    except BadDocument as error:
        raise bad_request(str(error)) from None


def _rules(value: Any) -> JsonObject | None:
    rule_set = _document(rule_set_of, value)
    try:
        check_rules(rule_set)
    except BadRule as error:
        raise invalid_rule_set(str(error)) from None
    return rule_set
