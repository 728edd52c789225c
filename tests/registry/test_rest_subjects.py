"""Registering, looking up and deleting over HTTP: answers, codes and messages are Confluent's."""

from __future__ import annotations

import json

import pytest

from tests.registry.avro import body, record
from tests.registry.rest import Rest

PROTO = 'syntax = "proto3"; message A { string a = 1; }'


def test_a_version_is_kept_and_found_again(rest: Rest, subject: str) -> None:
    first = rest.register(subject, "a")
    assert first["version"] == 1
    again = rest.register(subject, "a")
    assert (again["id"], again["version"]) == (first["id"], 1)
    second = rest.register(subject, "a", "b?")
    assert (second["version"], second["id"] > first["id"]) == (2, True)
    shown = rest.get(f"/subjects/{subject}/versions/2").body
    assert shown["subject"] == subject
    assert (shown["version"], shown["id"], shown["schema"]) == (2, second["id"], record("a", "b?"))
    assert rest.get(f"/subjects/{subject}/versions/latest").body == shown
    assert rest.get(f"/subjects/{subject}/versions/-1").body == shown
    assert rest.get(f"/subjects/{subject}/versions").body == [1, 2]
    assert rest.get(f"/subjects/{subject}/versions/1/schema").body == json.loads(record("a"))
    assert subject in rest.get("/subjects").body
    assert rest.get(f"/subjects?subjectPrefix={subject}").body == [subject]


def test_by_id(rest: Rest, subject: str) -> None:
    found = rest.register(subject, "by_id")
    rest.register(f"{subject}-other", "by_id")
    by_id = rest.get(f"/schemas/ids/{found['id']}").body
    assert by_id["schema"] == record("by_id")
    assert rest.get(f"/schemas/ids/{found['id']}?subject={subject}").body["subject"] == subject
    assert rest.get(f"/schemas/ids/{found['id']}?fetchMaxId=TRUE").body["maxId"] >= found["id"]
    assert rest.get(f"/schemas/ids/{found['id']}/schema").body == json.loads(record("by_id"))
    assert rest.get(f"/schemas/ids/{found['id']}/subjects").body == [subject, f"{subject}-other"]
    assert rest.get(f"/schemas/ids/{found['id']}/versions").body == [
        {"subject": subject, "version": 1},
        {"subject": f"{subject}-other", "version": 1},
    ]
    guid = by_id["guid"]
    assert rest.get(f"/schemas/guids/{guid}").body["schema"] == record("by_id")
    assert rest.get(f"/schemas/guids/{guid}/ids").body == [{"context": ".", "id": found["id"]}]


def test_look_up(rest: Rest, subject: str) -> None:
    found = rest.register(subject, "a")
    answer = rest.post(f"/subjects/{subject}", body("a"))
    assert (answer.body["version"], answer.body["id"]) == (1, found["id"])
    assert rest.post(f"/subjects/{subject}", body("b")).code == 40403
    assert rest.post(f"/subjects/{subject}-no", body("a")).code == 40401
    spaced = json.dumps(json.loads(record("a")), indent=2)
    assert rest.post(f"/subjects/{subject}?normalize=False&deleted=False", {"schema": spaced}).body["version"] == 1


def test_all_types(rest: Rest, subject: str) -> None:
    assert rest.get("/schemas/types").body == ["JSON", "PROTOBUF", "AVRO"]
    proto = rest.register(f"{subject}-p", schema=PROTO, schemaType="PROTOBUF")
    shown = rest.get(f"/schemas/ids/{proto['id']}").body
    assert shown["schemaType"] == "PROTOBUF"
    assert shown["schema"] == 'syntax = "proto3";\n\nmessage A {\n  string a = 1;\n}\n'
    serialized = rest.get(f"/schemas/ids/{proto['id']}?format=serialized").body["schema"]
    again = rest.register(f"{subject}-p", schema=serialized, schemaType="PROTOBUF")
    assert again["id"] == proto["id"]
    jsons = rest.register(f"{subject}-j", schema='{"type": "object"}', schemaType="JSON")
    assert rest.get(f"/schemas/ids/{jsons['id']}").body["schema"] == '{"type":"object"}'
    assert rest.post(f"/subjects/{subject}-x/versions", {"schema": "x", "schemaType": "XML"}).code == 42201


