"""`headrace produce` and `headrace consume` with the schemas of a registry; Confluent's own serializers are on the other side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from headrace import client
from headrace.registry.server import RegistryServer
from tests.cli.conftest import Run
from tests.registry.conftest import registry_on

AVRO = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": null}]}"""
PROTO = 'syntax = "proto3"; import "google/protobuf/timestamp.proto"; message First {} message Order { int32 id = 1; google.protobuf.Timestamp at = 2; }'
JSON = '{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}'


@pytest.fixture(scope="module")
def registry(bootstrap: str) -> Iterator[RegistryServer]:
    with registry_on(bootstrap) as server:
        yield server


@pytest.fixture
def schema(cli: Run, registry: RegistryServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Writes a file, and makes the registry the commands' default."""
    monkeypatch.setenv("HEADRACE_REGISTRY", registry.url)

    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def raw(bootstrap: str, topic: str) -> list[bytes | None]:
    consumer = client.consumer(bootstrap, "raw", {"auto.offset.reset": "earliest", "enable.partition.eof": True})
    consumer.subscribe([topic])
    try:
        found: list[bytes | None] = []
        while not found:
            found += [one.value() for one in consumer.consume(100, 1.0) if one.error() is None]
        return found
    finally:
        consumer.close()


def test_avro_goes_in_by_file_and_out_as_json(
    cli: Run, topic: str, schema: Any, registry: RegistryServer, bootstrap: str
) -> None:
    file = schema("order.avsc", AVRO)
    made = cli("produce", topic, "--value-schema", file, "-k", "a", "-v", '{"id": 1, "note": "ü"}', "-v", '{"id": 2}')
    assert made.code == 0, made.err
    shown = cli("consume", topic, "--value-format", "avro", "--json", "--merge")
    assert [one["value"] for one in shown.json_lines] == [{"id": 1, "note": "ü"}, {"id": 2, "note": None}]
    assert cli("consume", topic, "--value-format", "auto", "--format", "{key} {value}").out.splitlines()[0] == (
        'a {"id": 1, "note": "ü"}'
    )
    reader = AvroDeserializer(SchemaRegistryClient({"url": registry.url}))
    field = SerializationContext(topic, MessageField.VALUE)
    assert [reader(data, field)["id"] for data in raw(bootstrap, topic)] == [1, 2]
    # The subject has its schema now.
    assert cli("produce", topic, "--value-format", "avro", "-v", '{"id": 3}').code == 0
    assert cli("produce", topic, "--value-schema", f"{topic}-value:1", "-v", '{"id": 4}').code == 0
    only_id = schema("id.avsc", '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "double"}]}')
    shown = cli("consume", topic, "--value-format", "avro", "--value-schema", only_id, "--json")
    assert sorted(one["value"]["id"] for one in shown.json_lines) == [1.0, 2.0, 3.0, 4.0]


def test_what_confluents_serializer_wrote_is_shown(
    cli: Run, topic: str, schema: Any, registry: RegistryServer, bootstrap: str
) -> None:
    serializer = AvroSerializer(SchemaRegistryClient({"url": registry.url}), AVRO)
    data = serializer({"id": 9, "note": None}, SerializationContext(topic, MessageField.VALUE))
    producer = client.producer(bootstrap)
    producer.produce(topic, data, b"plain")
    producer.produce(topic, b"not framed")
    producer.produce(topic, b"\0\0\0\xff\xff?")
    producer.produce(topic, None, b"gone")
    assert producer.flush(30) == 0
    shown = cli("consume", topic, "--value-format", "auto", "--json")
    assert shown.code == 0
    found = {repr(one.get("value")) for one in shown.json_lines}
    assert {"{'id': 9, 'note': None}", "'not framed'", "None"} <= found and len(shown.json_lines) == 4
    assert "cannot be decoded and is shown as it is" in shown.err and "2 keys or values" in shown.err


def test_protobuf_by_the_name_of_its_message(cli: Run, topic: str, schema: Any) -> None:
    file = schema("order.proto", PROTO)
    value = '{"id": 5, "at": "2026-01-31T12:00:00Z"}'
    made = cli("produce", topic, "--value-schema", f"{file}#Order", "-v", value)
    assert made.code == 0, made.err
    (shown,) = cli("consume", topic, "--value-format", "protobuf", "--json").json_lines
    assert shown["value"] == {"id": 5, "at": "2026-01-31T12:00:00Z"}
    assert "is protobuf, not avro" in cli("consume", topic, "--value-format", "avro", "--json").err


def test_json_schema_and_a_key_of_avro(cli: Run, topic: str, schema: Any) -> None:
    value, key = schema("order.json", JSON), schema("key.avsc", '"string"')
    line = '{"key": "anna", "value": {"id": 1}}'
    made = cli("produce", topic, "--input", "json", "--value-schema", value, "--key-schema", key, stdin=line)
    assert made.code == 0, made.err
    (shown,) = cli("consume", topic, "--value-format", "json-schema", "--key-format", "avro", "--json").json_lines
    assert (shown["key"], shown["value"]) == ("anna", {"id": 1})


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--value-schema", "AVSC", "-v", '{"id": "x"}'), 1, 'The value of record 1 does not fit its schema: $.id must be long, not "x"'),
        (("--value-schema", "AVSC", "-v", "{id}"), 1, "The value of record 1 is not JSON"),
        (("--value-format", "avro", "-v", "1"), 1, "`headrace schema list`"),
        (("--value-schema", "missing.avsc", "-v", "1"), 1, "Cannot read missing.avsc"),
        (("--value-schema", "99999", "-v", "1"), 1, "Schema 99999 not found"),
        (("--value-schema", "AVSC", "--value-format", "protobuf", "-v", "1"), 1, ""),
    ],
)  # fmt: skip
def test_mistakes_say_what_to_do(
    cli: Run, topic: str, schema: Any, arguments: tuple[str, ...], code: int, said: str
) -> None:
    file = schema("order.avsc", AVRO)
    outcome = cli("produce", topic, *(file if one == "AVSC" else one for one in arguments))
    assert outcome.code == code and said in outcome.err


def test_without_a_registry_there_is_one_line(cli: Run, topic: str) -> None:
    outcome = cli("produce", topic, "--value-format", "avro", "-v", "1", "--registry", "http://127.0.0.1:1")
    assert outcome.code == 1 and "No schema registry answers at http://127.0.0.1:1" in outcome.err
