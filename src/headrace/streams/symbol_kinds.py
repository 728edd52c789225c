"""The kinds of symbols: texts, numbers and times, arrays, maps, structs; and how Python's own structures become symbols.

Methods have Python's names where Python has the method (`upper`, `startswith`, `split`), and do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.plan.conversions import widens
from headrace.plan.expressions import Call, Case, Cast, Expression, FieldOf, Literal, Named, StructOf, When
from headrace.plan.types import BOOLEAN, INTEGER, STRING, Array, DataType, Field, Map, Struct
from headrace.streams.errors import StreamsError
from headrace.streams.schema import NULL, constant, data_type, field_names, python_type
from headrace.streams.symbols import Symbol, call, choose, common_type, escape, expression_of, symbol
from headrace.streams.symbols import cast as cast_symbol


class Scalar(Symbol):
    """What every column but a struct can do."""

    __slots__ = ()

    def cast(self, to: Any) -> Any:
        """As another type; None where that is impossible. `to`: a Python type or the text of a type."""
        return cast_symbol(self, to)

    def is_null(self) -> Any:
        return is_null(self)

    def is_not_null(self) -> Any:
        return ~is_null(self)

    def is_in(self, values: Any) -> Any:
        """Whether it is one of several values or columns."""
        if isinstance(values, Symbol):
            return call("contains", values, self)
        options = [self == value for value in values]
        return call("or", *options) if len(options) > 1 else options[0] if options else literal(False)

    def or_else(self, default: Any) -> Any:
        """Itself, or `default` where it is None."""
        return call("coalesce", self, default)


class Text(Scalar):
    __slots__ = ()

    def upper(self) -> Any:
        return call("upper", self)

    def lower(self) -> Any:
        return call("lower", self)

    def strip(self) -> Any:
        return call("regexp_replace", self, r"(?U)^\s+|\s+$", "")

    def replace(self, old: Any, new: Any) -> Any:
        return call("replace", self, old, new)

    def split(self, separator: Any = None) -> Any:
        """The parts between a separator; without one, the words (white space between them does not matter)."""
        if separator is None:
            return call("regexp_extract_all", self, r"(?U)\S+", 0)
        return call("split", self, separator)

    def contains(self, part: Any) -> Any:
        """Python's `part in text`."""
        return call("contains", self, part)

    def startswith(self, prefix: Any) -> Any:
        return call("starts_with", self, prefix)

    def endswith(self, suffix: Any) -> Any:
        return call("ends_with", self, suffix)

    def __getitem__(self, index: Any) -> Any:
        """Characters count from 0, and from the end with a negative number; None where there is no such character."""
        if not isinstance(index, slice):
            return _character(self, _position(index, self, 1))
        start, stop = (0 if index.start is None else index.start), index.stop
        if index.step is not None or not all(isinstance(bound, int) and bound >= 0 for bound in (start, stop or 0)):
            escape(
                "slices a text with a step, or with a negative or computed bound",
                "use fn.substring, which counts from 1",
            )
        return call("substring", self, start + 1, *(() if stop is None else (max(0, stop - start),)))


def _character(text: Symbol, position: Symbol) -> Any:
    found = call("null_if", call("substring", text, position, 1), "")
    return found if isinstance(position._hr_expression, Literal) else choose(((position > 0, found),), None)


def _position(index: Any, whole: Symbol, first: int = 0) -> Any:
    """An index as an INTEGER, counted from `first`."""
    if type(index) is int:
        return (
            literal(index + first, "INTEGER") if index >= 0 else cast_symbol(length(whole) + (index + first), "INTEGER")
        )
    return cast_symbol(choose(((index < 0, length(whole) + index),), index) + first, "INTEGER")


class ArraySymbol(Scalar):
    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        """Items count from 0, and from the end with a negative number; None where there is no such item."""
        if isinstance(index, slice):
            escape("slices an array", "use fn.slice(array, start, count), which counts from 1")
        return _with_python(call("get", self, _position(index, self)), _item_python(self))

    def contains(self, item: Any) -> Any:
        """Python's `item in array`."""
        return call("contains", self, item)

    def map(self, function: Callable[[Any], Any]) -> Any:
        """A new array with the function's result for each item."""
        return call("transform", self, function)

    def filter(self, function: Callable[[Any], Any]) -> Any:
        """The items for which the function's result is true."""
        return _with_python(call("filter", self, function), self._hr_python)


def _item_python(array: Symbol) -> Any:
    arguments = getattr(array._hr_python, "__args__", None)
    return arguments[0] if arguments else None


