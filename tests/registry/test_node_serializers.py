"""Confluent's serializers for Node.js against this registry; what they write, Python's read."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from headrace.registry.server import RegistryServer
from tests.registry.schemas.protoc import compile_files

pytestmark = pytest.mark.peer("schemaregistry-node")
PROGRAM = Path(__file__).parent / "node" / "round_trip.js"
MONEY = 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }'
ORDER = 'syntax = "proto3"; package shop; import "money.proto"; message Order { Money price = 1; optional string note = 2; }'


def descriptors(folder: Path) -> str:
    """As Protocol Buffers' compiler makes them."""
    (folder / "money.proto").write_text(MONEY)
    (folder / "order.proto").write_text(ORDER)
    files = compile_files(folder, ["money.proto", "order.proto"])
    assert isinstance(files, dict), files
    return base64.b64encode(FileDescriptorSet(file=files.values()).SerializeToString()).decode()


def test_round_trip(server: RegistryServer, tmp_path: Path) -> None:
    from conformance.install import SCHEMAREGISTRY_NODE

    command = ["node", str(PROGRAM), str(SCHEMAREGISTRY_NODE), server.url, "node", descriptors(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    value = {"id": "a", "price": {"cents": 5}}
    assert found["avro"]["read"] == found["json"]["read"] == value
    assert found["protobuf"]["read"] == {"price": {"cents": "5"}, "note": "n"}
    assert found["refusal"] == {"status": 409, "code": 40901}
    assert {"node-avro-value", "node-json-value", "node-proto-value"} <= set(found["subjects"])
    client = SchemaRegistryClient({"url": server.url})
    avro = AvroDeserializer(client)(bytes.fromhex(found["avro"]["hex"]), place("node-avro"))
    assert avro == value
    read = JSONDeserializer(None, schema_registry_client=client)(
        bytes.fromhex(found["json"]["hex"]), place("node-json")
    )
    assert read == value
    kept = client.get_latest_version("node-proto-value").schema
    assert [each.name for each in kept.references or []] == ["money.proto"]


def place(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)
