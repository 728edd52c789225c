"""The registry as an HTTP server: media types, sizes, origins, users, and probes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.registry.users import hashed
from headrace.testing import LocalBroker
from tests.registry.avro import body
from tests.registry.conftest import registry_on
from tests.registry.rest import MEDIA_TYPE, Rest


def test_media_types(rest: Rest) -> None:
    assert rest.get("/subjects").headers["content-type"] == MEDIA_TYPE
    for accepted, answered in (
        ("application/json", "application/json"),
        ("application/vnd.schemaregistry+json, application/json", "application/vnd.schemaregistry+json"),
        ("*/*", MEDIA_TYPE),
        (f"application/json; q=0.5, {MEDIA_TYPE}", MEDIA_TYPE),
    ):
        assert rest.get("/subjects", Accept=accepted).headers["content-type"] == answered
    assert rest.get("/subjects", Accept="image/png").status == 406
    for sent in (MEDIA_TYPE, "application/json", "application/octet-stream", "application/json; charset=utf-8"):
        assert rest.post("/subjects/media/versions", body("a"), Content_Type=sent).status == 200
    assert rest.post("/subjects/media/versions", body("a"), Content_Type="text/xml").status == 415


@pytest.mark.parametrize(
    "document", [b"{", b"[]", b"7", b'"x"', b'{"schema": 7}', b'{"schema": "\\ud800"}', b"\xff", b"[" * 100_000]
)
def test_bodies_that_make_no_sense(rest: Rest, document: bytes) -> None:
    answer = rest.post("/subjects/nonsense/versions", document)
    assert answer.status in (400, 422)
    assert answer.code


def test_large_bodies_are_refused(rest: Rest) -> None:
    answer = rest.post("/subjects/large/versions", {"schema": "x" * (1 << 20)})
    assert answer.status == 413


def test_unknown_properties_and_parameters_are_left_alone(rest: Rest) -> None:
    answer = rest.post("/subjects/unknown/versions?surprise=1", body("a", surprise=[1]))
    assert answer.status == 200


def test_pages_of_other_sites_are_refused(rest: Rest) -> None:
    assert rest.get("/subjects", Origin="https://example.org").status == 403
    assert rest.get("/subjects", Host="example.org").status == 400


def test_what_is_not_there_is_said_in_json(rest: Rest) -> None:
    assert rest.get("/nothing").code == 404
    assert rest.call("PATCH", "/subjects").code == 405
    assert rest.get("/").body == {}
    assert rest.get("/v1/metadata/version").body["version"]
    assert rest.get("/healthz").body == {"status": "ok", "problems": []}
    assert "headrace_registry" in rest.get("/metrics").body


@pytest.fixture(scope="module")
def guarded(kafka: LocalBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    users: Path = tmp_path_factory.mktemp("users") / "users"
    users.write_text(f"# who may\nwriter: {hashed('w')}, readwrite\nreader: r, readonly\n")
    with registry_on(
        kafka.bootstrap_servers,
        headrace_users_file=str(users),
        kafkastore_topic="_guarded",
        schema_registry_group_id="guarded",
    ) as running:
        yield running.url


def _as(url: str, name: str, password: str) -> Rest:
    token = base64.b64encode(f"{name}:{password}".encode()).decode()
    return Rest(url, headers={"Authorization": f"Basic {token}"})


def test_users_and_their_roles(guarded: str) -> None:
    anonymous = Rest(guarded).get("/subjects")
    assert anonymous.status == 401
    assert anonymous.headers["www-authenticate"].startswith("Basic")
    assert Rest(guarded).get("/healthz").status == 200
    assert _as(guarded, "writer", "wrong").get("/subjects").status == 401
    assert _as(guarded, "nobody", "w").get("/subjects").status == 401
    assert Rest(guarded, headers={"Authorization": "Bearer x"}).get("/subjects").status == 401
    writer, reader = _as(guarded, "writer", "w"), _as(guarded, "reader", "r")
    assert writer.register("a", "a")["version"] == 1
    assert reader.get("/subjects").body == ["a"]
    assert reader.post("/subjects/a", json.loads(json.dumps(body("a")))).body["version"] == 1
    for answer in (
        reader.post("/subjects/a/versions", body("a", "b?")),
        reader.delete("/subjects/a"),
        reader.put("/config", {"compatibility": "NONE"}),
        reader.put("/mode/a", {"mode": "READONLY"}),
    ):
        assert (answer.status, answer.code) == (403, 40301)
