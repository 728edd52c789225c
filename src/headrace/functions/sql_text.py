"""Expressions as the text of Spark SQL: literals, casts, names. No text of a plan gets into SQL unquoted.

The session that runs it has `spark.sql.ansi.enabled=false`, `spark.sql.caseSensitive=true`, time zone UTC and `mapKeyDedupPolicy=LAST_WIN`. Needs no pyspark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.functions.sql_types import SqlTextError, quote, spark_type
from headrace.plan import expressions as ex
from headrace.plan.conversions import common_type, widens
from headrace.plan.literals import literal_bytes, literal_count, literal_decimal, literal_double
from headrace.plan.scope import Scope, argument_types, expression_type, lambda_scope
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
    DataType,
    Decimal,
)

if TYPE_CHECKING:
    from headrace.functions.catalogue import Catalogue

__all__ = [
    "SqlTextError",
    "cast_sql",
    "expression_sql",
    "literal_sql",
    "quote",
    "spark_type",
    "string_sql",
]

Resolve = Callable[[ex.Column | ex.RowMeta], str]
PythonSql = Callable[[ex.PythonCall, Sequence[str]], str]

FIRST_MILLIS = -62135596800000
LAST_MILLIS = 253402300799999
FIRST_DAY = -719162
LAST_DAY = 2932896
_ISO = "yyyy-MM-dd'T'HH:mm:ss.SSS"


def string_sql(text: str) -> str:
    """A text as an SQL literal. Everything that Spark's reader treats specially, and what is not printable, is an escape."""
    return "'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    code = ord(character)
    if character in "'\\$" or code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code in (0x2028, 0x2029):
        return f"\\u{code:04x}"
    return character


def literal_sql(literal: ex.Literal) -> str:
    """A literal as SQL of exactly its type. The literal has been checked (`plan.literals`)."""
    type_, value = literal.type, literal.value
    if value is None:
        return f"CAST(NULL AS {spark_type(type_)})"
    if type_ == BOOLEAN:
        return "true" if value else "false"
    if type_ == STRING:
        return string_sql(str(value))
    if type_ == BYTES:
        return f"X'{literal_bytes(literal).hex().upper()}'"
    if type_ == DOUBLE:
        return _double_sql(literal_double(literal))
    if isinstance(type_, Decimal):
        return f"CAST('{literal_decimal(literal):f}' AS {spark_type(type_)})"
    if type_ in (INTEGER, BIGINT):
        return _number_sql(int(value), "L" if type_ == BIGINT else "")
    count = literal_count(literal)
    if type_ == DATE:
        return f"date_from_unix_date({count})"
    return _number_sql(count, "") if type_ == TIME else f"timestamp_millis({_number_sql(count, 'L')})"


def _number_sql(value: int, suffix: str) -> str:
    # In parentheses, because `--` begins a comment.
    return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"


def _double_sql(value: float) -> str:
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
        return f"CAST('{name}' AS DOUBLE)"
    return f"({value!r}D)" if math.copysign(1, value) < 0 else f"{value!r}D"


def cast_sql(sql: str, from_: DataType, to: DataType) -> str:
    """A CAST of the plan: what cannot be converted is NULL, times are milliseconds."""
    if from_ == to:
        return sql
    special = _SPECIAL_CASTS.get((from_, to))
    if special is not None:
        return special.replace("{0}", sql)
    return f"{'CAST' if widens(from_, to) else 'TRY_CAST'}({sql} AS {spark_type(to)})"


def timestamp_sql(millis: str) -> str:
    """The moment of a BIGINT; NULL beyond the years 1 to 9999, because Spark throws an exception where microseconds overflow."""
    return f"CASE WHEN {millis} BETWEEN {FIRST_MILLIS}L AND {LAST_MILLIS}L THEN timestamp_millis({millis}) END"


def date_sql(days: str) -> str:
    """The day of a number of days; NULL beyond the years 1 to 9999, because Spark throws where it makes a moment of a later one."""
    return f"CASE WHEN {days} BETWEEN {FIRST_DAY} AND {LAST_DAY} THEN date_from_unix_date(CAST({days} AS INT)) END"


