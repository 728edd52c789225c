"""JSON: an object with a field per column, or the bare value of one column that is not wrapped.

Unknown fields are ignored, missing ones are NULL; of a repeated field the last counts, and what follows an object is not read. TIMESTAMP is milliseconds since 1970, DATE days, TIME milliseconds of the
day, BYTES base64, DECIMAL a number, rounded to its scale. A STRING takes any value as its JSON text. NULLs are written. What a text means
is what Spark's from_json and to_json say; `jvm/JsonDecode.scala` and `jvm/JsonEncode.scala` do the usual of it, faster. A column of another type makes the record bad, and only then is the reason looked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from headrace.formats.format import DecodeSql, Format, FormatError, Row
from headrace.formats.json_values import from_json_value, parse_json, to_json_value, write_json
from headrace.functions.sql_text import string_sql
from headrace.functions.sql_types import quote, spark_type
from headrace.plan.serdes import Serde
from headrace.plan.types import (
    BIGINT,
    DATE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    DataType,
    Field,
    Map,
    Struct,
)

CORRUPT = "headrace_corrupt"
_WRITE = "map('ignoreNullFields', 'false')"
_COUNTED: Mapping[DataType, DataType] = {TIMESTAMP: BIGINT, DATE: INTEGER, TIME: INTEGER}
# Years 1 to 9999: what every reader of the result can hold.
RANGES: Mapping[DataType, tuple[int, int]] = {
    TIMESTAMP: (-62135596800000, 253402300799999),
    DATE: (-719162, 2932896),
    TIME: (0, 86399999),
}


class JsonFormat(Format):
    name = "json"
    doc = "JSON objects, or bare JSON values."
    options: Mapping[str, str] = {}

    def _check(self, serde: Serde, is_key: bool) -> None:
        if not serde.columns.fields:
            raise FormatError("JSON holds at least one column; for none use the format none")
        for column in serde.columns:
            _check_type(column.name, column.type)
            if column.name == CORRUPT:
                raise FormatError(f"a column cannot be called {CORRUPT}")

    def _decode_sql(self, bytes_sql: str, serde: Serde) -> DecodeSql:
        columns = serde.columns if serde.wrapped else Struct((Field("v", Array(serde.columns.fields[0].type)),))
        schema = Struct((*(Field(one.name, _parsed_type(one.type)) for one in columns), Field(CORRUPT, STRING)))
        # Only objects are read: a bare value is put into one, in an array so that two values are noticed.
        document = (
            bytes_sql if serde.wrapped else f"concat(CAST('{{\"v\":[' AS BINARY), {bytes_sql}, CAST(']}}' AS BINARY))"
        )
        parse = f"headrace_from_json({document}, {string_sql(_ddl(schema))})"
        if serde.wrapped:
            fields = {one.name: _converted(f"{{parsed}}.{quote(one.name)}", one.type) for one in serde.columns}
        else:
            (one,) = serde.columns.fields
            fields = {one.name: _converted("get({parsed}.v, 0)", one.type)}
        pairs = ", ".join(f"{string_sql(name)}, {sql}" for name, sql in fields.items())
        row = f"CASE WHEN {bytes_sql} IS NOT NULL THEN named_struct({pairs}) END"
        return DecodeSql(parse, row, _error(bytes_sql, serde), fields=fields)

    def _encode_sql(self, struct_sql: str, serde: Serde) -> str:
        fields = {one.name: _counted(f"{struct_sql}.{quote(one.name)}", one.type) for one in serde.columns}
        if serde.wrapped:
            changed = any(_changes(one.type) for one in serde.columns)
            pairs = ", ".join(f"{string_sql(name)}, {sql}" for name, sql in fields.items())
            whole = f"CASE WHEN {struct_sql} IS NOT NULL THEN named_struct({pairs}) END" if changed else struct_sql
            return f"headrace_to_json({whole})"
        (value,) = fields.values()
        bare = f"to_json(named_struct('v', {value}), {_WRITE})"
        # {"v":…} without its first five characters and its last.
        return f"CASE WHEN {struct_sql} IS NOT NULL THEN CAST(substring({bare}, 6, length({bare}) - 6) AS BINARY) END"

    def _decode(self, data: bytes, serde: Serde) -> Row | None:
        document = parse_json(data, alone=not serde.wrapped)
        if not serde.wrapped:
            (one,) = serde.columns.fields
            return {one.name: from_json_value(document, one.type, one.name)}
        if not isinstance(document, dict):
            raise FormatError(f"expected a JSON object, found {json.dumps(document, default=str)[:50]}")
        return {one.name: from_json_value(document.get(one.name), one.type, one.name) for one in serde.columns}

    def _encode(self, row: Mapping[str, Any], serde: Serde) -> bytes:
        values = {one.name: to_json_value(row.get(one.name), one.type, one.name) for one in serde.columns}
        if not serde.wrapped:
            (value,) = values.values()
            return write_json(value)
        return write_json(values)


def _check_type(name: str, type_: DataType) -> None:
    match type_:
        case Map(key, value):
            if key != STRING:
                raise FormatError(f"{name!r} is a {type_}; a map in JSON has STRING keys")
            _check_type(name, value)
        case Array(item):
            _check_type(name, item)
        case Struct(fields):
            if not fields:
                raise FormatError(f"{name!r} holds a STRUCT without fields")
            for one in fields:
                _check_type(f"{name}.{one.name}", one.type)


def _ddl(schema: Struct) -> str:
    return ", ".join(f"{quote(one.name)} {spark_type(one.type)}" for one in schema)


def _map_types(type_: DataType, change: Mapping[DataType, DataType]) -> DataType:
    match type_:
        case Array(item):
            return Array(_map_types(item, change))
        case Map(key, value):
            return Map(key, _map_types(value, change))
        case Struct(fields):
            return Struct(tuple(Field(one.name, _map_types(one.type, change)) for one in fields))
    return change.get(type_, type_)


def _parsed_type(type_: DataType) -> DataType:
    return _map_types(type_, _COUNTED)


def _changes(type_: DataType) -> bool:
    """Whether Spark's own JSON of the type is another than ours."""
    return _parsed_type(type_) != type_ and _map_types(type_, {TIME: INTEGER}) != _parsed_type(type_)


