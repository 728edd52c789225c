"""Hypothesis strategies for messages, made from the same declarations that the codecs are compiled from."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from headrace.wire.apis import APIS
from headrace.wire.errors import ErrorCode
from headrace.wire.fields import Field
from headrace.wire.records import consumer_protocol, control, group, metadata, transaction
from headrace.wire.schema import Message, Struct

RANGES = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
TEXT = st.text(max_size=6) | st.integers(100, 300).map(lambda size: "é" * size)
BINARY = st.binary(max_size=8) | st.integers(120, 2000).map(lambda size: b"\x7f" * size)
# kio turns these into dates, which do not reach as far as int64 does.
TIME = st.just(-1) | st.integers(0, 1 << 41)

EVERY_MESSAGE: list[tuple[type[Message], int]] = [
    (cls, version)
    for api in APIS.values()
    for cls in (api.request, api.response)
    for version in range(api.min_version, api.max_version + 1)
]
EVERY_RECORD: list[tuple[type[Message], int]] = [
    (cls, version)
    for module in (metadata, group, control, consumer_protocol, transaction)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Message) and cls is not Message
    for version in range(cls.MIN_VERSION, cls.MAX_VERSION + 1)
]


def name_of(case: tuple[type[Message], int]) -> str:
    return f"{case[0].__name__}-v{case[1]}"


def values(field: Field, name: str, version: int) -> st.SearchStrategy[Any]:
    """Values of one field that its declaration allows in this version."""
    kind = field.kind
    if kind == "array":
        assert field.element is not None
        found: st.SearchStrategy[Any] = st.lists(values(field.element, "", version), max_size=3)
    elif kind == "struct":
        assert field.struct is not None
        found = structs(field.struct, version)
    elif kind == "bool":
        found = st.booleans()
    elif kind == "float64":
        found = st.floats(allow_nan=False)
    elif kind == "uuid":
        found = st.binary(min_size=16, max_size=16)
    elif kind == "string":
        found = TEXT
    elif kind in ("bytes", "records"):
        found = BINARY
    elif name.endswith("error_code"):
        found = st.sampled_from([int(code) for code in ErrorCode])
    elif name == "transaction_start_time_ms":
        found = st.integers(0, 1 << 41)  # kio has no -1 here, with which Kafka says that none is open
    elif kind == "int64" and ("time" in name):
        found = TIME
    else:
        found = st.integers(*RANGES[kind])
    if version in field.nullable:
        found = st.none() | found
    if field.tag is not None and kind != "struct":
        found = st.just(field.default if field.default != () else []) | found
    return found


def structs(cls: type[Struct], version: int) -> st.SearchStrategy[Any]:
    """Structs of which the fields outside the version keep their defaults."""
    fields = {name: field for name, field in cls.FIELDS.items() if version in field.versions}
    return st.builds(cls, **{name: values(field, name, version) for name, field in fields.items()})
