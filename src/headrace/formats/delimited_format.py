"""Delimited text (CSV): one line, a field per column, in their order.

A field with the delimiter, a quote or a line's end in it stands in double quotes, a quote inside is doubled; an empty field is NULL, an empty text is `""`. Types are written as in JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.formats.format import DecodeSql, Format, FormatError, Row
from headrace.formats.json_values import WHOLE, from_json_value, java_double, to_json_value
from headrace.functions.sql_text import string_sql
from headrace.functions.sql_types import quote, spark_type
from headrace.plan.serdes import Serde
from headrace.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
)

DELIMITERS = {"SPACE": " ", "TAB": "\t", "COMMA": ",", "SEMICOLON": ";", "PIPE": "|"}
CORRUPT = "headrace_corrupt"
# What Spark's reader gives for an empty field; with '' it could not tell it from "".
_NOTHING = "\0nothing"
_TEXTS: Mapping[DataType, DataType] = {BYTES: STRING, TIMESTAMP: BIGINT, DATE: INTEGER, TIME: INTEGER}


class DelimitedFormat(Format):
    name = "delimited"
    doc = "Delimited text (CSV), one line per record."
    options: Mapping[str, str] = {
        "delimiter": "One character, or SPACE, TAB, COMMA, SEMICOLON, PIPE; a comma if not given."
    }

    def _check(self, serde: Serde, is_key: bool) -> None:
        if not serde.columns.fields:
            raise FormatError("delimited text holds at least one column; for none use the format none")
        _delimiter(serde)
        for column in serde.columns:
            if isinstance(column.type, Array | Map | Struct):
                raise FormatError(f"delimited text holds no {column.type} ({column.name!r}); use json")
            if column.name == CORRUPT:
                raise FormatError(f"a column cannot be called {CORRUPT}")

    def _decode_sql(self, bytes_sql: str, serde: Serde) -> DecodeSql:
        schema = ", ".join(f"{quote(one.name)} {spark_type(_TEXTS.get(one.type, one.type))}" for one in serde.columns)
        read = f"'nullValue', {string_sql(_NOTHING)}, 'emptyValue', '', 'mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{CORRUPT}', 'positiveInf', 'Infinity', 'negativeInf', '-Infinity'"
        ddl = string_sql(f"{schema}, {CORRUPT} STRING")
        parse = f"from_csv(CAST({bytes_sql} AS STRING), {ddl}, map({read}, {_options_sql(serde)}))"
        fields = ((one.name, _read_sql(f"{{parsed}}.{quote(one.name)}", one.type)) for one in serde.columns)
        pairs = ", ".join(f"{string_sql(name)}, {sql}" for name, sql in fields)
        row = f"CASE WHEN {bytes_sql} IS NOT NULL THEN named_struct({pairs}) END"
        return DecodeSql(parse, row, _error_sql(bytes_sql, serde))

    def _encode_sql(self, struct_sql: str, serde: Serde) -> str:
        fields = ((one.name, _write_sql(f"{struct_sql}.{quote(one.name)}", one.type)) for one in serde.columns)
        pairs = ", ".join(f"{string_sql(name)}, {sql}" for name, sql in fields)
        written = f"CAST(to_csv(named_struct({pairs}), map({_options_sql(serde)})) AS BINARY)"
        if len(serde.columns.fields) == 1:
            # Of a line that is empty Spark's writer makes a null that its own types deny.
            column = f"{struct_sql}.{quote(serde.columns.fields[0].name)}"
            written = f"CASE WHEN {column} IS NULL THEN X'' ELSE {written} END"
        return f"CASE WHEN {struct_sql} IS NOT NULL THEN {written} END"

    def _decode(self, data: bytes, serde: Serde) -> Row:
        fields = _split(data.decode("utf-8", "replace"), _delimiter(serde))
        if len(fields) != len(serde.columns.fields):
            raise FormatError(f"expected {len(serde.columns.fields)} fields, found {len(fields)}")
        return {one.name: _value(text, one.type, one.name) for text, one in zip(fields, serde.columns)}

    def _encode(self, row: Mapping[str, Any], serde: Serde) -> bytes:
        delimiter = _delimiter(serde)
        fields = [_field(to_json_value(row.get(one.name), one.type, one.name), delimiter) for one in serde.columns]
        return delimiter.join(fields).encode("utf-8", "replace")


def _delimiter(serde: Serde) -> str:
    given = serde.option("delimiter", ",")
    delimiter = DELIMITERS.get(given.upper(), given)
    if len(delimiter) != 1 or delimiter in '"\r\n\\\0' or ord(delimiter) > 0xFFFF:
        raise FormatError(
            f"{given[:20]!r} is no delimiter: one character that is no quote and no line's end, or {', '.join(DELIMITERS)}"
        )
    return delimiter


def _options_sql(serde: Serde) -> str:
    return (
        f"'sep', {string_sql(_delimiter(serde))}, 'quote', '\"', 'escape', '\"', "
        "'ignoreLeadingWhiteSpace', 'false', 'ignoreTrailingWhiteSpace', 'false', 'multiLine', 'true', 'nanValue', 'NaN'"
    )


def _read_sql(sql: str, type_: DataType) -> str:
    if type_ == TIMESTAMP:
        return f"CASE WHEN {_in_range(sql, type_)} THEN timestamp_millis({sql}) END"
    if type_ == DATE:
        return f"CASE WHEN {_in_range(sql, type_)} THEN date_from_unix_date({sql}) END"
    return f"try_to_binary({sql}, 'base64')" if type_ == BYTES else sql


def _write_sql(sql: str, type_: DataType) -> str:
    functions: Mapping[DataType, str] = {TIMESTAMP: "unix_millis", DATE: "unix_date", BYTES: "base64"}
    function = functions.get(type_)
    return f"{function}({sql})" if function else sql


def _in_range(sql: str, type_: DataType) -> str:
    low, high = WHOLE[type_]
    return f"{sql} BETWEEN {low}L AND {high}L"


def _error_sql(bytes_sql: str, serde: Serde) -> str:
    count = len(serde.columns.fields)
    whens = [
        f"WHEN NOT ({_in_range(f'{{parsed}}.{quote(one.name)}', one.type)}) THEN {string_sql(f'{one.name} is out of the range of {one.type}')}"
        for one in serde.columns
        if one.type in (TIMESTAMP, DATE, TIME)
    ]
    whens += [
        f"WHEN {{parsed}}.{quote(one.name)} IS NOT NULL AND {_read_sql(f'{{parsed}}.{quote(one.name)}', BYTES)} IS NULL THEN {string_sql(f'{one.name} is no BYTES, which is base64')}"
        for one in serde.columns
        if one.type == BYTES
    ]
    empty = f" OR length({bytes_sql}) = 0" if count > 1 else ""
    expected = string_sql(f"expected {count} fields of {', '.join(str(one.type) for one in serde.columns)}, found ")
    return (
        f"CASE WHEN {bytes_sql} IS NULL THEN CAST(NULL AS STRING) "
        f"WHEN {{parsed}} IS NULL OR {{parsed}}.{CORRUPT} IS NOT NULL{empty} THEN concat({expected}, left(CAST({bytes_sql} AS STRING), 50))"
        f"{''.join(' ' + one for one in whens)} END"
    )


def _split(text: str, delimiter: str) -> list[str | None]:
    """The fields of a line; None for one that is empty without quotes."""
    fields: list[str | None] = []
    position = 0
    while True:
        field, position = _next_field(text, position, delimiter)
        fields.append(field)
        if position >= len(text):
            return fields
        position += 1
        if position == len(text):
            return [*fields, None]


def _next_field(text: str, position: int, delimiter: str) -> tuple[str | None, int]:
    if not text.startswith('"', position):
        end = text.find(delimiter, position)
        end = len(text) if end < 0 else end
        return text[position:end] or None, end
    parts: list[str] = []
    while True:
        end = text.find('"', position + 1)
        if end < 0:
            raise FormatError(f"a quote is not closed: {text[:50]}")
        parts.append(text[position + 1 : end])
        position = end + 1
        if not text.startswith('"', position):
            break
        parts.append('"')
    if position < len(text) and text[position] != delimiter:
        raise FormatError(f"something follows a closing quote: {text[:50]}")
    return "".join(parts), position


def _value(text: str | None, type_: DataType, name: str) -> Any:
    """A field's text as the column's value: what JSON would hold, read by the same rules."""
    if text is None or type_ in (STRING, BYTES):
        return from_json_value(text, type_, name)
    if isinstance(type_, Decimal):
        return from_json_value(text, type_, name)
    try:
        value = _READERS[type_](text)
    except ValueError:
        raise FormatError(f"{name} is no {type_}: {text[:50]}") from None
    return from_json_value(value, type_, name)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _whole(text: str) -> int:
    if not text.lstrip("+-").isdecimal():
        raise ValueError(text)
    return int(text)


_READERS: Mapping[DataType, Callable[[str], Any]] = {
    BOOLEAN: _boolean,
    INTEGER: _whole,
    BIGINT: _whole,
    TIMESTAMP: _whole,
    DATE: _whole,
    TIME: _whole,
    DOUBLE: float,
}


def _field(value: Any, delimiter: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    text = str(value)
    if text == "" or any(one in text for one in (delimiter, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text
