"""Metadata and rule sets: the JSON objects that travel with a schema, brought into one form, merged and checked. Pure.

One form means: only known fields, sets sorted, nothing empty. Two objects that mean the same are then equal, and give the same digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonObject = Mapping[str, Any]
RULE_LISTS = ("migrationRules", "domainRules", "encodingRules")
VERSION_PROPERTY = "confluent:version"
RESERVED_PROPERTY = "confluent:reserved"
_KINDS = ("TRANSFORM", "CONDITION")
_MIGRATION_MODES = ("UPGRADE", "DOWNGRADE", "UPDOWN")
_DATA_MODES = ("WRITE", "READ", "WRITEREAD")
_ENVIRONMENTS = ("ALL", "CLIENT", "GATEWAY", "SERVER", "NONE")
_RULE_TEXTS = ("name", "doc", "kind", "mode", "type")
_RULE_TAIL = ("expr", "onSuccess", "onFailure")
_MAX_RULE_NAME = 256


class BadDocument(ValueError):
    """Metadata or a rule set of another form; the text says where."""


class BadRule(ValueError):
    """A rule set of the right form that makes no sense; the text says which rule."""


def metadata_of(value: Any) -> JsonObject | None:
    """Metadata in its one form: tags, properties, sensitive."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise BadDocument("metadata must be an object")
    tags = {key: _texts(each, f"metadata.tags.{key}") for key, each in sorted(_mapping(value, "tags").items())}
    properties = dict(sorted(_texts_by_name(value, "properties", "metadata").items()))
    sensitive = _texts(value.get("sensitive"), "metadata.sensitive")
    found = {"tags": tags, "properties": properties, "sensitive": sensitive}
    return {name: each for name, each in found.items() if each}