class MapSymbol(Scalar):
    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return call("element_at", self, key)

    def get(self, key: Any, default: Any = None) -> Any:
        found = self[key]
        return found if default is None else call("coalesce", found, default)

    def keys(self) -> Any:
        return call("map_keys", self)

    def values(self) -> Any:
        return call("map_values", self)

    def contains(self, key: Any) -> Any:
        """Python's `key in map`."""
        return call("contains", self, key)


class StructSymbol(Symbol):
    """A struct; its fields are attributes, `s["name"]` and, of a tuple, `s[0]`.

    `parts`: the fields where they are columns of their own; `optional`: it is a row that may be missing, of which all columns are NULL.
    """

    __slots__ = ("_hr_optional", "_hr_parts")

    def __init__(self, expression: Expression | None, type_: Struct, python: Any = None,
                 parts: Mapping[str, Expression] | None = None, optional: bool = False) -> None:  # fmt: skip
        if expression is None:
            assert parts is not None
            expression = _struct_of_parts(type_, parts, optional)
        super().__init__(expression, type_, python)
        self._hr_parts = parts
        self._hr_optional = optional

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self._hr_field(name)

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, int) and not isinstance(name, bool):
            fields = self._hr_struct.names
            if not -len(fields) <= name < len(fields):
                raise StreamsError(f"there is no field {name}; there are {len(fields)}")
            return self._hr_field(fields[name])
        return self._hr_field(name)

    @property
    def _hr_struct(self) -> Struct:
        assert isinstance(self._hr_type, Struct)
        return self._hr_type

    def _hr_field(self, name: str) -> Any:
        type_ = self._hr_struct.get(name)
        if type_ is None:
            of_what = getattr(self._hr_python, "__name__", "the struct")
            raise MissingField(f"{of_what} has no field {name!r}; it has {', '.join(self._hr_struct.names)}")
        part = self._hr_parts[name] if self._hr_parts is not None else FieldOf(self._hr_expression, name)
        return of(part, type_, _field_python(self._hr_python, name))


class MissingField(StreamsError, AttributeError):
    """A field that a struct does not have. An AttributeError too, because Python's own protocols ask for attributes."""


def _struct_of_parts(type_: Struct, parts: Mapping[str, Expression], optional: bool) -> Expression:
    whole = StructOf(tuple(Named(name, parts[name]) for name in type_.names))
    return Case((When(_all_null(parts), Literal(type_, None)),), whole) if optional else whole


def _all_null(parts: Mapping[str, Expression]) -> Expression:
    checks = tuple(Call("is_null", (part,)) for part in parts.values())
    return checks[0] if len(checks) == 1 else Call("and", checks)


def _field_python(cls: Any, name: str) -> Any:
    import typing

    if cls is None or field_names(cls) is None:
        return None
    return typing.get_type_hints(cls).get(name)


_KINDS: dict[type[DataType], type[Symbol]] = {Array: ArraySymbol, Map: MapSymbol}


def of(expression: Expression, type_: DataType, python: Any = None) -> Symbol:
    """The right kind of symbol for a type."""
    if isinstance(type_, Struct):
        parts = {f.name: f.expression for f in expression.fields} if isinstance(expression, StructOf) else None
        return StructSymbol(expression, type_, python, parts)
    if type_ == STRING:
        return Text(expression, type_, python)
    return _KINDS.get(type(type_), Scalar)(expression, type_, python)


def _with_python(value: Symbol, python: Any) -> Symbol:
    value._hr_python = python
    return value


def is_null(value: Symbol) -> Any:
    if isinstance(value, StructSymbol) and value._hr_parts:
        return of(_all_null(value._hr_parts), BOOLEAN)
    return of(Call("is_null", (value._hr_expression,)), BOOLEAN)


def is_not_null(value: Symbol) -> Any:
    return ~is_null(value)


def length(value: Any) -> Any:
    """The number of characters of a text, items of an array, entries of a map: Python's `len`."""
    if not isinstance(value, Symbol):
        return len(value)
    return call("size" if isinstance(value, ArraySymbol | MapSymbol) else "length", value)


# Python's own structures


def from_python(value: Any) -> Symbol:
    """Constants, dataclasses, named tuples, tuples, dicts and lists, with symbols inside or without."""
    if isinstance(value, list):
        return _array(value)
    if isinstance(value, dict):
        return _struct(None, {str(name): item for name, item in value.items()}, None)
    fields = field_names(type(value))
    if fields is not None:
        return _struct(type(value), {name: getattr(value, name) for name in fields}, data_type(type(value)))
    if isinstance(value, tuple):
        return _struct(None, {f"f{i}": item for i, item in enumerate(value)}, None)
    expression, type_ = constant(value)
    return of(expression, type_, type(value))


