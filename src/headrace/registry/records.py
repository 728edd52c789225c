"""The records of `_schemas`, in Confluent's form: JSON keys whose fields have a fixed order, because compaction compares bytes. Pure.

```
key   {"keytype":"SCHEMA","subject":"s","version":1,"magic":1}
value {"subject":"s","version":1,"id":1,"schemaType":"JSON","references":[…],"metadata":{…},"ruleSet":{…},"schema":"…","deleted":false}
key   {"keytype":"CONFIG","subject":"s","magic":0}          value {"subject":"s","compatibilityLevel":"FULL"}
key   {"keytype":"MODE","magic":0}                          value {"mode":"READONLY"}
key   {"keytype":"DELETE_SUBJECT","subject":"s","magic":0}  value {"subject":"s","version":3}     versions up to 3 are soft deleted
key   {"keytype":"CLEAR_SUBJECT","subject":"s","magic":0}   value {"subject":"s"}                 soft deleted versions are gone
key   {"keytype":"CONTEXT","tenant":"default","context":".c"}   value the same two
key   {"keytype":"ASSOC","tenant":"default","resourceName":…,"subject":…,"magic":0}
key   {"keytype":"NOOP","magic":0}                          value null
```

A null value takes back what the key stood for; of a schema that is the permanent deletion. Anybody may write to a topic, so reading is strict
and `BadRecord` says what is wrong.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.registry.documents import BadDocument, metadata_of, rule_set_of
from headrace.registry.model import AVRO, MAX_INT, Association, AssociationKey, JsonObject, Mode, StoredSchema
from headrace.registry.schemas import Reference, fingerprint

TENANT = "default"
CONFIG_FIELDS = (
    "alias",
    "aliasForDeks",
    "normalize",
    "validateFields",
    "validateNewSchemas",
    "validateRules",
    "compatibilityLevel",
    "compatibilityPolicy",
    "compatibilityGroup",
    "defaultMetadata",
    "overrideMetadata",
    "defaultRuleSet",
    "overrideRuleSet",
)


class BadRecord(ValueError):
    """A record that is not of the registry's form."""


@dataclass(frozen=True, slots=True)
class SchemaRecord:
    subject: str
    version: int
    schema: StoredSchema | None


@dataclass(frozen=True, slots=True)
class ConfigRecord:
    subject: str | None
    config: JsonObject | None


@dataclass(frozen=True, slots=True)
class ModeRecord:
    subject: str | None
    mode: Mode | None


@dataclass(frozen=True, slots=True)
class DeleteSubjectRecord:
    subject: str
    version: int | None
    """The last version that is deleted; None only marks the key as forgotten."""


@dataclass(frozen=True, slots=True)
class ClearSubjectRecord:
    subject: str | None
    present: bool = True


@dataclass(frozen=True, slots=True)
class ContextRecord:
    context: str
    present: bool
    tenant: str = TENANT


@dataclass(frozen=True, slots=True)
class AssociationRecord:
    key: AssociationKey
    association: Association | None


@dataclass(frozen=True, slots=True)
class NoopRecord:
    pass


Record = (
    SchemaRecord
    | ConfigRecord
    | ModeRecord
    | DeleteSubjectRecord
    | ClearSubjectRecord
    | ContextRecord
    | AssociationRecord
    | NoopRecord
)


def encode(record: Record) -> tuple[bytes, bytes | None]:
    """Key and value as they are written."""
    key, value = _ENCODERS[type(record)](record)
    return _dump(key), None if value is None else _dump(value)


def decode(key: bytes | None, value: bytes | None, timestamp_ms: int | None = None) -> Record:
    """The record in these bytes; `BadRecord` says what is wrong with them."""
    head = _load(key, "key")
    kind = head.get("keytype")
    decoder = _DECODERS.get(kind) if isinstance(kind, str) else None
    if decoder is None:
        raise BadRecord(f"keytype {kind!r} is not known")
    body = None if value is None or kind == "NOOP" else _load(value, "value")
    record: Record = decoder(head, body, timestamp_ms)
    return record


def schema_document(schema: StoredSchema) -> dict[str, Any]:
    """A schema as the value of its record."""
    document: dict[str, Any] = {"subject": schema.subject, "version": schema.version, "id": schema.id}
    if schema.schema_type != AVRO:
        document["schemaType"] = schema.schema_type
    if schema.references:
        document["references"] = reference_documents(schema.references)
    if schema.metadata is not None:
        document["metadata"] = schema.metadata
    if schema.rule_set is not None:
        document["ruleSet"] = schema.rule_set
    return {**document, "schema": schema.text, "deleted": schema.deleted}