def rule_set_of(value: Any) -> JsonObject | None:
    """A rule set in its one form: lists of rules, and where they are enabled."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise BadDocument("ruleSet must be an object")
    found: dict[str, Any] = {}
    for name in RULE_LISTS:
        rules = value.get(name)
        if rules is not None and not isinstance(rules, list):
            raise BadDocument(f"ruleSet.{name} must be a list")
        if rules:
            found[name] = [_rule(rule, f"ruleSet.{name}") for rule in rules]
    enabled_at = value.get("enableAt")
    if enabled_at is not None:
        if enabled_at not in _ENVIRONMENTS:
            raise BadDocument(f"ruleSet.enableAt is one of {', '.join(_ENVIRONMENTS)}")
        found["enableAt"] = enabled_at
    return found


def check_rules(rule_set: JsonObject | None) -> None:
    """Names are unique and well formed, types are there, modes fit the list; else `BadRule`."""
    names: set[str] = set()
    for list_name in RULE_LISTS:
        for rule in (rule_set or {}).get(list_name, ()):
            _check_rule(rule, names)
            allowed = _MIGRATION_MODES if list_name == "migrationRules" else _DATA_MODES
            if rule["mode"] not in allowed:
                kind = list_name.removesuffix("Rules").capitalize()
                raise BadRule(f"{kind} rules can only be {', '.join(allowed)}")


def merged_metadata(older: JsonObject | None, newer: JsonObject | None) -> JsonObject | None:
    """Both together; where both say something, the newer counts."""
    if older is None or newer is None:
        return newer if older is None else older
    tags = {**older.get("tags", {}), **newer.get("tags", {})}
    properties = {**older.get("properties", {}), **newer.get("properties", {})}
    sensitive = sorted({*older.get("sensitive", ()), *newer.get("sensitive", ())})
    return metadata_of({"tags": tags, "properties": properties, "sensitive": sensitive})


def merged_rule_sets(older: JsonObject | None, newer: JsonObject | None) -> JsonObject | None:
    """Both together; a rule of the newer replaces that of the same name."""
    if older is None or newer is None:
        return newer if older is None else older
    found: dict[str, Any] = {}
    for name in RULE_LISTS:
        replaced = {rule.get("name") for rule in newer.get(name, ())}
        rules = [rule for rule in older.get(name, ()) if rule.get("name") not in replaced] + list(newer.get(name, ()))
        if rules:
            found[name] = rules
    enabled_at = newer.get("enableAt", older.get("enableAt"))
    return found if enabled_at is None else {**found, "enableAt": enabled_at}


def without_rules(rule_set: JsonObject | None, names: list[str]) -> JsonObject | None:
    if rule_set is None:
        return None
    kept = {name: [rule for rule in rule_set.get(name, ()) if rule.get("name") not in names] for name in RULE_LISTS}
    return rule_set_of({**kept, "enableAt": rule_set.get("enableAt")})


def version_in(metadata: JsonObject | None) -> str | None:
    """The version that metadata claim their schema to be."""
    found = (metadata or {}).get("properties", {}).get(VERSION_PROPERTY)
    return found if isinstance(found, str) else None


def with_version(metadata: JsonObject | None, version: int) -> JsonObject:
    properties = {**(metadata or {}).get("properties", {}), VERSION_PROPERTY: str(version)}
    return metadata_of({**(metadata or {}), "properties": properties}) or {}


def without_version(metadata: JsonObject | None) -> JsonObject | None:
    """For comparing: what is there beside the claimed version; nothing and empty are the same here."""
    if metadata is None:
        return None
    properties = {key: each for key, each in metadata.get("properties", {}).items() if key != VERSION_PROPERTY}
    return metadata_of({**metadata, "properties": properties})


def reserved_fields(metadata: JsonObject | None) -> frozenset[str]:
    """Fields that the schema promises never to have (`confluent:reserved`)."""
    text = (metadata or {}).get("properties", {}).get(RESERVED_PROPERTY, "")
    return frozenset(name.strip() for name in str(text).split(",") if name.strip())


def has_rule_type(rule_set: JsonObject | None, rule_type: str) -> bool:
    return any(rule.get("type") == rule_type for name in RULE_LISTS for rule in (rule_set or {}).get(name, ()))


def _rule(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise BadDocument(f"a rule in {where} must be an object")
    values = {
        "kind": "TRANSFORM",
        "mode": "WRITEREAD",
        **{key: each for key, each in value.items() if each is not None},
    }
    if values["kind"] not in _KINDS:
        raise BadDocument(f"kind of a rule in {where} is one of {', '.join(_KINDS)}")
    if values["mode"] not in _MIGRATION_MODES + _DATA_MODES:
        raise BadDocument(f"mode of a rule in {where} is one of {', '.join(_MIGRATION_MODES + _DATA_MODES)}")
    if not isinstance(values.get("disabled", False), bool):
        raise BadDocument(f"disabled of a rule in {where} must be true or false")
    found: dict[str, Any] = {name: _text(values[name], f"{where}.{name}") for name in _RULE_TEXTS if name in values}
    found["tags"] = _texts(values.get("tags"), f"{where}.tags")
    found["params"] = dict(sorted(_texts_by_name(values, "params", where).items()))
    found |= {name: _text(values[name], f"{where}.{name}") for name in _RULE_TAIL if name in values}
    return {key: each for key, each in found.items() if each} | {"disabled": values.get("disabled", False)}


def _check_rule(rule: JsonObject, names: set[str]) -> None:
    name = rule.get("name")
    if name is None:
        raise BadRule("Missing rule name")
    if name in names:
        raise BadRule(f"Found rule with duplicate name '{name}'")
    names.add(name)
    if len(name) > _MAX_RULE_NAME:
        raise BadRule("Rule name too long")
    if not (name[0].isalpha() or name[0] == "_"):
        raise BadRule(f"Illegal initial character in rule name: {name}")
    if not all(char.isalnum() or char in "_-" for char in name):
        raise BadRule(f"Illegal character in rule name: {name}")
    if rule.get("type") is None:
        raise BadRule("Missing rule type")
    several = any("," in rule.get(action, "") for action in ("onSuccess", "onFailure"))
    if several and rule["mode"] not in ("WRITEREAD", "UPDOWN"):
        raise BadRule("Multiple actions only valid with WRITEREAD and UPDOWN")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise BadDocument(f"{where} must be a text")
    return value


def _texts(value: Any, where: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BadDocument(f"{where} must be a list of texts")
    return sorted(set(value))


def _mapping(value: JsonObject, name: str) -> JsonObject:
    found = value.get(name)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise BadDocument(f"{name} must be an object")
    return found


def _texts_by_name(value: JsonObject, name: str, where: str) -> dict[str, str]:
    """Numbers and truth values become texts, as Java's reader has it."""
    found = {}
    for key, each in _mapping(value, name).items():
        if isinstance(each, bool):
            found[key] = "true" if each else "false"
        elif isinstance(each, str | int | float):
            found[key] = str(each)
        elif each is not None:
            raise BadDocument(f"{where}.{name}.{key} must be a text")
    return found
