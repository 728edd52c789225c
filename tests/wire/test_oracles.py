"""Every message, byte for byte, as kio and kafka-python have it.

Ours is encoded, theirs is decoded from it: the values must be the same, and theirs encoded again must be the same bytes.
Neither library is given bytes from anywhere else: kio aborts the process on hostile input.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import io
import re
import uuid
from collections.abc import Callable
from typing import Any

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
import kio.index
import pytest
from hypothesis import HealthCheck, given, settings
from kafka.protocol.api_message import ApiMessage
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from headrace.wire.apis import APIS
from headrace.wire.messages.api_versions import ApiVersionsResponse
from headrace.wire.schema import ZERO_UUID, Message, Struct
from tests.wire.strategies import EVERY_MESSAGE, name_of, structs

FEW = settings(max_examples=6, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
KAFKA_PYTHON = {
    name: cls
    for module in (kafka.protocol.admin, kafka.protocol.consumer, kafka.protocol.metadata, kafka.protocol.producer)
    for name, cls in vars(module).items()
    if isinstance(cls, type) and issubclass(cls, ApiMessage)
}

AUTHORIZED = re.compile("(cluster|topic)_authorized_operations")

# Decodes bytes with the other library; gives its values as nested dictionaries, and its own bytes.
Oracle = Callable[[bytes], tuple[Any, bytes]]


def plain(value: Any, version: int) -> Any:
    """A message of ours as nested dictionaries of the fields in this version."""
    if isinstance(value, Struct):
        names = [name for name, field in value.FIELDS.items() if version in field.versions]
        return {common_name(name): plain(getattr(value, name), version) for name in names}
    if isinstance(value, list):
        return [plain(item, version) for item in value]
    # kio has None for a zero uuid and a timestamp of -1, kafka-python for authorized operations that nobody asked for.
    return None if isinstance(value, int | bytes) and value in (-1, -(1 << 31), ZERO_UUID) else value


def common_name(name: str) -> str:
    """Names as all three have them: kio leaves out units, kafka-python what operations are authorized for."""
    return AUTHORIZED.sub("authorized_operations", name.removesuffix("_ms"))


def kio_oracle(cls: type[Message], version: int) -> Oracle:
    kind = EntityType.request if cls.KIND == "request" else EntityType.response
    entity = getattr(kio.index.load_payload_module(cls.KEY, version, kind), cls.__name__)
    read, write = entity_reader(entity), entity_writer(entity)

    def oracle(data: bytes) -> tuple[Any, bytes]:
        theirs, size = read(data, 0)
        assert size == len(data)
        out = io.BytesIO()
        write(out, theirs)
        return kio_plain(theirs), out.getvalue()

    return oracle


def kio_plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {common_name(name): kio_plain(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [kio_plain(item) for item in value]
    if isinstance(value, datetime.timedelta):
        value = round(value.total_seconds() * 1000)
    elif isinstance(value, datetime.datetime):
        value = round(value.timestamp() * 1000)
    elif isinstance(value, uuid.UUID):
        value = value.bytes
    elif isinstance(value, enum.Enum):
        value = value.value
    return plain(value, 0)


def kafka_python_oracle(cls: type[Message], version: int) -> Oracle:
    entity = KAFKA_PYTHON[cls.__name__]

    def oracle(data: bytes) -> tuple[Any, bytes]:
        theirs = entity.decode(data, version=version)
        theirs._header = None
        return kafka_python_plain(theirs, version), bytes(theirs.encode(version=version))

    return oracle


def kafka_python_plain(value: Any, version: int) -> Any:
    if hasattr(value, "_struct"):
        names = [field.name for field in value._struct._fields if field.for_version_q(version)]
        return {common_name(name): kafka_python_plain(getattr(value, name), version) for name in names}
    if isinstance(value, list | tuple):
        return [kafka_python_plain(item, version) for item in value]
    if isinstance(value, set):
        # Its sets of authorized operations are the bits of an int32, the last of them the sign.
        value = sum(-(1 << bit) if bit == 31 else 1 << bit for bit in value)
    return plain(value.bytes if isinstance(value, uuid.UUID) else value, 0)


def compare(cls: type[Message], version: int, oracle: Oracle) -> None:
    @FEW
    @given(structs(cls, version))
    def check(message: Message) -> None:
        # kafka-python expects version 0 in any ApiVersions response with an error, as after UNSUPPORTED_VERSION.
        if isinstance(message, ApiVersionsResponse):
            message.error_code = 0
        data = message.encode(version)
        values, theirs = oracle(data)
        assert values == plain(message, version)
        assert theirs == data
        assert cls.decode(data, version) == message
        assert b"".join(message.encode_parts(version, b"head")) == b"head" + data

    check()


@pytest.mark.parametrize("case", EVERY_MESSAGE, ids=name_of)
def test_kio_has_the_same_bytes(case: tuple[type[Message], int]) -> None:
    compare(*case, kio_oracle(*case))


@pytest.mark.parametrize("case", EVERY_MESSAGE, ids=name_of)
def test_kafka_python_has_the_same_bytes(case: tuple[type[Message], int]) -> None:
    compare(*case, kafka_python_oracle(*case))


def test_the_ranges_are_those_of_kafka_4_3() -> None:
    """kio was generated from the schemas of Kafka 4.3."""
    for api in APIS.values():
        name = kio.index.api_key_map[api.key]
        versions = kio.index.schema_name_map[name]
        assert (min(versions), max(versions)) == (api.min_version, api.max_version), api.name
