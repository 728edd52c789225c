"""Symbols: what a traced function gets instead of values. They know their type, and everything done with them becomes an expression.

What no column can do (`if`, `and`, `in`, iteration, `int(x)`, an f-string) raises `NotTraceable`, so that a function that does it is never
taken for something else than it is. Where SQL and Python differ, the expression does what Python does: `/` of integers is not cut off,
`//` and `%` round down, `==` holds for two Nones and `!=` for one. The kinds of symbols by type (texts, arrays, structs …) are in `symbol_kinds`.
"""

from __future__ import annotations

import datetime
import itertools
import types
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, NoReturn

from headrace.plan import conversions
from headrace.plan.expressions import Call, Case, Cast, Expression, Lambda, Literal, Variable, When
from headrace.plan.types import BIGINT, BOOLEAN, BYTES, DATE, DOUBLE, INTEGER, STRING, Array, DataType, Decimal
from headrace.streams import catalogue as names
from headrace.streams.errors import NotTraceable, StreamsError, caller
from headrace.streams.schema import NULL, constant, data_type, python_type

escapes: ContextVar[list[NotTraceable] | None] = ContextVar("escapes", default=None)


def escape(reason: str, advice: str) -> NoReturn:
    """The function does what a column cannot do. Noted as well as raised: a bare `except` cannot hide it."""
    problem = NotTraceable(reason, advice, caller())
    noted = escapes.get()
    if noted is not None:
        noted.append(problem)
    raise problem


