"""The registry's subjects in a real browser: listed, compared, checked, registered; and records of a topic decoded with its schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from headrace.console.masking import MASK, Masking
from headrace.console.records import Record
from headrace.console.registry import Lens
from headrace.console.schema.text import Line, compared
from headrace.registry.http_client import RemoteRegistry
from headrace.registry.server import RegistryServer
from headrace.testing.clients import Clients
from headrace.testing.console import RunningConsole, console_process
from tests.console.conftest import Open
from tests.console.test_accessibility import findings
from tests.registry.conftest import registry_on


def order(*more: dict[str, Any]) -> dict[str, Any]:
    fields = [{"name": "id", "type": "long"}, *more]
    return {"schemaType": "AVRO", "schema": json.dumps({"type": "record", "name": "Order", "fields": fields})}


NOTE = {"name": "note", "type": ["null", "string"], "default": None}


@pytest.fixture(scope="module")
def registry(kafka: Clients) -> Iterator[RegistryServer]:
    with registry_on(kafka.bootstrap_servers) as server:
        yield server


@pytest.fixture(scope="module")
def with_registry(kafka: Clients, registry: RegistryServer) -> Iterator[RunningConsole]:
    nobody = ("--engine", "http://127.0.0.1:1")
    with console_process(kafka.bootstrap_servers, *nobody, "--registry", registry.url) as running:
        yield running


def test_a_subject_is_found_compared_checked_and_extended(
    open_page: Open, registry: RegistryServer, with_registry: RunningConsole
) -> None:
    remote = RemoteRegistry(registry.url)
    remote.register("orders-value", order())
    remote.register("orders-value", order(NOTE))
    page = open_page("/schemas", at=with_registry.url)
    page.get_by_role("link", name="orders-value").click()
    page.get_by_text("BACKWARD").first.wait_for()
    page.locator("[data-kind=added]", has_text='"note"').wait_for()
    assert findings(page) == []
    page.get_by_label("Compared with").select_option("")
    page.get_by_role("region", name="The schema").wait_for()
    page.get_by_role("button", name="New version").click()
    box = page.get_by_role("dialog")
    box.get_by_label("Schema", exact=True).fill(order({"name": "total", "type": "double"})["schema"])
    box.get_by_role("button", name="Check").click()
    box.get_by_text("It breaks what there is").wait_for()
    box.get_by_label("Schema", exact=True).fill(order(NOTE, {"name": "n", "type": "int", "default": 0})["schema"])
    box.get_by_role("button", name="Check").click()
    box.get_by_text("It fits").wait_for()
    box.get_by_role("button", name="Register").click()
    page.locator("[data-kind=added]", has_text='"n"').wait_for()
    assert remote.versions("orders-value") == [1, 2, 3]


def test_a_new_subject(open_page: Open, registry: RegistryServer, with_registry: RunningConsole) -> None:
    page = open_page("/schemas", at=with_registry.url)
    page.get_by_role("button", name="New subject").click()
    box = page.get_by_role("dialog")
    box.get_by_role("button", name="Register").click()
    box.get_by_text("Which subject?").wait_for()
    box.get_by_label("Subject").fill("page/new value")
    box.get_by_label("Type").select_option("PROTOBUF")
    box.get_by_label("Schema", exact=True).fill('syntax = "proto3"; message A { int32 id = 1; }')
    box.get_by_role("button", name="Register").click()
    page.get_by_role("link", name="page/new value").click()
    page.get_by_text("message A").wait_for()


def test_records_are_shown_decoded(
    open_page: Open, kafka: Clients, registry: RegistryServer, with_registry: RunningConsole
) -> None:
    kafka.create_topic("decoded", 1)
    serializer = AvroSerializer(SchemaRegistryClient({"url": registry.url}), order(NOTE)["schema"])
    producer = kafka.producer()
    for number in range(3):
        value = {"id": number, "note": "<b>bold</b>"}
        producer.produce("decoded", serializer(value, SerializationContext("decoded", MessageField.VALUE)), b"k")
    producer.produce("decoded", b"\0\0\0\xff\xffno schema", b"k")
    assert producer.flush(30) == 0
    page = open_page("/topics/decoded", at=with_registry.url)
    page.get_by_label("Expression").fill("value.id == 2")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_text("1 found, 4 looked at").wait_for()
    page.get_by_role("button", name="Open the record at offset 2").click()
    page.get_by_role("dialog").get_by_text("avro, schema").wait_for()
    page.get_by_role("dialog").get_by_text("<b>bold</b>").first.wait_for()


def test_without_a_registry_the_page_says_so(open_page: Open) -> None:
    page = open_page("/schemas")
    page.get_by_text("Nobody answers at http://127.0.0.1:1").wait_for()


def framed(registry: RegistryServer) -> bytes:
    serializer = AvroSerializer(SchemaRegistryClient({"url": registry.url}), order(NOTE)["schema"])
    data = serializer({"id": 1, "note": "secret"}, SerializationContext("lens", MessageField.VALUE))
    assert isinstance(data, bytes)
    return data


def record(value: bytes) -> Record:
    return Record("t", 0, 0, None, None, b"k", value, ())


def test_masked_fields_are_hidden_in_what_was_decoded(registry: RegistryServer) -> None:
    seen = Lens(registry.url, Masking(["note"])).apply(record(framed(registry)))
    assert json.loads(seen.value or b"") == {"id": 1, "note": MASK}
    assert seen.value_schema.startswith("avro, schema ")


def test_what_no_schema_explains_is_left_as_it_is(registry: RegistryServer) -> None:
    for lens in (Lens(registry.url), Lens("http://127.0.0.1:1"), Lens()):
        for data in (b"plain", b"\0", b"\0\0\0\xff\xff?"):
            assert lens.apply(record(data)) == record(data)
    broken = Lens(registry.url).apply(record(framed(registry) + b"more"))
    assert broken.value == framed(registry) + b"more" and "bytes left" in broken.value_schema


def test_a_comparison_is_of_meaning() -> None:
    assert compared('{"a":1}', '{ "a": 1 }') == [Line("{", "same"), Line('  "a": 1', "same"), Line("}", "same")]
    assert [line.sign + line.text for line in compared("a\nb", "a\nc")] == [" a", "-b", "+c"]