def _array(items: list[Any]) -> Symbol:
    if not items:
        escape(
            "makes an empty list, whose items have no type",
            "use cast(None, …) or a Python function with a return annotation",
        )
    symbols = [symbol(item) for item in items]
    type_ = common_type([s._hr_type for s in symbols])
    parts = tuple(fitted(s, type_, "an item")._hr_expression for s in symbols)
    found = of(Call("array", parts), Array(type_))
    return _with_python(found, list[symbols[0]._hr_python] if symbols[0]._hr_python else None)  # type: ignore[misc]


def _struct(cls: Any, content: dict[str, Any], declared: DataType | None) -> Symbol:
    of_what = getattr(cls, "__name__", "the result")
    symbols = {name: symbol(item) for name, item in content.items()}
    if isinstance(declared, Struct):
        symbols = {name: fitted(s, declared.get(name), f"{of_what}.{name}") for name, s in symbols.items()}
    for name, part in symbols.items():
        if part._hr_type == NULL:
            raise StreamsError(f"{of_what}.{name} is None, which has no type; write cast(None, str) or the like")
    type_ = Struct(tuple(Field(name, part._hr_type) for name, part in symbols.items()))
    parts = {name: part._hr_expression for name, part in symbols.items()}
    return StructSymbol(None, type_, cls, parts)


def fitted(value: Symbol, to: DataType | None, what: str) -> Symbol:
    """`value` as a type that can hold all of it: None, or a wider number. Anything else has to be said with `cast`."""
    found = value._hr_type
    if to is None or found == to:
        return value
    if found == NULL:
        return of(Literal(to, None), to)
    if isinstance(to, Struct) and isinstance(value, StructSymbol) and value._hr_struct.names == to.names:
        parts = {f.name: fitted(value._hr_field(f.name), f.type, f"{what}.{f.name}")._hr_expression for f in to}
        return StructSymbol(None, to, value._hr_python, parts)
    if _is_literal_of(value, to):
        return of(Literal(to, value._hr_expression.value), to, value._hr_python)  # type: ignore[attr-defined]
    if widens(found, to):
        return of(Cast(value._hr_expression, to), to, value._hr_python)
    raise StreamsError(f"{what} is {to}, but the expression is {found}; use .cast({_python_name(to)})")


def _is_literal_of(value: Symbol, to: DataType) -> bool:
    """A whole number written in the code fits a smaller column if its value does."""
    number = value._hr_expression.value if isinstance(value._hr_expression, Literal) else None
    return to == INTEGER and type(number) is int and -(2**31) <= number < 2**31


_PYTHON_NAMES: dict[str, str] = {
    "STRING": "str",
    "BIGINT": "int",
    "DOUBLE": "float",
    "BOOLEAN": "bool",
    "BYTES": "bytes",
}


def _python_name(type_: DataType) -> str:
    return _PYTHON_NAMES.get(str(type_), f'"{type_}"')


class Condition:
    """`when(condition).then(result)`, `.when(…).then(…)` as often as needed, `.otherwise(result)` at the end."""

    __slots__ = ("_branches", "_condition")

    def __init__(self, condition: Any, branches: tuple[tuple[Any, Any], ...] = ()) -> None:
        self._condition = condition
        self._branches = branches

    def then(self, result: Any) -> Chosen:
        if symbol(self._condition)._hr_type != BOOLEAN:
            raise StreamsError(f"when({symbol(self._condition)!r}): a condition is a BOOLEAN")
        return Chosen((*self._branches, (self._condition, result)))


class Chosen:
    """The branches so far."""

    __slots__ = ("_branches",)

    def __init__(self, branches: tuple[tuple[Any, Any], ...]) -> None:
        self._branches = branches

    def when(self, condition: Any) -> Condition:
        return Condition(condition, self._branches)

    def otherwise(self, default: Any) -> Any:
        return choose(self._branches, default)


def when(condition: Any) -> Condition:
    """The way to say `if` to columns: `when(p.amount > 100).then("large").otherwise("small")`."""
    return Condition(condition)


def literal(value: Any, type_: Any = None) -> Any:
    """A constant as a column, of the type that Python's has or of another."""
    found = symbol(value)
    return found if type_ is None else fitted(found, data_type(type_), "the constant")


__all__ = ["Scalar", "StructSymbol", "expression_of", "from_python", "length", "literal", "of", "python_type", "when"]
