"""The bytes of Kafka's own serializers: one column, or none.

STRING is UTF-8; INTEGER four bytes, BIGINT eight, both big endian; DOUBLE the eight bytes of IEEE 754; BOOLEAN one; BYTES as they are. A NULL column is NULL bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from headrace.formats.format import DecodeSql, Format, FormatError, Row
from headrace.functions.sql_text import string_sql
from headrace.functions.sql_types import quote, spark_type
from headrace.plan.serdes import Serde
from headrace.plan.types import BIGINT, BOOLEAN, BYTES, DOUBLE, INTEGER, STRING, DataType, Field

_SIZES: Mapping[DataType, int] = {INTEGER: 4, BIGINT: 8, DOUBLE: 8, BOOLEAN: 1}
_PACKED: Mapping[DataType, str] = {INTEGER: ">i", BIGINT: ">q", DOUBLE: ">d"}
TYPES = (STRING, INTEGER, BIGINT, DOUBLE, BOOLEAN, BYTES)


class KafkaFormat(Format):
    name = "kafka"
    doc = "Kafka's own serializers: STRING, INTEGER, BIGINT, DOUBLE, BOOLEAN, BYTES."
    options: Mapping[str, str] = {}

    def _check(self, serde: Serde, is_key: bool) -> None:
        if len(serde.columns.fields) != 1:
            raise FormatError(
                f"the format kafka holds one column, these are {len(serde.columns.fields)}; use json for several"
            )
        (column,) = serde.columns.fields
        if column.type not in TYPES:
            raise FormatError(
                f"the format kafka holds {', '.join(map(str, TYPES))}; {column.name!r} is a {column.type}: use json"
            )

    def _decode_sql(self, bytes_sql: str, serde: Serde) -> DecodeSql:
        (column,) = serde.columns.fields
        row = f"CASE WHEN {bytes_sql} IS NOT NULL THEN named_struct({string_sql(column.name)}, {{parsed}}) END"
        return DecodeSql(
            _value_sql(bytes_sql, column), row, _error_sql(bytes_sql, column), fields={column.name: "{parsed}"}
        )

    def _encode_sql(self, struct_sql: str, serde: Serde) -> str:
        (column,) = serde.columns.fields
        value = f"{struct_sql}.{quote(column.name)}"
        if column.type == BYTES:
            return value
        if column.type == BOOLEAN:
            return f"CASE {value} WHEN true THEN X'01' WHEN false THEN X'00' END"
        if column.type == DOUBLE:
            return f"headrace_double_bytes({value})"
        return f"CAST({value} AS BINARY)"

    def _decode(self, data: bytes, serde: Serde) -> Row:
        (column,) = serde.columns.fields
        return {column.name: _value(data, column)}

    def _encode(self, row: Mapping[str, Any], serde: Serde) -> bytes | None:
        (column,) = serde.columns.fields
        value = row.get(column.name)
        return None if value is None else _bytes(value, column)


def _value_sql(sql: str, column: Field) -> str:
    size = _SIZES.get(column.type)
    if column.type == BYTES:
        return sql
    if column.type == STRING:
        return f"CAST({sql} AS STRING)"
    if column.type == BOOLEAN:
        return f"CASE {sql} WHEN X'01' THEN true WHEN X'00' THEN false END"
    names: Mapping[DataType, str] = {INTEGER: "headrace_integer", BIGINT: "headrace_bigint", DOUBLE: "headrace_double"}
    return f"{names[column.type]}({sql})" if size else f"CAST({sql} AS {spark_type(column.type)})"


def _error_sql(sql: str, column: Field) -> str | None:
    size = _SIZES.get(column.type)
    if size is None:
        return None
    wrong = f"{sql} NOT IN (X'00', X'01')" if column.type == BOOLEAN else f"length({sql}) <> {size}"
    if column.type == BOOLEAN:
        return f"CASE WHEN {wrong} THEN concat({string_sql(f'{column.name} is no BOOLEAN: ')}, lower(hex(substring({sql}, 1, 8)))) END"
    message = string_sql(f"{column.name} is no {column.type}: it has {size} bytes, not ")
    return f"CASE WHEN {wrong} THEN concat({message}, length({sql})) END"


def _value(data: bytes, column: Field) -> Any:
    type_ = column.type
    if type_ == STRING:
        return data.decode("utf-8", "replace")
    if type_ == BYTES:
        return data
    if type_ == BOOLEAN:
        if data not in (b"\0", b"\1"):
            raise FormatError(f"{column.name} is no BOOLEAN: {data[:8].hex()}")
        return data == b"\1"
    if len(data) != _SIZES[type_]:
        raise FormatError(f"{column.name} is no {type_}: it has {_SIZES[type_]} bytes, not {len(data)}")
    return struct.unpack(_PACKED[type_], data)[0]


def _bytes(value: Any, column: Field) -> bytes:
    type_ = column.type
    try:
        if type_ == STRING and isinstance(value, str):
            return value.encode("utf-8", "replace")
        if type_ == BYTES and isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        if type_ == BOOLEAN and isinstance(value, bool):
            return b"\1" if value else b"\0"
        if type_ in _PACKED and not isinstance(value, bool | str):
            return struct.pack(_PACKED[type_], value)
    except struct.error:
        pass
    raise FormatError(f"{column.name} is a {type_}, {str(value)[:50]!r} ({type(value).__name__}) is none")
