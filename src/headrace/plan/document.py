"""A plan as a JSON document and back.

One codec for every dataclass of the plan, from their type hints: a node is an object with `node` (the class's name, where more than one class can
stand in that place) and its fields; fields at their default are left out. Types of columns are their text. Reading is strict: an unknown
kind or field, a wrong value, too deep a nesting or too large a document is a `PlanDocumentError` that names the place. Nothing read is ever evaluated.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from enum import StrEnum
from functools import cache
from typing import Any

from headrace.plan import expressions, steps, windows
from headrace.plan.plan import FORMAT_VERSION, Plan
from headrace.plan.types import DataType, TypeTextError, parse_type

MAX_BYTES = 4 << 20
MAX_NODES = 100_000  # values of all kinds in a document
MAX_DEPTH = 200
NODE = "node"  # no field of any node has this name; joins have a field `kind`

_BASES = (steps.Step, expressions.Expression, windows.Window)


class PlanDocumentError(ValueError):
    """A document that is no plan; `path` says where, as `steps[3].condition`."""

    def __init__(self, path: str, problem: str) -> None:
        # What is wrong may be megabytes long itself.
        self.path = path if len(path) <= 500 else path[:500] + "…"
        self.problem = problem if len(problem) <= 2000 else problem[:2000] + "…"
        super().__init__(f"{self.path or 'the plan'}: {self.problem}")


def to_document(plan: Plan) -> dict[str, Any]:
    """The plan as JSON's own kinds."""
    return {"version": plan.version, "name": plan.name, "steps": [_encode(step, steps.Step) for step in plan.steps]}


def to_json(plan: Plan, indent: int | None = None) -> str:
    return json.dumps(to_document(plan), indent=indent, ensure_ascii=False)


def from_json(text: str | bytes) -> Plan:
    if len(text) > MAX_BYTES:
        raise PlanDocumentError("", f"a plan may have {MAX_BYTES} bytes, this has {len(text)}")
    try:
        document = json.loads(text)
    except RecursionError:
        raise PlanDocumentError("", "nested too deep") from None
    except ValueError as error:
        raise PlanDocumentError("", f"not JSON: {error}") from None
    return from_document(document)


def from_document(document: Any) -> Plan:
    """The plan in a JSON document; the document may come from anywhere."""
    if not isinstance(document, dict):
        raise PlanDocumentError("", "expected an object")
    _check_size(document)
    version = document.get("version")
    if version != FORMAT_VERSION:
        raise PlanDocumentError(
            "version",
            f"{version!r}: this Headrace reads version {FORMAT_VERSION}; write the plan anew with the app that made it",
        )
    decoded = _decode_fields(Plan, document, "", 0)
    assert isinstance(decoded, Plan)
    return decoded


def _check_size(document: Any) -> None:
    """Before anything is built: a small text can hold more values than a plan ever has."""
    waiting = [document]
    count = 0
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list):
            count += len(value)
            waiting.extend(value.values() if isinstance(value, dict) else value)
        if count > MAX_NODES:
            raise PlanDocumentError("", f"a plan may hold {MAX_NODES} values, this holds more")


def encode_node(node: Any) -> Any:
    """Any node of a plan (a step, an expression, a serde) as JSON's own kinds, with its kind."""
    return _encode(node, next((base for base in _BASES if isinstance(node, base)), type(node)))


def _encode(value: Any, declared: Any) -> Any:
    if isinstance(value, DataType):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        body: dict[str, Any] = {NODE: type(value).__name__} if declared in _BASES else {}
        hints = _hints(type(value))
        for field in dataclasses.fields(value):
            content = getattr(value, field.name)
            if field.default is dataclasses.MISSING or content != field.default:
                body[field.name] = _encode(content, _element(hints[field.name]))
        return body
    if isinstance(value, tuple):
        return [_encode(item, declared) for item in value]
    return value.value if isinstance(value, StrEnum) else value