_MILLIS_OF_DAY = "CAST(pmod(unix_millis({0}), 86400000L) AS INT)"
_SPECIAL_CASTS: Mapping[tuple[DataType, DataType], str] = {
    (TIMESTAMP, BIGINT): "unix_millis({0})",
    (BIGINT, TIMESTAMP): timestamp_sql("{0}"),
    (TIMESTAMP, STRING): f"date_format({{0}}, {string_sql(_ISO)})",
    (TIMESTAMP, TIME): _MILLIS_OF_DAY,
    (TIME, BIGINT): "CAST({0} AS BIGINT)",
    (TIME, INTEGER): "{0}",
    (TIME, STRING): "date_format(timestamp_millis(CAST({0} AS BIGINT)), 'HH:mm:ss.SSS')",
    (STRING, TIME): _MILLIS_OF_DAY.replace("{0}", "TRY_CAST(concat('1970-01-01T', {0}) AS TIMESTAMP)"),
    (INTEGER, TIME): "CASE WHEN {0} BETWEEN 0 AND 86399999 THEN {0} END",
}


def expression_sql(expression: ex.Expression, resolve: Resolve, scope: Scope, python: PythonSql | None = None) -> str:
    """The expression as Spark SQL. `resolve` gives the SQL of columns and row metadata, `scope` their types, `python` the SQL of a user's function."""
    from headrace.functions.catalogue import CATALOGUE

    return _Writer(resolve, python, CATALOGUE).write(expression, scope)


class _Writer:
    def __init__(self, resolve: Resolve, python: PythonSql | None, functions: Catalogue) -> None:
        self._resolve = resolve
        self._python = python
        self._functions = functions

    def write(self, node: ex.Expression, scope: Scope) -> str:
        match node:
            case ex.Column() | ex.RowMeta():
                return self._resolve(node)
            case ex.Literal():
                return literal_sql(node)
            case ex.Call():
                return self._call(node, scope)
            case ex.Cast():
                return cast_sql(self.write(node.operand, scope), expression_type(node.operand, scope), node.type)
            case ex.Case():
                return self._case(node, scope)
            case ex.FieldOf():
                return f"{self.write(node.operand, scope)}.{quote(node.name)}"
            case ex.StructOf():
                parts = (f"{string_sql(one.name)}, {self.write(one.expression, scope)}" for one in node.fields)
                return f"named_struct({', '.join(parts)})"
            case ex.Variable():
                return _variable(node.name)
            case ex.PythonCall():
                return self._python_call(node, scope)
        raise SqlTextError(f"{type(node).__name__} cannot stand alone")

    def _call(self, call: ex.Call, scope: Scope) -> str:
        types = argument_types(call, scope)
        arguments: list[str] = []
        for position, argument in enumerate(call.arguments):
            if isinstance(argument, ex.Lambda):
                known = [None if isinstance(one, ex.Lambda) else type_ for one, type_ in zip(call.arguments, types)]
                body = self.write(argument.body, lambda_scope(call, position, known, scope))
                arguments.append(f"{_parameters(argument.parameters)} -> {body}")
            else:
                arguments.append(self.write(argument, scope))
        return self._functions.spark_sql(call.function, arguments, types)

    def _case(self, case: ex.Case, scope: Scope) -> str:
        type_ = expression_type(case, scope)
        whens = " ".join(
            f"WHEN {self.write(one.condition, scope)} THEN {self._as(one.result, type_, scope)}"
            for one in case.branches
        )
        default = f" ELSE {self._as(case.default, type_, scope)}" if case.default else ""
        return f"CASE {whens}{default} END"

    def _as(self, node: ex.Expression, type_: DataType, scope: Scope) -> str:
        found = expression_type(node, scope)
        assert common_type(found, type_) == type_
        return cast_sql(self.write(node, scope), found, type_)

    def _python_call(self, call: ex.PythonCall, scope: Scope) -> str:
        if self._python is None:
            raise SqlTextError(f"{call.reference} is a Python function, which cannot be called here")
        return self._python(call, [self.write(argument, scope) for argument in call.arguments])


def _parameters(names: Sequence[str]) -> str:
    # Spark's grammar refuses parentheses around a single one.
    return _variable(names[0]) if len(names) == 1 else f"({', '.join(map(_variable, names))})"


def _variable(name: str) -> str:
    # A name of its own, so that a parameter called `value` does not hide the row's columns.
    return quote(f"lambda_{name}")
