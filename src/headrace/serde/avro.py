"""Avro values as the JSON that people write: unions without tags, times as ISO 8601, decimals as text, bytes as text of the same code points."""

from __future__ import annotations

import datetime
import decimal
import io
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from headrace.serde.errors import BadSchema, SerdeError, Undecodable, Unfit
from headrace.serde.schemas import Schema

Parsed = Any
_TIMES: Mapping[str, Callable[[str], Any]] = {
    "date": datetime.date.fromisoformat,
    "time-millis": datetime.time.fromisoformat,
    "time-micros": datetime.time.fromisoformat,
    "timestamp-millis": datetime.datetime.fromisoformat,
    "timestamp-micros": datetime.datetime.fromisoformat,
    "local-timestamp-millis": datetime.datetime.fromisoformat,
    "local-timestamp-micros": datetime.datetime.fromisoformat,
}
_ACCEPTED: Mapping[str, type] = {
    "null": type(None),
    "boolean": bool,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "string": str,
    "enum": str,
    "bytes": bytes,
    "fixed": bytes,
}
_BITS = {"int": 32, "long": 64}
_NAMED = ("record", "error", "enum", "fixed")


class AvroCodec:
    def __init__(self, schema: Schema, reader: Schema | None = None) -> None:
        self._names: dict[str, Any] = {}
        self._writer = _parse(schema, self._names)
        self._reader_names: dict[str, Any] = {}
        self._reader = _parse(reader, self._reader_names) if reader else None
        _refuse_bombs(self._writer, self._names)

    def decode(self, payload: bytes) -> Any:
        stream = io.BytesIO(payload)
        try:
            value = fastavro.schemaless_reader(stream, self._writer, self._reader)
        except Exception as error:  # whatever bytes make of fastavro: EOFError, IndexError, struct.error ...
            raise Undecodable(f"it is not what its schema says ({error or type(error).__name__})") from None
        if stream.read(1):
            raise Undecodable("there are bytes left behind what its schema says")
        return _plain(value)

    def encode(self, value: Any) -> bytes:
        datum = _Datum(self._names).of(value, self._writer, "$")
        stream = io.BytesIO()
        try:
            fastavro.schemaless_writer(stream, self._writer, datum)
        except (ValueError, TypeError, OverflowError, decimal.DecimalException) as error:
            raise Unfit(str(error)) from None
        return stream.getvalue()


def _parse(schema: Schema, names: dict[str, Any]) -> Parsed:
    try:
        for _name, reference in schema.all_references():
            fastavro.parse_schema(json.loads(reference.text), named_schemas=names)
        return fastavro.parse_schema(json.loads(schema.text), named_schemas=names)
    except (SchemaParseException, UnknownType, ValueError, RecursionError) as error:
        raise BadSchema(f"the schema cannot be used: {error}") from None


def _refuse_bombs(schema: Parsed, names: Mapping[str, Any]) -> None:
    """An array whose items take no bytes may claim any number of them in a few: nobody needs one, and it would fill the memory."""
    for each in _all_types(schema, names, set()):
        if (
            isinstance(each, dict)
            and each.get("type") == "array"
            and _takes_no_bytes(each["items"], names, frozenset())
        ):
            raise BadSchema("it has an array of items that take no bytes, which may be endless")


def _all_types(schema: Parsed, names: Mapping[str, Any], seen: set[str]) -> list[Parsed]:
    if isinstance(schema, list):
        return [found for branch in schema for found in _all_types(branch, names, seen)]
    if isinstance(schema, str):
        if schema in seen or schema not in names:
            return []
        seen.add(schema)
        return _all_types(names[schema], names, seen)
    inner = [schema.get("items"), schema.get("values"), *(field["type"] for field in schema.get("fields", ()))]
    if "name" in schema:
        seen.add(schema["name"])
    return [schema, *(found for each in inner if each is not None for found in _all_types(each, names, seen))]


def _takes_no_bytes(schema: Parsed, names: Mapping[str, Any], above: frozenset[str]) -> bool:
    if isinstance(schema, list):
        return False  # the branch's number is a byte
    if isinstance(schema, str):
        if schema == "null":
            return True
        return schema in names and schema not in above and _takes_no_bytes(names[schema], names, above | {schema})
    kind = schema["type"]
    if kind in ("record", "error"):
        inside = above | {schema["name"]}
        return all(_takes_no_bytes(field["type"], names, inside) for field in schema["fields"])
    if kind == "fixed":
        return bool(schema["size"] == 0)
    return bool(kind == "null")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    return value


