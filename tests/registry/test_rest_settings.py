"""Configs, modes and contexts over HTTP, at every level, with Confluent's codes."""

from __future__ import annotations

import pytest

from tests.registry.avro import body
from tests.registry.rest import Rest


def test_config_of_a_subject(rest: Rest, subject: str) -> None:
    assert rest.get("/config").body == {"compatibilityLevel": "BACKWARD"}
    answer = rest.get(f"/config/{subject}")
    assert (answer.status, answer.code) == (404, 40408)
    assert rest.get(f"/config/{subject}?defaultToGlobal=true").body == {"compatibilityLevel": "BACKWARD"}
    assert rest.put(f"/config/{subject}", {"compatibility": "full"}).body == {"compatibility": "FULL"}
    assert rest.get(f"/config/{subject}").body == {"compatibilityLevel": "FULL"}
    assert rest.delete(f"/config/{subject}").body == {"compatibilityLevel": "FULL"}
    assert rest.get(f"/config/{subject}").code == 40408
    assert rest.delete(f"/config/{subject}").code == 40401


def test_config_says_more_than_a_level(rest: Rest, subject: str) -> None:
    wanted = {"compatibilityGroup": "major", "normalize": True, "alias": "elsewhere", "validateFields": True}
    rest.put(f"/config/{subject}", {"compatibility": "BACKWARD", **wanted})
    assert rest.get(f"/config/{subject}").body == {"compatibilityLevel": "BACKWARD", **wanted}
    # What is not named stays, what is null goes.
    rest.put(f"/config/{subject}", {"alias": None, "normalize": False})
    found = rest.get(f"/config/{subject}").body
    assert "alias" not in found
    assert (found["normalize"], found["compatibilityGroup"]) == (False, "major")


@pytest.mark.parametrize("level", ["", "SIDEWAYS", 7])
def test_no_such_level(rest: Rest, subject: str, level: object) -> None:
    answer = rest.put(f"/config/{subject}", {"compatibility": level})
    assert (answer.status, answer.code) == (422, 42203)


def test_compatibility_groups_are_compared_apart(rest: Rest, subject: str) -> None:
    rest.put(f"/config/{subject}", {"compatibility": "BACKWARD", "compatibilityGroup": "major"})
    rest.register(subject, "a", metadata={"properties": {"major": "1"}})
    rest.register(subject, "z:string", metadata={"properties": {"major": "2"}})
    bad = body("a", "b", metadata={"properties": {"major": "1"}})
    assert rest.post(f"/subjects/{subject}/versions", bad).code == 40901
    assert rest.register(subject, "a", "b?", metadata={"properties": {"major": "1"}})["version"] == 3


def test_an_alias_is_read_instead(rest: Rest, subject: str) -> None:
    rest.register(f"{subject}-real", "a")
    rest.put(f"/config/{subject}", {"alias": f"{subject}-real"})
    assert rest.get(f"/subjects/{subject}/versions/latest").body["subject"] == f"{subject}-real"


def test_reserved_fields(rest: Rest, subject: str) -> None:
    rest.put(f"/config/{subject}", {"validateFields": True})
    reserved = {"properties": {"confluent:reserved": "gone, old"}}
    rest.register(subject, "a", metadata=reserved)
    answer = rest.post(f"/subjects/{subject}/versions", body("a", "old?", metadata=reserved))
    assert answer.code == 40901
    assert "conflicts with the reserved field old" in answer.body["message"]
    assert rest.post(f"/subjects/{subject}/versions", body("a", "b?", metadata={})).code == 40901


def test_modes(rest: Rest, subject: str) -> None:
    assert rest.get("/mode").body == {"mode": "READWRITE"}
    assert rest.get(f"/mode/{subject}").code == 40409
    assert rest.get(f"/mode/{subject}?defaultToGlobal=true").body == {"mode": "READWRITE"}
    rest.register(subject, "a")
    assert rest.put(f"/mode/{subject}", {"mode": "READONLY"}).body == {"mode": "READONLY"}
    for answer in (
        rest.post(f"/subjects/{subject}/versions", body("a", "b?")),
        rest.delete(f"/subjects/{subject}"),
        rest.delete(f"/subjects/{subject}/versions/1"),
        rest.put(f"/config/{subject}", {"compatibility": "NONE"}),
    ):
        assert (answer.status, answer.code) == (422, 42205)
    assert rest.get(f"/subjects/{subject}/versions").body == [1]
    assert rest.delete(f"/mode/{subject}").body == {"mode": "READONLY"}
    assert rest.delete(f"/mode/{subject}").code == 40401
    assert rest.register(subject, "a", "b?")["version"] == 2
    assert rest.put(f"/mode/{subject}", {"mode": "ASLEEP"}).code == 42204
    assert rest.put(f"/mode/{subject}", {"mode": "FORWARD"}).code == 42204


def test_import_takes_ids_as_they_are(rest: Rest, subject: str) -> None:
    assert rest.post(f"/subjects/{subject}/versions", body("a", id=5000)).code == 42205
    assert rest.put(f"/mode/{subject}", {"mode": "IMPORT"}).status == 200
    assert rest.post(f"/subjects/{subject}/versions", body("a")).code == 42205
    found = rest.post(f"/subjects/{subject}/versions", body("imported", id=5000, version=7)).body
    assert (found["id"], found["version"]) == (5000, 7)
    # Import does not ask whether versions fit one another.
    assert rest.post(f"/subjects/{subject}/versions", body("x", "y", id=5001, version=9)).body["id"] == 5001
    taken = rest.post(f"/subjects/{subject}/versions", body("other", id=5000, version=10))
    assert taken.code in (42205, 42207)
    rest.delete(f"/mode/{subject}")
    assert rest.get(f"/subjects/{subject}/versions").body == [7, 9]
    assert rest.register(f"{subject}-after", "after_import")["id"] > 5001