def _element(hint: Any) -> Any:
    """What a hint says about a value, or about each item of a tuple."""
    for option in _options(hint):
        if typing.get_origin(option) is tuple:
            return typing.get_args(option)[0]
        if option is not type(None):
            return option
    return hint


def _options(hint: Any) -> tuple[Any, ...]:
    return (
        typing.get_args(hint)
        if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
        else (hint,)
    )


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


@cache
def _kinds(base: type[Any]) -> dict[str, type[Any]]:
    found: dict[str, type] = {}
    for cls in base.__subclasses__():
        found[cls.__name__] = cls
        found.update(_kinds(typing.cast(typing.Hashable, cls)))
    return found


def _decode(hint: Any, value: Any, path: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise PlanDocumentError(path, "nested too deep")
    options = _options(hint)
    if value is None:
        if type(None) in options:
            return None
        raise PlanDocumentError(path, "must not be null")
    options = tuple(option for option in options if option is not type(None))
    if len(options) > 1:
        return _decode_scalar(options, value, path)
    return _decode_one(options[0], value, path, depth)


def _decode_one(hint: Any, value: Any, path: str, depth: int) -> Any:
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise PlanDocumentError(path, "expected a list")
        item = typing.get_args(hint)[0]
        return tuple(_decode(item, content, f"{path}[{index}]", depth + 1) for index, content in enumerate(value))
    if isinstance(hint, type) and issubclass(hint, DataType):
        return _decode_type(hint, value, path)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        try:
            return hint(value)
        except ValueError:
            raise PlanDocumentError(path, f"{value!r} is none of {', '.join(hint)}") from None
    if dataclasses.is_dataclass(hint):
        return _decode_node(typing.cast(type, hint), value, path, depth)
    return _decode_scalar((hint,), value, path)


def _decode_type(hint: type, value: Any, path: str) -> DataType:
    if not isinstance(value, str):
        raise PlanDocumentError(path, "expected the text of a type")
    try:
        parsed = parse_type(value)
    except TypeTextError as error:
        raise PlanDocumentError(path, str(error)) from None
    if not isinstance(parsed, hint):
        raise PlanDocumentError(path, f"expected a {hint.__name__.upper()}, found {value!r}")
    return parsed


def _decode_node(cls: type, value: Any, path: str, depth: int) -> Any:
    if not isinstance(value, dict):
        raise PlanDocumentError(path, "expected an object")
    if cls in _BASES:
        kinds = _kinds(cls)
        kind = value.get(NODE)
        if not isinstance(kind, str) or kind not in kinds:
            raise PlanDocumentError(f"{path}.{NODE}", f"{kind!r} is none of {', '.join(sorted(kinds))}")
        cls = kinds[kind]
        value = {name: content for name, content in value.items() if name != NODE}
    return _decode_fields(cls, value, path, depth)


def _decode_fields(cls: type, value: dict[str, Any], path: str, depth: int) -> Any:
    hints = _hints(cls)
    declared = {field.name: field for field in dataclasses.fields(cls)}
    for name in value:
        if name not in declared:
            raise PlanDocumentError(
                f"{path}.{name}".lstrip("."), f"{cls.__name__} has no such field; it has {', '.join(declared)}"
            )
    arguments: dict[str, Any] = {}
    for name, field in declared.items():
        place = f"{path}.{name}".lstrip(".")
        if name in value:
            arguments[name] = _decode(hints[name], value[name], place, depth + 1)
        elif field.default is dataclasses.MISSING:
            raise PlanDocumentError(place, f"{cls.__name__} needs it")
    try:
        return cls(**arguments)
    except ValueError as error:
        raise PlanDocumentError(path, str(error)) from None


def _decode_scalar(allowed: tuple[Any, ...], value: Any, path: str) -> Any:
    if type(value) in allowed or (float in allowed and type(value) is int):
        if isinstance(value, str) and not _is_text(value):
            raise PlanDocumentError(path, "holds half of a surrogate pair, which is no text")
        return value
    raise PlanDocumentError(path, f"expected {' or '.join(t.__name__ for t in allowed)}, found {type(value).__name__}")


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