def test_what_is_not_there(rest: Rest, subject: str) -> None:
    rest.register(subject, "a")
    for path, code in (
        (f"/subjects/{subject}-no/versions", 40401),
        (f"/subjects/{subject}-no/versions/1", 40401),
        (f"/subjects/{subject}/versions/2", 40402),
        (f"/subjects/{subject}/versions/0", 42202),
        (f"/subjects/{subject}/versions/x", 42202),
        (f"/subjects/{subject}/versions/2147483648", 42202),
        ("/schemas/ids/999999", 40403),
        ("/schemas/guids/00000000-0000-0000-0000-000000000000", 40403),
        (f"/subjects/{subject}/metadata?key=a&value=b", 40403),
    ):
        answer = rest.get(path)
        assert (answer.code, answer.status) == (code, code // 100), path


@pytest.mark.parametrize(
    "document",
    [
        {"schema": "{"},
        {"schema": ""},
        {"schema": '{"type":"record","name":"A"}'},
        {"schema": '{"type":"record","name":"A","fields":[{"name":"a","type":"int","default":"x"}]}'},
        {"schema": "{", "schemaType": "JSON"},
        {"schema": 'syntax = "proto3"; message A { B b = 1; }', "schemaType": "PROTOBUF"},
        {"schema": '"int"', "references": [{"name": "a", "subject": "no", "version": 1}]},
        {},
    ],
)
def test_what_is_no_schema(rest: Rest, subject: str, document: object) -> None:
    answer = rest.post(f"/subjects/{subject}/versions", document)
    assert (answer.status, answer.code) == (422, 42201)


def test_incompatible(rest: Rest, subject: str) -> None:
    rest.register(subject, "a")
    answer = rest.post(f"/subjects/{subject}/versions", body("a", "b"))
    assert (answer.status, answer.code) == (409, 40901)
    assert answer.body["message"].startswith(
        f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: [{{errorType'
    )
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in answer.body["message"]
    forced = rest.post(f"/subjects/{subject}/versions?force=true", body("a", "b"))
    assert forced.body["version"] == 2


def test_compatibility_checks(rest: Rest, subject: str) -> None:
    path = f"/compatibility/subjects/{subject}/versions"
    assert rest.post(f"{path}/latest", body("a")).body == {"is_compatible": True}
    rest.register(subject, "a")
    rest.register(subject, "a", "b?")
    assert rest.post(f"{path}/latest", body("a", "c?")).body == {"is_compatible": True}
    assert rest.post(f"{path}/latest", body("a", "c")).body == {"is_compatible": False}
    verbose = rest.post(f"{path}/latest?verbose=true", body("a", "c")).body
    assert not verbose["is_compatible"]
    assert "{oldSchemaVersion: 2}" in verbose["messages"]
    assert verbose["messages"][-1] == "{validateFields: 'false', compatibility: 'BACKWARD'}"
    assert rest.post(f"{path}/latest?verbose=true", body("a", "c?")).body == {"is_compatible": True, "messages": []}
    assert rest.post(f"{path}?verbose=true", body("a")).body["is_compatible"]
    assert rest.post(f"{path}/7", body("a")).code == 40402
    assert rest.post(f"{path}/latest", {"schema": "{"}).code == 42201
    broken = rest.post(f"{path}/latest?verbose=true", {"schema": "{"})
    assert (broken.status, broken.body["is_compatible"]) == (200, False)


def test_transitive_levels_look_at_all_versions(rest: Rest, subject: str) -> None:
    rest.register(subject, "a")
    rest.put(f"/config/{subject}", {"compatibility": "NONE"})
    rest.register(subject, "a:string")
    assert rest.put(f"/config/{subject}", {"compatibility": "BACKWARD"}).status == 200
    path = f"/compatibility/subjects/{subject}/versions"
    assert rest.post(path, body("a:string", "b?")).body == {"is_compatible": True}
    rest.put(f"/config/{subject}", {"compatibility": "BACKWARD_TRANSITIVE"})
    assert rest.post(path, body("a:string", "b?")).body == {"is_compatible": False}
    assert rest.post(f"/subjects/{subject}/versions", body("a:string", "b?")).code == 40901


def test_soft_deletion_hides_and_keeps_ids_readable(rest: Rest, subject: str) -> None:
    first, second = rest.register(subject, "soft"), rest.register(subject, "soft", "b?")
    assert rest.delete(f"/subjects/{subject}/versions/1").body == 1
    assert rest.get(f"/subjects/{subject}/versions").body == [2]
    assert rest.get(f"/subjects/{subject}/versions?deleted=true").body == [1, 2]
    assert rest.get(f"/subjects/{subject}/versions?deletedOnly=true").body == [1]
    assert rest.get(f"/subjects/{subject}/versions?deletedAsNegative=true").body == [-1, 2]
    assert rest.get(f"/subjects/{subject}/versions/1").code == 40402
    assert rest.get(f"/subjects/{subject}/versions/1?deleted=true").body["deleted"] is True
    assert rest.get(f"/schemas/ids/{first['id']}").body["schema"] == record("soft")
    assert rest.post(f"/subjects/{subject}", body("soft")).code == 40403
    assert rest.post(f"/subjects/{subject}?deleted=true", body("soft")).body["version"] == 1
    assert rest.delete(f"/subjects/{subject}/versions/1").code == 40406
    assert rest.delete(f"/subjects/{subject}/versions/2?permanent=true").code == 40407
    again = rest.register(subject, "soft")
    assert (again["version"], again["id"]) == (3, first["id"])
    assert again["id"] != second["id"]


def test_permanent_deletion(rest: Rest, subject: str) -> None:
    found = rest.register(subject, "permanent")
    rest.register(subject, "permanent", "b?")
    assert rest.delete(f"/subjects/{subject}?permanent=true").code == 40405
    assert rest.delete(f"/subjects/{subject}").body == [1, 2]
    assert subject not in rest.get("/subjects").body
    assert subject in rest.get("/subjects?deleted=true").body
    assert subject in rest.get("/subjects?deletedOnly=true").body
    assert rest.get(f"/subjects/{subject}/versions").code == 40401
    assert rest.delete(f"/subjects/{subject}").code == 40404
    assert rest.delete(f"/subjects/{subject}/versions/1?permanent=true").body == 1
    assert rest.get(f"/schemas/ids/{found['id']}").code == 40403
    assert rest.delete(f"/subjects/{subject}?permanent=True").body == [2]
    assert rest.get(f"/subjects/{subject}/versions?deleted=true").code == 40401
    assert rest.delete(f"/subjects/{subject}").code == 40401
    assert rest.register(subject, "permanent")["version"] == 1


def test_metadata_and_rules_are_kept(rest: Rest, subject: str) -> None:
    metadata = {"tags": {"a": ["PII"]}, "properties": {"owner": "shop"}, "sensitive": ["s"]}
    rule = {"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true", "disabled": False}
    found = rest.register(subject, "a", metadata=metadata, ruleSet={"domainRules": [rule]})
    assert found["metadata"] == metadata
    shown = rest.get(f"/subjects/{subject}/versions/1").body
    assert shown["metadata"] == metadata
    assert shown["ruleSet"]["domainRules"][0]["expr"] == "true"
    other = rest.register(subject, "a", metadata={"properties": {"owner": "else"}})
    assert other["id"] != found["id"]
    assert rest.get(f"/subjects/{subject}/metadata?key=owner&value=shop").body["version"] == 1
    bad = rest.post(f"/subjects/{subject}/versions", body("a", ruleSet={"domainRules": [{"name": "r"}]}))
    assert bad.code in (422, 42210)


def test_normalize(rest: Rest, subject: str) -> None:
    spread = 'syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/any.proto"; message A { google.protobuf.Timestamp t = 2; string a = 1; }'
    tidy = 'syntax = "proto3"; import "google/protobuf/any.proto"; import "google/protobuf/timestamp.proto"; message A { string a = 1; .google.protobuf.Timestamp t = 2; }'
    path = f"/subjects/{subject}/versions?normalize=true"
    first = rest.post(path, {"schema": spread, "schemaType": "PROTOBUF"}).body
    assert rest.post(path, {"schema": tidy, "schemaType": "PROTOBUF"}).body["id"] == first["id"]
    other = rest.post(f"/subjects/{subject}", {"schema": spread, "schemaType": "PROTOBUF"})
    assert other.code == 40403
    rest.put(f"/config/{subject}", {"normalize": True})
    assert rest.post(f"/subjects/{subject}", {"schema": spread, "schemaType": "PROTOBUF"}).body["version"] == 1


def test_listing_schemas(rest: Rest, subject: str) -> None:
    for fields in (("a",), ("a", "b?")):
        rest.register(f"{subject}-1", *fields)
        rest.register(f"{subject}-2", *fields)
    found = rest.get(f"/schemas?subjectPrefix={subject}").body
    assert [(each["subject"], each["version"]) for each in found] == [
        (f"{subject}-{s}", v) for s in (1, 2) for v in (1, 2)
    ]
    latest = rest.get(f"/schemas?subjectPrefix={subject}&latestOnly=true&limit=1&offset=1").body
    assert [(each["subject"], each["version"]) for each in latest] == [(f"{subject}-2", 2)]
    assert rest.get(f"/subjects?subjectPrefix={subject}&offset=1").body == [f"{subject}-2"]


def test_subjects_of_any_name(rest: Rest, subject: str) -> None:
    for name in ("with%20space", "with%2Fslash", "%C3%BC", "a.b-c_d%3Ae"):
        assert rest.register(f"{subject}{name}", "a")["version"] == 1
        assert rest.get(f"/subjects/{subject}{name}/versions").body == [1]
    assert rest.post("/subjects/%00/versions", body("a")).code == 42208