class _Datum:
    """What fastavro writes, made of what JSON has, as the schema wants it."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def of(self, value: Any, schema: Parsed, path: str) -> Any:
        if isinstance(schema, list):
            return self._of_union(value, schema, path)
        if isinstance(schema, str):
            return self.of(value, self._names[schema], path) if schema in self._names else _simple(value, schema, path)
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._of_record(value, schema, path)
        if kind == "array" and isinstance(value, list):
            return [self.of(each, schema["items"], f"{path}[{number}]") for number, each in enumerate(value)]
        if kind == "map" and isinstance(value, dict):
            return {name: self.of(each, schema["values"], f"{path}.{name}") for name, each in value.items()}
        if kind in ("array", "map"):
            raise Unfit(f"{path} must be {'a list' if kind == 'array' else 'an object'}, not {_shown(value)}")
        if kind == "enum" and value not in schema["symbols"]:
            raise Unfit(f"{path} must be one of {', '.join(schema['symbols'])}, not {_shown(value)}")
        datum = _logical(value, kind, schema.get("logicalType"), path)
        if kind == "fixed" and isinstance(datum, bytes) and len(datum) != schema["size"]:
            raise Unfit(f"{path} must have {schema['size']} bytes, not {len(datum)}")
        return datum

    def _of_record(self, value: Any, schema: Parsed, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Unfit(f"{path} must be an object with the fields of {schema['name']}, not {_shown(value)}")
        fields = {field["name"]: field for field in schema["fields"]}
        unknown = [name for name in value if name not in fields]
        if unknown:
            raise Unfit(f"{path} has a field '{unknown[0]}'; {schema['name']} has {', '.join(fields) or 'none'}")
        missing = [name for name, field in fields.items() if name not in value and "default" not in field]
        if missing:
            raise Unfit(f"{path} lacks the field '{missing[0]}' of {schema['name']}")
        return {name: self.of(each, fields[name]["type"], f"{path}.{name}") for name, each in value.items()}

    def _of_union(self, value: Any, schema: Parsed, path: str) -> Any:
        """The first branch that takes it. `{"branch": value}`, as Avro's own JSON has it, chooses one."""
        if isinstance(value, dict) and len(value) == 1:
            ((tag, inner),) = value.items()
            for branch in schema:
                if _branch_name(branch) == tag:
                    datum = self.of(inner, branch, path)
                    return (tag, datum) if self._is_record(branch) else datum
        reasons = []
        for branch in schema:
            try:
                datum = self.of(value, branch, path)
                return (_branch_name(branch), datum) if self._is_record(branch) else datum
            except SerdeError as error:
                reasons.append(str(error))
        raise Unfit(f"{path} fits no branch of its union: {'; '.join(reasons)}")

    def _is_record(self, branch: Parsed) -> bool:
        resolved = self._names.get(branch, branch) if isinstance(branch, str) else branch
        return isinstance(resolved, dict) and resolved["type"] in ("record", "error")


def _simple(value: Any, kind: str, path: str) -> Any:
    return _logical(value, kind, None, path)


def _logical(value: Any, kind: str, logical: str | None, path: str) -> Any:
    try:
        if logical is not None and logical in _TIMES and isinstance(value, str):
            return _TIMES[logical](value)
        if logical == "decimal" and isinstance(value, str | int | float):
            return decimal.Decimal(str(value))
        if kind in ("bytes", "fixed") and isinstance(value, str):
            return value.encode("latin-1")  # as Avro's own JSON has bytes
    except (ValueError, decimal.DecimalException):
        raise Unfit(f"{path}: {_shown(value)} is no {logical or kind}") from None
    if kind in ("float", "double") and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    wanted = _ACCEPTED.get(kind)
    if wanted and (not isinstance(value, wanted) or (isinstance(value, bool) and kind != "boolean")):
        raise Unfit(f"{path} must be {kind}, not {_shown(value)}")
    if kind in _BITS and isinstance(value, int) and (value if value >= 0 else ~value) >> (_BITS[kind] - 1):
        raise Unfit(f"{path}: {value} does not fit into {kind}")
    return value


def _branch_name(branch: Parsed) -> str:
    if isinstance(branch, str):
        return branch
    return str(branch["name"] if branch["type"] in _NAMED else branch["type"])


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