def _in_range(sql: str, type_: DataType) -> str:
    low, high = RANGES[type_]
    return f"{sql} BETWEEN {low}L AND {high}L"


def _converted(sql: str, type_: DataType, depth: int = 0) -> str:
    """What from_json gave for our counted type, as Spark's type."""
    if not _changes(type_):
        return sql
    item = f"lambda_{depth}"
    match type_:
        case Array(inner):
            return f"transform({sql}, {item} -> {_converted(item, inner, depth + 1)})"
        case Map(_, value):
            return f"transform_values({sql}, (lambda_k{depth}, {item}) -> {_converted(item, value, depth + 1)})"
        case Struct(fields):
            pairs = (
                f"{string_sql(one.name)}, {_converted(f'{sql}.{quote(one.name)}', one.type, depth)}" for one in fields
            )
            return f"CASE WHEN {sql} IS NOT NULL THEN named_struct({', '.join(pairs)}) END"
    function = "timestamp_millis" if type_ == TIMESTAMP else "date_from_unix_date"
    return f"CASE WHEN {_in_range(sql, type_)} THEN {function}({sql}) END"


def _counted(sql: str, type_: DataType, depth: int = 0) -> str:
    """Spark's type as the number that we write."""
    if not _changes(type_):
        return sql
    item = f"lambda_{depth}"
    match type_:
        case Array(inner):
            return f"transform({sql}, {item} -> {_counted(item, inner, depth + 1)})"
        case Map(_, value):
            return f"transform_values({sql}, (lambda_k{depth}, {item}) -> {_counted(item, value, depth + 1)})"
        case Struct(fields):
            pairs = (
                f"{string_sql(one.name)}, {_counted(f'{sql}.{quote(one.name)}', one.type, depth)}" for one in fields
            )
            return f"CASE WHEN {sql} IS NOT NULL THEN named_struct({', '.join(pairs)}) END"
    return f"{'unix_millis' if type_ == TIMESTAMP else 'unix_date'}({sql})"


def _error(bytes_sql: str, serde: Serde) -> str:
    """The reason, in order: nothing there, broken or of another type, a time out of range. Only the first test is made for a good record."""
    text = f"CAST({bytes_sql} AS STRING)"
    ranges = [(one.name, one.type) for one in serde.columns if one.type in RANGES]
    if not serde.wrapped:
        (one,) = serde.columns.fields
        found = [
            f"WHEN size({{parsed}}.v) <> 1 THEN if(trim({text}) = '', 'no JSON: it is empty', "
            f"concat('expected one value, found ', left({text}, 50)))",
            *_range_errors([(one.name, one.type)] if ranges else [], lambda name: "get({parsed}.v, 0)"),
        ]
        reason = f"concat({string_sql(f'expected {one.type}, found ')}, left({text}, 50))"
    else:
        found = _range_errors(ranges, lambda name: f"{{parsed}}.{quote(name)}")
        reason = f"coalesce({_columns_reason(text, serde)}, concat('not JSON, or a nested field is of another type: ', left({text}, 50)))"
    return (
        f"CASE WHEN {bytes_sql} IS NULL THEN CAST(NULL AS STRING) "
        f"WHEN {{parsed}} IS NULL THEN 'no JSON: it is empty' "
        f"WHEN {{parsed}}.{CORRUPT} IS NOT NULL THEN headrace_seldom({reason}){''.join(' ' + one for one in found)} END"
    )


def _range_errors(columns: list[tuple[str, DataType]], column_sql: Any) -> list[str]:
    return [
        f"WHEN NOT ({_in_range(column_sql(name), type_)}) THEN {string_sql(f'{name} is out of the range of {type_}')}"
        for name, type_ in columns
    ]


def _columns_reason(text: str, serde: Serde) -> str:
    """Names the columns whose field is there but could not be read. A name that a JSON path cannot hold is left to the general reason."""
    cases: list[str] = []
    for one in serde.columns:
        if not re.fullmatch(r"[\w -]+", one.name):
            continue
        found = f"get_json_object({text}, {string_sql(f'$[{chr(39)}{one.name}{chr(39)}]')})"
        message = string_sql(f"{one.name} is no {_short(one.type)}: ")
        cases.append(
            f"CASE WHEN {{parsed}}.{quote(one.name)} IS NULL AND {found} IS NOT NULL THEN concat({message}, left({found}, 50)) END"
        )
    kept = cases[:50]
    whole = f"if(json_object_keys({text}) IS NULL, concat('no JSON object: ', left({text}, 50)), NULL)"
    return f"coalesce({whole}, nullif(concat_ws('; ', {', '.join(kept)}), ''))" if kept else whole


def _short(type_: DataType) -> str:
    text = str(type_)
    return text if len(text) <= 60 else text[:57] + "..."
