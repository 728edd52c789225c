"""Operators as functions. Whole numbers overflow as Java's do; division by zero is NULL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.functions.constants import like_pattern
from headrace.functions.declaration import Rule, function
from headrace.plan.conversions import as_decimal, bounded_decimal
from headrace.plan.types import BIGINT, DOUBLE, INTEGER, DataType, Decimal


def _arithmetic(decimals: Callable[[Decimal, Decimal], Decimal]) -> Callable[[Sequence[DataType]], DataType | None]:
    def result(types: Sequence[DataType]) -> DataType | None:
        if DOUBLE in types:
            return DOUBLE
        left, right = as_decimal(types[0]), as_decimal(types[1])
        assert left is not None and right is not None
        if any(isinstance(one, Decimal) for one in types):
            return decimals(left, right)
        return BIGINT if BIGINT in types else INTEGER

    return result


def _sum(a: Decimal, b: Decimal) -> Decimal:
    scale = max(a.scale, b.scale)
    return bounded_decimal(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)


def _product(a: Decimal, b: Decimal) -> Decimal:
    return bounded_decimal(a.precision + b.precision + 1, a.scale + b.scale)


def _quotient(a: Decimal, b: Decimal) -> Decimal:
    scale = max(6, a.scale + b.precision + 1)
    return bounded_decimal(a.precision - a.scale + b.scale + scale, scale)


def _remainder(a: Decimal, b: Decimal) -> Decimal:
    scale = max(a.scale, b.scale)
    return bounded_decimal(min(a.precision - a.scale, b.precision - b.scale) + scale, scale)


def _numbers(symbol: str, decimals: Callable[[Decimal, Decimal], Decimal]) -> Rule:
    result = _arithmetic(decimals)

    def sql(arguments: Sequence[str], types: Sequence[DataType]) -> str:
        type_ = result(types)
        if isinstance(type_, Decimal):
            # Spark computes decimals exactly and rounds once; the cast only pins the type.
            return f"CAST(({arguments[0]} {symbol} {arguments[1]}) AS DECIMAL({type_.precision},{type_.scale}))"
        if symbol == "/" and type_ in (INTEGER, BIGINT):
            quotient = f"({arguments[0]} div {arguments[1]})"
            return f"CAST({quotient} AS INT)" if type_ == INTEGER else quotient
        return f"({arguments[0]} {symbol} {arguments[1]})"

    return Rule(sql, result, convert=False)


def _compared(symbol: str) -> dict[str, str]:
    return {"C, C -> BOOLEAN": f"({{0}} {symbol} {{1}})"}


def _joined(word: str) -> Callable[[Sequence[str], Sequence[DataType]], str]:
    return lambda arguments, types: "(" + f" {word} ".join(arguments) + ")"


# Where a remainder has not the divisor's sign, rounding down differs from cutting off. Written so that nothing overflows on the way.
_OTHER_SIGN = "({0} % {1}) <> 0 AND (({0} % {1}) < 0) <> ({1} < 0)"
_DOWN = f"if({_OTHER_SIGN}, 1L, 0L)"

FUNCTIONS = (
    function("add", "The sum.", {"N, N -> N": _numbers("+", _sum)}),
    function("subtract", "The difference.", {"N, N -> N": _numbers("-", _sum)}),
    function("multiply", "The product.", {"N, N -> N": _numbers("*", _product)}),
    function(
        "divide",
        "The quotient; of whole numbers without its fraction, as in Java. By zero: NULL.",
        {"N, N -> N": _numbers("/", _quotient)},
    ),
    function(
        "true_divide",
        "The quotient as a DOUBLE, of whole numbers too. By zero: NULL.",
        {"N, M -> DOUBLE": "(CAST({0} AS DOUBLE) / CAST({1} AS DOUBLE))"},
    ),
    function(
        "floor_divide",
        "The quotient rounded down, as Python's `//`. By zero: NULL.",
        {
            "INTEGER, INTEGER -> INTEGER": f"CAST(({{0}} div {{1}}) - {_DOWN} AS INT)",
            "BIGINT, BIGINT -> BIGINT": f"(({{0}} div {{1}}) - {_DOWN})",
            "DOUBLE, DOUBLE -> DOUBLE": "headrace_floor_divide({0}, nullif({1}, 0D))",
        },
    ),
    function(
        "modulo",
        "The remainder, with the sign of the first argument, as Java's `%`. By zero: NULL.",
        {"N, N -> N": _numbers("%", _remainder)},
    ),
    function(
        "floor_modulo",
        "The remainder with the sign of the second argument, as Python's `%`.",
        {
            "N, N -> N": f"CASE WHEN {_OTHER_SIGN} THEN ({{0}} % {{1}}) + {{1}} ELSE {{0}} % {{1}} END",
        },
    ),
    function(
        "negate",
        "The number with the other sign.",
        # Spark's own minus rounds a decimal to 34 digits, and throws when that makes one digit more.
        {"DECIMAL -> DECIMAL": Rule("(0 - {0})", lambda types: types[0]), "N -> N": "(- {0})"},
    ),
    function("equal", "Whether both are equal; NULL when one is NULL.", _compared("=")),
    function("not_equal", "Whether both differ; NULL when one is NULL.", _compared("<>")),
    function("less", "Whether the first is less.", _compared("<")),
    function("less_equal", "Whether the first is less or equal.", _compared("<=")),
    function("greater", "Whether the first is greater.", _compared(">")),
    function("greater_equal", "Whether the first is greater or equal.", _compared(">=")),
    function(
        "is_distinct",
        "Whether both differ; NULL is a value like any other.",
        {"C, C -> BOOLEAN": "(NOT ({0} <=> {1}))"},
    ),
    function("is_not_distinct", "Whether both are equal or both NULL.", {"C, C -> BOOLEAN": "({0} <=> {1})"}),
    function("and", "Whether all are true.", {"BOOLEAN... -> BOOLEAN": _joined("AND")}),
    function("or", "Whether at least one is true.", {"BOOLEAN... -> BOOLEAN": _joined("OR")}),
    function("not", "The opposite; NULL stays NULL.", {"BOOLEAN -> BOOLEAN": "(NOT {0})"}),
    function("is_null", "Whether it is NULL.", {"T -> BOOLEAN": "({0} IS NULL)"}),
    function("is_not_null", "Whether it is not NULL.", {"T -> BOOLEAN": "({0} IS NOT NULL)"}),
    function(
        "in",
        "Whether the first is among the others.",
        {
            "C, C... -> BOOLEAN": lambda arguments, types: f"({arguments[0]} IN ({', '.join(arguments[1:])}))",
        },
    ),
    function(
        "between",
        "Whether the first lies between the others, both included.",
        {"C, C, C -> BOOLEAN": "({0} BETWEEN {1} AND {2})"},
    ),
    function(
        "like",
        "Whether a text fits a pattern: `%` any characters, `_` one; `\\` before them takes them as they are.",
        {"STRING, STRING -> BOOLEAN": "({0} LIKE {1})"},
        {1: like_pattern},
    ),
    function(
        "concat",
        "Texts, bytes or arrays one after the other; NULL when one is NULL.",
        {
            "STRING... -> STRING": "concat({*})",
            "BYTES... -> BYTES": "concat({*})",
            "ARRAY<T>... -> ARRAY<T>": "concat({*})",
        },
    ),
)