def reference_documents(references: Sequence[Reference]) -> list[dict[str, Any]]:
    return [{"name": each.name, "subject": each.subject, "version": each.version} for each in references]


def references_of(value: Any) -> tuple[Reference, ...]:
    """References as a record or a request has them; `BadRecord` when they are something else."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadRecord("references must be a list")
    return tuple(_reference(each) for each in value)


def _reference(value: Any) -> Reference:
    if not isinstance(value, dict):
        raise BadRecord("a reference must be an object with name, subject and version")
    name, subject, version = value.get("name"), value.get("subject"), value.get("version")
    if not isinstance(name, str) or not isinstance(subject, str) or type(version) is not int:
        raise BadRecord("a reference needs a name, a subject and a version")
    if not -MAX_INT <= version <= MAX_INT:
        raise BadRecord("a reference's version is out of range")
    return Reference(name, subject, version)


def _dump(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _load(data: bytes | None, what: str) -> dict[str, Any]:
    try:
        document = json.loads(data or b"")
        if b"\\u" in (data or b""):
            # Half a surrogate pair is valid JSON and no text: nobody could be sent it.
            _dump(document)
    except (ValueError, RecursionError):
        raise BadRecord(f"the {what} is not JSON") from None
    if not isinstance(document, dict):
        raise BadRecord(f"the {what} is no object")
    return document


def _text(document: dict[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise BadRecord(f"{name} is no text")
    return value


def _optional_text(document: dict[str, Any], name: str) -> str | None:
    return None if document.get(name) is None else _text(document, name)


def _number(document: dict[str, Any], name: str, least: int = 0) -> int:
    value = document.get(name)
    if type(value) is not int or not least <= value <= MAX_INT:
        raise BadRecord(f"{name} is no number from {least} to {MAX_INT}")
    return value


def _schema_from(key: dict[str, Any], value: dict[str, Any] | None, timestamp_ms: int | None) -> SchemaRecord:
    subject, version = _text(key, "subject"), _number(key, "version", 1)
    if value is None:
        return SchemaRecord(subject, version, None)
    text, references = _text(value, "schema"), references_of(value.get("references"))
    try:
        metadata, rule_set = metadata_of(value.get("metadata")), rule_set_of(value.get("ruleSet"))
    except BadDocument as error:
        raise BadRecord(str(error)) from None
    schema = StoredSchema(
        subject=subject,
        version=version,
        id=_number(value, "id"),
        schema_type=_optional_text(value, "schemaType") or AVRO,
        text=text,
        references=references,
        metadata=metadata,
        rule_set=rule_set,
        deleted=value.get("deleted") is True,
        digest=_digest(value.get("md5")) or fingerprint(text, references, metadata, rule_set),
        timestamp_ms=timestamp_ms,
    )
    return SchemaRecord(subject, version, schema)


def _digest(md5: Any) -> bytes | None:
    """Registries that keep metadata encrypted write the digest of the plain schema beside it."""
    if not isinstance(md5, str):
        return None
    try:
        digest = base64.b64decode(md5, validate=True)
    except (binascii.Error, ValueError):
        return None
    return digest if len(digest) == 16 else None


def _schema_to(record: SchemaRecord) -> tuple[dict[str, Any], dict[str, Any] | None]:
    key = {"keytype": "SCHEMA", "subject": record.subject, "version": record.version, "magic": 1}
    return key, None if record.schema is None else schema_document(record.schema)


def _settings_key(kind: str, subject: str | None) -> dict[str, Any]:
    return {"keytype": kind, **({} if subject is None else {"subject": subject}), "magic": 0}


def _config_from(key: dict[str, Any], value: dict[str, Any] | None, _: int | None) -> ConfigRecord:
    if value is not None:
        value = {name: value[name] for name in CONFIG_FIELDS if value.get(name) is not None}
    return ConfigRecord(_optional_text(key, "subject"), value)


def _config_to(record: ConfigRecord) -> tuple[dict[str, Any], dict[str, Any] | None]:
    key = _settings_key("CONFIG", record.subject)
    if record.config is None:
        return key, None
    return key, {**({} if record.subject is None else {"subject": record.subject}), **record.config}


def _mode_from(key: dict[str, Any], value: dict[str, Any] | None, _: int | None) -> ModeRecord:
    subject = _optional_text(key, "subject")
    if value is None:
        return ModeRecord(subject, None)
    try:
        return ModeRecord(subject, Mode(_text(value, "mode")))
    except ValueError as error:
        raise BadRecord(f"mode: {error}") from None


def _mode_to(record: ModeRecord) -> tuple[dict[str, Any], dict[str, Any] | None]:
    key = _settings_key("MODE", record.subject)
    if record.mode is None:
        return key, None
    return key, {**({} if record.subject is None else {"subject": record.subject}), "mode": record.mode.value}


def _delete_from(key: dict[str, Any], value: dict[str, Any] | None, _: int | None) -> DeleteSubjectRecord:
    return DeleteSubjectRecord(_text(key, "subject"), None if value is None else _number(value, "version"))


def _delete_to(record: DeleteSubjectRecord) -> tuple[dict[str, Any], dict[str, Any] | None]:
    key = _settings_key("DELETE_SUBJECT", record.subject)
    return key, None if record.version is None else {"subject": record.subject, "version": record.version}


def _clear_from(key: dict[str, Any], value: dict[str, Any] | None, _: int | None) -> ClearSubjectRecord:
    return ClearSubjectRecord(_optional_text(key, "subject"), value is not None)


def _clear_to(record: ClearSubjectRecord) -> tuple[dict[str, Any], dict[str, Any] | None]:
    key = _settings_key("CLEAR_SUBJECT", record.subject)
    return key, ({} if record.subject is None else {"subject": record.subject}) if record.present else None


def _context_from(key: dict[str, Any], value: dict[str, Any] | None, _: int | None) -> ContextRecord:
    return ContextRecord(_text(key, "context"), value is not None, _optional_text(key, "tenant") or TENANT)


def _context_to(record: ContextRecord) -> tuple[dict[str, Any], dict[str, Any] | None]:
    body = {"tenant": record.tenant, "context": record.context}
    return {"keytype": "CONTEXT", **body}, body if record.present else None


_ASSOCIATION_KEY = (
    ("tenant", "tenant"),
    ("resourceName", "resource_name"),
    ("resourceNamespace", "resource_namespace"),
    ("resourceType", "resource_type"),
    ("associationType", "association_type"),
    ("subject", "subject"),
)


def _association_from(key: dict[str, Any], value: dict[str, Any] | None, timestamp_ms: int | None) -> AssociationRecord:
    where = AssociationKey(**{field: _text(key, name) for name, field in _ASSOCIATION_KEY})
    if value is None:
        return AssociationRecord(where, None)
    lifecycle = _text(value, "lifecycle").upper()
    if lifecycle not in ("STRONG", "WEAK"):
        raise BadRecord(f"lifecycle {lifecycle!r} is neither STRONG nor WEAK")
    created = value.get("createTs")
    association = Association(
        where,
        guid=_text(value, "guid"),
        resource_id=_text(value, "resourceId"),
        lifecycle=lifecycle,
        frozen=value.get("frozen") is True,
        created_ms=created if type(created) is int else timestamp_ms,
        updated_ms=timestamp_ms,
    )
    return AssociationRecord(where, association)


def _association_to(record: AssociationRecord) -> tuple[dict[str, Any], dict[str, Any] | None]:
    where = {name: getattr(record.key, field) for name, field in _ASSOCIATION_KEY}
    key = {"keytype": "ASSOC", **where, "magic": 0}
    kept = record.association
    if kept is None:
        return key, None
    value = {
        "subject": record.key.subject,
        "guid": kept.guid,
        **{name: text for name, text in where.items() if name != "subject"},
        "resourceId": kept.resource_id,
        "lifecycle": kept.lifecycle,
        "frozen": kept.frozen,
    }
    return key, value if kept.created_ms is None else {**value, "createTs": kept.created_ms}


def _noop_from(key: dict[str, Any], value: dict[str, Any] | None, _: int | None) -> NoopRecord:
    return NoopRecord()


def _noop_to(_record: NoopRecord) -> tuple[dict[str, Any], None]:
    return {"keytype": "NOOP", "magic": 0}, None


_DECODERS: Mapping[str, Any] = {
    "SCHEMA": _schema_from,
    "CONFIG": _config_from,
    "MODE": _mode_from,
    "DELETE_SUBJECT": _delete_from,
    "CLEAR_SUBJECT": _clear_from,
    "CONTEXT": _context_from,
    "ASSOC": _association_from,
    "NOOP": _noop_from,
}
_ENCODERS: Mapping[type, Any] = {
    SchemaRecord: _schema_to,
    ConfigRecord: _config_to,
    ModeRecord: _mode_to,
    DeleteSubjectRecord: _delete_to,
    ClearSubjectRecord: _clear_to,
    ContextRecord: _context_to,
    AssociationRecord: _association_to,
    NoopRecord: _noop_to,
}
