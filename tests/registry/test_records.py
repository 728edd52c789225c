"""The records of `_schemas`: Confluent's form in and out, and nothing but `BadRecord` for any bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.registry.model import Association, AssociationKey, Mode, StoredSchema
from headrace.registry.records import (
    AssociationRecord,
    BadRecord,
    ClearSubjectRecord,
    ConfigRecord,
    ContextRecord,
    DeleteSubjectRecord,
    ModeRecord,
    NoopRecord,
    Record,
    SchemaRecord,
    decode,
    encode,
)
from headrace.registry.schemas import Reference, fingerprint

KEY = AssociationKey("orders", "lkc", "topic", "value", ":.lkc:orders-value")
TEXT = '{"type":"string"}'


def stored(**more: object) -> StoredSchema:
    references = more.pop("references", ())
    fields = {"metadata": None, "rule_set": None, "deleted": False, "schema_type": "AVRO", **more}
    digest = fingerprint(TEXT, references, fields["metadata"], fields["rule_set"])  # type: ignore[arg-type]
    return StoredSchema("s", 1, 7, text=TEXT, references=references, digest=digest, **fields)  # type: ignore[arg-type]


RECORDS: list[tuple[Record, str, str | None]] = [
    (
        SchemaRecord("s", 1, stored()),
        '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
        '{"subject":"s","version":1,"id":7,"schema":"{\\"type\\":\\"string\\"}","deleted":false}',
    ),
    (
        SchemaRecord("s", 1, stored(schema_type="JSON", references=(Reference("a", "b", 2),), deleted=True)),
        '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
        '{"subject":"s","version":1,"id":7,"schemaType":"JSON","references":[{"name":"a","subject":"b","version":2}],'
        '"schema":"{\\"type\\":\\"string\\"}","deleted":true}',
    ),
    (SchemaRecord("s", 1, None), '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}', None),
    (
        ConfigRecord(None, {"compatibilityLevel": "FULL"}),
        '{"keytype":"CONFIG","magic":0}',
        '{"compatibilityLevel":"FULL"}',
    ),
    (
        ConfigRecord("ü", {"normalize": True}),
        '{"keytype":"CONFIG","subject":"ü","magic":0}',
        '{"subject":"ü","normalize":true}',
    ),
    (
        ModeRecord("s", Mode.IMPORT),
        '{"keytype":"MODE","subject":"s","magic":0}',
        '{"subject":"s","mode":"IMPORT"}',
    ),
    (ModeRecord(None, None), '{"keytype":"MODE","magic":0}', None),
    (
        DeleteSubjectRecord("s", 3),
        '{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}',
        '{"subject":"s","version":3}',
    ),
    (ClearSubjectRecord("s"), '{"keytype":"CLEAR_SUBJECT","subject":"s","magic":0}', '{"subject":"s"}'),
    (
        ContextRecord(".c", True),
        '{"keytype":"CONTEXT","tenant":"default","context":".c"}',
        '{"tenant":"default","context":".c"}',
    ),
    (NoopRecord(), '{"keytype":"NOOP","magic":0}', None),
    (
        AssociationRecord(KEY, None),
        '{"keytype":"ASSOC","tenant":"default","resourceName":"orders","resourceNamespace":"lkc","resourceType":"topic",'
        '"associationType":"value","subject":":.lkc:orders-value","magic":0}',
        None,
    ),
]


@pytest.mark.parametrize(("record", "key", "value"), RECORDS)
def test_a_record_is_written_and_read_as_confluent_does(record: Record, key: str, value: str | None) -> None:
    assert encode(record) == (key.encode(), None if value is None else value.encode())
    assert decode(key.encode(), None if value is None else value.encode()) == record


def test_an_association_comes_back() -> None:
    association = Association(KEY, "guid", "id-1", "STRONG", True, created_ms=5, updated_ms=9)
    assert decode(*encode(AssociationRecord(KEY, association)), 9) == AssociationRecord(KEY, association)


def test_what_a_newer_registry_adds_is_left_alone() -> None:
    key = b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1,"tenant":"x"}'
    value = {"subject": "s", "version": 1, "id": 7, "schemaType": "AVRO", "schema": TEXT, "deleted": False, "ts": 5}
    assert decode(key, json.dumps(value).encode()) == SchemaRecord("s", 1, stored())


def test_a_digest_in_the_record_counts() -> None:
    value = {"id": 7, "schema": TEXT, "md5": "AAAAAAAAAAAAAAAAAAAAAA=="}
    found = decode(RECORDS[0][1].encode(), json.dumps(value).encode())
    assert isinstance(found, SchemaRecord)
    assert found.schema is not None
    assert found.schema.digest == bytes(16)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"not json", None),
        (b"[]", None),
        (b'{"keytype":"OTHER"}', None),
        (b'{"keytype":["SCHEMA"]}', None),
        (b'{"keytype":"SCHEMA","subject":"s","version":0,"magic":1}', None),
        (b'{"keytype":"SCHEMA","subject":"s","version":1e3}', None),
        (b'{"keytype":"SCHEMA","subject":"s","version":1}', b'{"id":1}'),
        (b'{"keytype":"SCHEMA","subject":"s","version":1}', b'{"id":-1,"schema":"x"}'),
        (b'{"keytype":"SCHEMA","subject":"s","version":1}', b'{"id":1,"schema":"\\ud800"}'),
        (b'{"keytype":"SCHEMA","subject":"s","version":1}', b'{"id":1,"schema":"x","references":{}}'),
        (b'{"keytype":"SCHEMA","subject":"s","version":1}', b'{"id":1,"schema":"x","metadata":{"tags":{"a":5}}}'),
        (b'{"keytype":"MODE","magic":0}', b'{"mode":"SOMETIMES"}'),
    ],
)
def test_anything_else_is_a_bad_record(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(BadRecord):
        decode(key, value)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_keys = st.fixed_dictionaries(
    {
        "keytype": st.sampled_from(
            ["SCHEMA", "CONFIG", "MODE", "DELETE_SUBJECT", "CLEAR_SUBJECT", "CONTEXT", "ASSOC", "NOOP"]
        )
    },
    optional=dict.fromkeys(("subject", "version", "magic", "context", "tenant", "resourceName"), _json),
)
_values = st.dictionaries(
    st.sampled_from(
        ["id", "schema", "references", "metadata", "ruleSet", "deleted", "md5", "mode", "version", "lifecycle"]
    ),
    _json,
)


@given(
    _keys.map(lambda key: json.dumps(key).encode()) | st.binary(max_size=20),
    _values.map(lambda v: json.dumps(v).encode()) | st.binary(max_size=20) | st.none(),
)
def test_any_bytes_are_a_record_or_a_bad_one(key: bytes, value: bytes | None) -> None:
    try:
        record = decode(key, value)
    except BadRecord:
        return
    assert decode(*encode(record)) == record
