"""Confluent's own serializers for Python, unchanged, against this registry: Avro, JSON Schema and Protobuf, with references, over a topic."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import DESCRIPTOR as TIMESTAMP

from headrace.registry.schemas import parse
from headrace.registry.server import RegistryServer
from headrace.testing import LocalBroker

pytestmark = pytest.mark.peer("confluent-kafka")

MONEY = {"type": "record", "name": "Money", "namespace": "shop", "fields": [{"name": "cents", "type": "long"}]}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "string"}, {"name": "price", "type": "shop.Money"}],
}


@pytest.fixture(scope="module")
def client(server: RegistryServer) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": server.url})


def place(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def through(kafka: LocalBroker, topic: str, data: bytes) -> bytes:
    """The bytes as they come out of a topic."""
    kafka.create_topic(topic)
    kafka.produce(topic, [data])
    (message,) = kafka.records(topic, 1)
    value = message.value()
    assert isinstance(value, bytes)
    return value


def test_avro(client: SchemaRegistryClient, kafka: LocalBroker, subject: str) -> None:
    serialize = AvroSerializer(client, json.dumps(MONEY))
    data = serialize({"cents": 5}, place(subject))
    assert data[:1] == b"\0"
    id_ = int.from_bytes(data[1:5], "big")
    assert client.get_latest_version(f"{subject}-value").schema_id == id_
    assert AvroDeserializer(client)(through(kafka, subject, data), place(subject)) == {"cents": 5}


def test_avro_with_references(client: SchemaRegistryClient, kafka: LocalBroker, subject: str) -> None:
    client.register_schema(f"{subject}-money", Schema(json.dumps(MONEY)))
    schema = Schema(json.dumps(ORDER), "AVRO", [SchemaReference("shop.Money", f"{subject}-money", 1)])
    value = {"id": "a", "price": {"cents": 5}}
    data = AvroSerializer(client, schema)(value, place(subject))
    assert AvroDeserializer(client)(through(kafka, subject, data), place(subject)) == value


def test_avro_reads_what_an_older_schema_wrote(client: SchemaRegistryClient, subject: str) -> None:
    data = AvroSerializer(client, json.dumps(MONEY))({"cents": 5}, place(subject))
    newer = {**MONEY, "fields": [*MONEY["fields"], {"name": "currency", "type": "string", "default": "EUR"}]}
    AvroSerializer(client, json.dumps(newer))({"cents": 1, "currency": "USD"}, place(subject))
    assert AvroDeserializer(client, json.dumps(newer))(data, place(subject)) == {"cents": 5, "currency": "EUR"}
    broken = {**MONEY, "fields": [{"name": "cents", "type": "string"}]}
    with pytest.raises(SchemaRegistryError) as caught:
        AvroSerializer(client, json.dumps(broken))({"cents": "x"}, place(subject))
    assert (caught.value.http_status_code, caught.value.error_code) == (409, 40901)


@pytest.mark.parametrize("options", [{"use.latest.version": True}, {}, {"normalize.schemas": True}], ids=str)
def test_without_registering(client: SchemaRegistryClient, subject: str, options: dict[str, Any]) -> None:
    if "normalize.schemas" in options:
        client.register_schema(f"{subject}-value", Schema(json.dumps(MONEY)), normalize_schemas=True)
    else:
        client.register_schema(f"{subject}-value", Schema(json.dumps(MONEY)))
    serialize = AvroSerializer(client, json.dumps(MONEY), conf={"auto.register.schemas": False, **options})
    assert AvroDeserializer(client)(serialize({"cents": 5}, place(subject)), place(subject)) == {"cents": 5}
    with pytest.raises(SchemaRegistryError) as caught:
        AvroSerializer(client, json.dumps(MONEY), conf={"auto.register.schemas": False})({}, place(f"{subject}-no"))
    assert caught.value.error_code == 40401


def test_json_schema(client: SchemaRegistryClient, kafka: LocalBroker, subject: str) -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "M", "type": "object"}
    schema["properties"] = {"cents": {"type": "integer"}}
    data = JSONSerializer(json.dumps(schema), client)({"cents": 5}, place(subject))
    deserialize = JSONDeserializer(None, schema_registry_client=client)
    assert deserialize(through(kafka, subject, data), place(subject)) == {"cents": 5}


def test_json_schema_with_references(client: SchemaRegistryClient, subject: str) -> None:
    money = {"$id": "money.json", "type": "object", "properties": {"cents": {"type": "integer"}}}
    client.register_schema(f"{subject}-money", Schema(json.dumps(money), "JSON"))
    order = {"title": "O", "type": "object", "properties": {"price": {"$ref": "money.json"}}}
    schema = Schema(json.dumps(order), "JSON", [SchemaReference("money.json", f"{subject}-money", 1)])
    data = JSONSerializer(schema, client)({"price": {"cents": 5}}, place(subject))
    assert JSONDeserializer(schema, schema_registry_client=client)(data, place(subject)) == {"price": {"cents": 5}}


def messages(**files: str) -> dict[str, Any]:
    """Message classes as a compiler would generate them, from .proto texts; a later file may import an earlier one."""
    pool = DescriptorPool()
    pool.AddSerializedFile(TIMESTAMP.serialized_pb)
    found: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for name, text in files.items():
        import base64

        path = f"{name}.proto"
        proto = FileDescriptorProto.FromString(
            base64.b64decode(parse("PROTOBUF", text, (), texts, new=True).format("serialized"))
        )
        proto.name = path
        file = pool.AddSerializedFile(proto.SerializeToString())
        texts[path] = text
        found |= {kind.name: GetMessageClass(kind) for kind in file.message_types_by_name.values()}
    return found


MONEY_PROTO = 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }'
ORDER_PROTO = """syntax = "proto3"; package shop;
    import "money.proto"; import "google/protobuf/timestamp.proto";
    message Other {}
    message Order {
      Money price = 1; google.protobuf.Timestamp at = 2; map<string, Money> extras = 3; optional string note = 4;
      oneof paid { bool cash = 5; string card = 6; }
      message Line { string sku = 1; }
    }"""


def test_protobuf_with_references(client: SchemaRegistryClient, kafka: LocalBroker, subject: str) -> None:
    kinds = messages(money=MONEY_PROTO, order=ORDER_PROTO)
    order = kinds["Order"](price={"cents": 5}, note="", card="x")
    order.extras["tip"].cents = 2
    serialize = ProtobufSerializer(kinds["Order"], client, {"use.deprecated.format": False})
    data = serialize(order, place(subject))
    assert data[5:7] == b"\x02\x02"  # the second message of its file
    deserialize = ProtobufDeserializer(kinds["Order"], {"use.deprecated.format": False}, client)
    assert deserialize(through(kafka, subject, data), place(subject)) == order
    kept = client.get_latest_version(f"{subject}-value").schema
    assert sorted(each.name for each in kept.references or []) == ["money.proto"]
    assert kept.schema_str.startswith('syntax = "proto3";\npackage shop;\n\nimport "money.proto";\n')
    assert "  map" not in kept.schema_str
    # Sent once more, in a new process, it is the same schema.
    other = SchemaRegistryClient({"url": client._rest_client.base_urls[0]})
    again = ProtobufSerializer(kinds["Order"], other, {"use.deprecated.format": False})
    assert again(order, place(subject)) == data
    assert client.get_versions(f"{subject}-value") == [1]


def test_a_nested_message(client: SchemaRegistryClient, subject: str) -> None:
    kinds = messages(money=MONEY_PROTO, order=ORDER_PROTO)
    pool = kinds["Order"].DESCRIPTOR.file.pool
    line = GetMessageClass(pool.FindMessageTypeByName("shop.Order.Line"))
    serialize = ProtobufSerializer(line, client, {"use.deprecated.format": False})
    data = serialize(line(sku="a"), place(subject))
    deserialize = ProtobufDeserializer(line, {"use.deprecated.format": False}, client)
    assert deserialize(data, place(subject)) == line(sku="a")