class Symbol:
    """A column-to-be. `symbol_kinds.of` makes the right kind for a type."""

    __slots__ = ("_hr_expression", "_hr_python", "_hr_type")

    def __init__(self, expression: Expression, type_: DataType, python: Any = None) -> None:
        self._hr_expression = expression
        self._hr_type = type_
        self._hr_python = python

    def __repr__(self) -> str:
        return f"<{self._hr_type} {self._hr_expression}>"

    # What columns can do

    def __add__(self, other: Any) -> Any:
        return plus(self, other)

    def __radd__(self, other: Any) -> Any:
        return plus(other, self)

    def __sub__(self, other: Any) -> Any:
        return later(self, -other) if isinstance(other, datetime.timedelta) else call("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return call("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return call("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return call("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return quotient(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return quotient(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return floor_quotient(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return floor_quotient(other, self)

    def __mod__(self, other: Any) -> Any:
        return remainder(self, other)

    def __rmod__(self, other: Any) -> Any:
        if isinstance(other, str):
            escape("formats a text with %", "use + or concat(…)")
        return remainder(other, self)

    def __pow__(self, other: Any) -> Any:
        return call("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return call("power", other, self)

    def __neg__(self) -> Any:
        return call("negate", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return call("abs", self)

    def __eq__(self, other: object) -> Any:
        return equal(self, other)

    def __ne__(self, other: object) -> Any:
        if other is None:
            return call("not", is_null(self))
        return call("is_distinct", self, other)

    def __lt__(self, other: Any) -> Any:
        return call("less", self, other)

    def __le__(self, other: Any) -> Any:
        return call("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return call("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return call("greater_equal", self, other)

    def __and__(self, other: Any) -> Any:
        return call("and", _boolean(self, "&"), _boolean(other, "&"))

    def __rand__(self, other: Any) -> Any:
        return call("and", _boolean(other, "&"), _boolean(self, "&"))

    def __or__(self, other: Any) -> Any:
        return call("or", _boolean(self, "|"), _boolean(other, "|"))

    def __ror__(self, other: Any) -> Any:
        return call("or", _boolean(other, "|"), _boolean(self, "|"))

    def __invert__(self) -> Any:
        return call("not", _boolean(self, "~"))

    # What they cannot

    def __bool__(self) -> bool:
        escape("asks whether a column is true (`if`, `and`, `or`, `not`, `in`, a chained comparison)",
               "use when(…).then(…).otherwise(…), &, |, ~, .is_in(…)")  # fmt: skip

    def __contains__(self, item: Any) -> bool:
        escape("uses `in` on a column", "use .contains(…) or .is_in(…)")

    def __iter__(self) -> Iterator[Any]:
        escape("iterates over a column", "use .map(…), .filter(…) or flat_map_values")

    def __len__(self) -> int:
        escape("uses len() on a column", "use length(…)")

    def __hash__(self) -> int:
        escape(
            "uses a column as the key of a dict or in a set", "use when(…).then(…).otherwise(…), or a table and a join"
        )

    def __str__(self) -> str:
        escape("makes a text of a column (str(), an f-string, print)", "use .cast(str), + or concat(…)")

    def __format__(self, spec: str) -> str:
        escape("formats a column in a text (an f-string, format)", "use .cast(str), + or concat(…)")

    def __int__(self) -> int:
        escape("uses int() on a column", "use .cast(int)")

    def __float__(self) -> float:
        escape(
            "uses float() (or a function of math) on a column",
            "use .cast(float) and the functions of headrace.streams.fn",
        )

    def __index__(self) -> int:
        escape("uses a column as an index of a Python sequence", "use when(…).then(…).otherwise(…)")

    def __round__(self, digits: int = 0) -> Any:
        escape("uses round(), which rounds halves to even", "use fn.round(…), which rounds halves up")


def expression_of(value: Any) -> Expression:
    return symbol(value)._hr_expression


def type_of(value: Any) -> DataType:
    return symbol(value)._hr_type


def python_of(value: Any) -> Any:
    return symbol(value)._hr_python


def symbol(value: Any) -> Symbol:
    """A symbol, a constant, or a structure of them (dataclass, tuple, dict, list) as one symbol."""
    from headrace.streams import symbol_kinds

    return value if isinstance(value, Symbol) else symbol_kinds.from_python(value)


def constant_symbol(value: Any) -> Symbol:
    from headrace.streams import symbol_kinds

    expression, type_ = constant(value)
    return symbol_kinds.of(expression, type_, type(value))


def call(function: str, *arguments: Any) -> Any:
    """A call of a function of the catalogue; its type is checked at once. A Python function among the arguments becomes a lambda."""
    from headrace.streams import symbol_kinds

    known = [None if _is_lambda(argument) else symbol(argument) for argument in arguments]
    typed = _with_typed_nulls([one for one in known if one is not None])
    symbols = _with_lambdas(function, arguments, known, typed)
    try:
        type_ = names.result_type(function, [s._hr_type for s in symbols])
    except StreamsError as error:
        symbols = [_as_integer(s) for s in symbols]
        try:
            type_ = names.result_type(function, [s._hr_type for s in symbols])
        except StreamsError:
            raise error from None
    return symbol_kinds.of(Call(function, tuple(s._hr_expression for s in symbols)), type_)


def _is_lambda(argument: Any) -> bool:
    return isinstance(argument, types.FunctionType | types.MethodType)


def _with_lambdas(
    function: str, arguments: tuple[Any, ...], known: list[Symbol | None], typed: list[Symbol]
) -> list[Symbol]:
    """The arguments in order; a lambda is called with variables of the types that the function gives it."""
    rest = iter(typed)
    symbols = [None if one is None else next(rest) for one in known]
    types_ = [None if one is None else one._hr_type for one in symbols]
    found: list[Symbol] = []
    for position, (one, argument) in enumerate(zip(symbols, arguments)):
        found.append(one if one is not None else _lambda(argument, names.lambda_parameters(function, position, types_)))
    return found


def _lambda(function: Any, parameters: tuple[DataType, ...]) -> Symbol:
    variables = [f"x{next(_numbers)}" for _ in parameters]
    body = symbol(function(*(variable(name, type_) for name, type_ in zip(variables, parameters))))
    return Symbol(Lambda(tuple(variables), body._hr_expression), body._hr_type)


_numbers = itertools.count(1)


def number_variables_anew() -> None:
    """Each traced function counts from 1, so that a plan does not depend on what was traced before it."""
    global _numbers
    _numbers = itertools.count(1)


def _as_integer(value: Symbol) -> Symbol:
    """A small whole number written in the code, as an INTEGER."""
    literal = value._hr_expression
    if (
        isinstance(literal, Literal)
        and literal.type == BIGINT
        and type(literal.value) is int
        and abs(literal.value) < 2**31
    ):
        return Symbol(Literal(INTEGER, literal.value), INTEGER)
    return value


def _with_typed_nulls(symbols: list[Symbol]) -> list[Symbol]:
    """None takes the type of the first argument that has one."""
    typed = next((s._hr_type for s in symbols if s._hr_type != NULL), None)
    if typed is None:
        return symbols
    return [Symbol(Literal(typed, None), typed) if s._hr_type == NULL else s for s in symbols]


def cast(value: Any, to: Any) -> Any:
    """`value` as another type; what cannot be converted is None."""
    from headrace.streams import symbol_kinds

    type_ = data_type(to)
    return symbol_kinds.of(Cast(expression_of(value), type_), type_, python_type(to))


def equal(left: Any, right: Any) -> Any:
    """Python's ==: two Nones are equal, one None is not."""
    if right is None or left is None:
        return is_null(left if right is None else right)
    return call("is_not_distinct", left, right)


def quotient(left: Any, right: Any) -> Any:
    """Python's `/`: of whole numbers with its fraction, of decimals a decimal."""
    one, other = symbol(left), symbol(right)
    exact = isinstance(one._hr_type, Decimal) or isinstance(other._hr_type, Decimal)
    return call("divide" if exact else "true_divide", one, other)


def floor_quotient(left: Any, right: Any) -> Any:
    """Python's `//`, of floats too; that of decimals cuts off, and is left to Python."""
    one, other = symbol(left), symbol(right)
    if not {one._hr_type, other._hr_type} <= {BIGINT, INTEGER, DOUBLE, NULL}:
        escape("divides decimals with //", "use fn.floor(x / y)")
    return call("floor_divide", one, other)


def remainder(left: Any, right: Any) -> Any:
    """Python's `%`: with the sign of the divisor; of floats computed as Python does, to the last bit."""
    one, other = symbol(left), symbol(right)
    if {one._hr_type, other._hr_type} <= {BIGINT, INTEGER, NULL}:
        return call("floor_modulo", one, other)
    rest = call("modulo", one, other)
    crossed = call("not_equal", rest, 0) & call("not_equal", rest < 0, other < 0)
    return choose(((crossed, rest + other),), rest)


def plus(left: Any, right: Any) -> Any:
    """Numbers are added; texts, bytes and arrays come one after the other."""
    for moment, duration in ((left, right), (right, left)):
        if isinstance(duration, datetime.timedelta):
            return later(symbol(moment), duration)
    one, other = symbol(left), symbol(right)
    together = one._hr_type in (STRING, BYTES) or isinstance(one._hr_type, Array)
    return call("concat" if together else "add", one, other)


def later(moment: Symbol, by: datetime.timedelta) -> Any:
    """A moment or a day so much later; a day moves by whole days, as in Python."""
    if moment._hr_type == DATE:
        return call("add_days", moment, by.days)
    milliseconds, rest = divmod(by, datetime.timedelta(milliseconds=1))
    if rest:
        escape("adds microseconds, which moments here do not have", "use whole milliseconds")
    return call("add_time", moment, "MILLISECOND", milliseconds)


def is_null(value: Any) -> Any:
    """True where there is no value."""
    from headrace.streams import symbol_kinds

    return symbol_kinds.is_null(symbol(value))


def _boolean(value: Any, operator: str) -> Symbol:
    found = symbol(value)
    if found._hr_type not in (BOOLEAN, NULL):
        raise StreamsError(
            f"{operator} joins conditions, and {found!r} is none; put comparisons in parentheses: (a > 1) {operator} (b > 2)"
        )
    return found


def choose(branches: tuple[tuple[Any, Any], ...], default: Any) -> Any:
    """CASE: the result of the first condition that holds, else the default. All results have one type."""
    from headrace.streams import symbol_kinds

    results = _one_type([symbol(result) for _, result in branches] + [symbol(default)])
    whens = tuple(
        When(expression_of(condition), result._hr_expression) for (condition, _), result in zip(branches, results)
    )
    last = results[-1]
    otherwise = None if default is None else last._hr_expression
    return symbol_kinds.of(Case(whens, otherwise), last._hr_type, results[0]._hr_python)


def _one_type(symbols: list[Symbol]) -> list[Symbol]:
    """All of one type: None takes the others', numbers the widest."""
    widest = common_type([s._hr_type for s in symbols])
    return [s if s._hr_type == widest else converted(s, widest) for s in symbols]


def common_type(types_: list[DataType]) -> DataType:
    found = [t for t in types_ if t != NULL]
    if not found:
        raise StreamsError("all results are None, so that nothing has a type; write cast(None, str) or the like")
    both: DataType | None = found[0]
    for other in found[1:]:
        both = conversions.common_type(both, other) if both else None
    if both is None:
        raise StreamsError(f"one column cannot be {' and '.join(sorted({str(t) for t in found}))}; use .cast(…)")
    return both


def converted(value: Symbol, to: DataType) -> Symbol:
    """`value` as a type that can hold all of it: None, or a wider number. Anything else has to be said with `cast`."""
    from headrace.streams import symbol_kinds

    return symbol_kinds.fitted(value, to, "it")


def variable(name: str, type_: DataType, python: Any = None) -> Symbol:
    from headrace.streams import symbol_kinds

    return symbol_kinds.of(Variable(name), type_, python)