def test_import_starts_with_nothing_there(rest: Rest, subject: str) -> None:
    rest.register(subject, "a")
    answer = rest.put(f"/mode/{subject}", {"mode": "IMPORT"})
    assert answer.code == 42205
    assert rest.put(f"/mode/{subject}?force=true", {"mode": "IMPORT"}).status == 200
    rest.delete(f"/mode/{subject}")


def test_contexts_are_worlds_of_their_own(rest: Rest) -> None:
    first = rest.register(":.left:orders", "a", "b")
    assert rest.register(":.right:orders", "c")["id"] == first["id"]
    assert {".", ".left", ".right"} <= set(rest.get("/contexts").body)
    assert rest.get("/contexts?contextPrefix=.le").body == [".left"]
    assert rest.get("/contexts/.left/subjects").body == [":.left:orders"]
    assert ":.left:orders" in rest.get("/subjects").body
    assert rest.get("/subjects?subjectPrefix=:.left:").body == [":.left:orders"]
    assert ":.left:orders" not in rest.get("/subjects?subjectPrefix=").body
    left = rest.get("/contexts/.left/subjects/orders/versions/1").body
    assert (left["subject"], left["id"]) == (":.left:orders", first["id"])
    assert rest.get(f"/contexts/.right/schemas/ids/{first['id']}").body["schema"] != left["schema"]
    found = rest.get(f"/schemas/ids/{first['id']}?subject=:.left:orders").body
    assert found["schema"] == left["schema"]
    assert rest.put("/contexts/.left/config", {"compatibility": "NONE"}).status == 200
    assert rest.get("/config/:.left:orders?defaultToGlobal=true").body == {"compatibilityLevel": "NONE"}
    assert rest.get("/config/:.right:orders?defaultToGlobal=true").body == {"compatibilityLevel": "BACKWARD"}
    assert rest.register(":.left:orders", "z:string")["version"] == 2


def test_a_context_is_deleted_when_it_is_empty(rest: Rest) -> None:
    rest.register(":.brief:orders", "a")
    assert rest.delete("/contexts/.brief").code == 42211
    rest.delete("/subjects/:.brief:orders")
    rest.delete("/subjects/:.brief:orders?permanent=true")
    assert rest.delete("/contexts/.brief").status == 204
    assert ".brief" not in rest.get("/contexts").body


def test_references_between_schemas(rest: Rest, subject: str) -> None:
    money = rest.register(f"{subject}-money", schema='{"type":"record","name":"Money","fields":[]}')
    order = {
        "schema": '{"type":"record","name":"Order","fields":[{"name":"m","type":"Money"}]}',
        "references": [{"name": "Money", "subject": f"{subject}-money", "version": 1}],
    }
    found = rest.register(subject, **order)
    assert found["references"] == order["references"]
    assert rest.get(f"/subjects/{subject}-money/versions/1/referencedby").body == [found["id"]]
    resolved = rest.get(f"/schemas/ids/{found['id']}?format=resolved").body["schema"]
    assert '"name":"Money"' in resolved
    answer = rest.delete(f"/subjects/{subject}-money/versions/1")
    assert (answer.status, answer.code) == (422, 42206)
    assert rest.delete(f"/subjects/{subject}-money").code == 42206
    rest.delete(f"/subjects/{subject}")
    assert rest.get(f"/subjects/{subject}-money/versions/1/referencedby").body == []
    assert rest.delete(f"/subjects/{subject}-money").body == [1]
    assert rest.delete(f"/subjects/{subject}-money?permanent=true").code == 42206
    rest.delete(f"/subjects/{subject}?permanent=true")
    assert rest.delete(f"/subjects/{subject}-money?permanent=true").body == [1]
    assert rest.get(f"/schemas/ids/{money['id']}").code == 40403


def test_references_in_json_schema_and_protobuf(rest: Rest, subject: str) -> None:
    rest.register(f"{subject}-j1", schema='{"$id": "money.json", "type": "integer"}', schemaType="JSON")
    user = '{"type": "object", "properties": {"m": {"$ref": "money.json"}}}'
    references = [{"name": "money.json", "subject": f"{subject}-j1", "version": 1}]
    assert rest.register(f"{subject}-j2", schema=user, schemaType="JSON", references=references)["version"] == 1
    proto = 'syntax = "proto3"; package m; message Money { int64 cents = 1; }'
    rest.register(f"{subject}-p1", schema=proto, schemaType="PROTOBUF")
    user = 'syntax = "proto3"; import "money.proto"; message Order { m.Money m = 1; }'
    references = [{"name": "money.proto", "subject": f"{subject}-p1", "version": 1}]
    assert rest.register(f"{subject}-p2", schema=user, schemaType="PROTOBUF", references=references)["version"] == 1
    # The latest version of a reference is asked for with -1.
    references[0]["version"] = -1
    assert rest.post(
        f"/subjects/{subject}-p2", {"schema": user, "schemaType": "PROTOBUF", "references": references}
    ).body["version"] == 1  # fmt: skip


def test_associations_let_new_serializers_go_on(rest: Rest, subject: str) -> None:
    answer = rest.get(f"/associations/resources/-/{subject}?resourceType=topic&associationType=value")
    assert (answer.status, answer.body) in ((200, []), (404, answer.body))
    assert rest.get("/exporters").body == []
    assert rest.get("/exporters/x").status == 404
