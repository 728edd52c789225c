"""What Java's serializers ask, replayed: the same paths, parameters and headers, in the same order."""

from __future__ import annotations

import pytest

from headrace.registry.server import RegistryServer
from tests.registry.avro import body, record
from tests.registry.rest import MEDIA_TYPE, Rest

HEADERS = {
    "Accept": f"{MEDIA_TYPE}, application/vnd.schemaregistry+json, application/json",
    "Confluent-Accept-Unknown-Properties": "true",
    "Confluent-Client-Version": "java/8.4.0",
}


@pytest.fixture
def java(server: RegistryServer) -> Rest:
    return Rest(server.url, headers=HEADERS)


def test_serialize_and_deserialize(java: Rest, subject: str) -> None:
    """Registers, then another process reads the id from a record and asks for its schema."""
    topic, value = subject, f"{subject}-value"
    found = java.get(f"/associations/resources/-/{topic}?resourceType=topic&associationType=value")
    assert found.status in (200, 404)
    registered = java.post(f"/subjects/{value}/versions?normalize=false", body("a"))
    id_ = registered.body["id"]
    shown = java.get(f"/schemas/ids/{id_}?fetchMaxId=false&subject={value}").body
    assert shown["schema"] == record("a")
    assert "maxId" not in shown
    assert java.get(f"/schemas/ids/{id_}?fetchMaxId=true&subject={value}").body["maxId"] >= id_
    looked_up = java.post(f"/subjects/{value}?normalize=false&deleted=true", body("a")).body
    assert (looked_up["version"], looked_up["id"]) == (1, id_)


def test_without_registering(java: Rest, subject: str) -> None:
    """Java keeps in mind that a subject or schema is not there when it is told one of these two codes."""
    assert java.post(f"/subjects/{subject}?normalize=false&deleted=false", body("a")).code == 40401
    java.register(subject, "a")
    assert java.post(f"/subjects/{subject}?normalize=false&deleted=false", body("b")).code == 40403
    assert java.get(f"/subjects/{subject}/versions/latest").body["schema"] == record("a")
    assert java.get(f"/subjects/{subject}/versions/1?deleted=true").body["version"] == 1
    assert java.get("/schemas/ids/987654?fetchMaxId=false").code == 40403


def test_ids_in_headers(java: Rest, subject: str) -> None:
    """Records that carry a GUID in a header instead of an id in front."""
    guid = java.register(subject, "a", "guid?")["guid"]
    assert java.get(f"/schemas/guids/{guid}").body["schema"] == record("a", "guid?")


def test_the_latest_with_metadata(java: Rest, subject: str) -> None:
    for major in ("1", "2"):
        java.register(subject, "a", metadata={"properties": {"major": major}})
    found = java.get(f"/subjects/{subject}/metadata?key=major&value=1&deleted=false").body
    assert (found["version"], found["metadata"]["properties"]["major"]) == (1, "1")


def test_the_rest_of_the_client(java: Rest, subject: str) -> None:
    java.register(subject, "a")
    assert java.get("/subjects?deleted=false&subjectPrefix=:*:").status == 200
    assert java.get(f"/subjects/{subject}/versions?deleted=false").body == [1]
    assert java.put(f"/config/{subject}", {"compatibility": "FULL"}).body == {"compatibility": "FULL"}
    assert java.get(f"/config/{subject}?defaultToGlobal=false").body == {"compatibilityLevel": "FULL"}
    assert java.get(f"/mode/{subject}?defaultToGlobal=true").body == {"mode": "READWRITE"}
    assert java.post(f"/compatibility/subjects/{subject}/versions/latest?verbose=true", body("a")).body["is_compatible"]
    assert java.get("/v1/metadata/id").body["scope"]["clusters"]
    assert java.delete(f"/subjects/{subject}?permanent=false").body == [1]
