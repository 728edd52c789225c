"""What functions give, on Spark, for values that matter: edges, NULLs, what must not throw."""

from __future__ import annotations

import decimal
import math
import random
from typing import TYPE_CHECKING, Any

import pytest

from headrace.functions import CATALOGUE, constants
from headrace.functions.sql_text import cast_sql, expression_sql
from headrace.plan import expressions as ex
from headrace.plan.conversions import castable
from headrace.plan.scope import Scope, expression_type
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

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCOPE = Scope({}, CATALOGUE)
X, Y = ex.Variable("x"), ex.Variable("y")


def lit(value: Any, type_: DataType | None = None) -> ex.Literal:
    kinds: dict[type, DataType] = {bool: BOOLEAN, int: BIGINT, float: DOUBLE, str: STRING}
    return ex.Literal(type_ or kinds[type(value)], value)


def call(name: str, *arguments: Any) -> ex.Expression:
    return ex.Call(name, tuple(one if isinstance(one, ex.Expression) else lit(one) for one in arguments))


def integers(*values: int) -> ex.Expression:
    return call("array", *(lit(one, INTEGER) for one in values))


def results(spark: SparkSession, expressions: list[ex.Expression]) -> list[Any]:
    """All expressions in one job, with values as tests write them: times in milliseconds, bytes as bytes."""

    def resolve(node: ex.Column | ex.RowMeta) -> str:
        raise AssertionError(node)

    columns = []
    for position, expression in enumerate(expressions):
        sql = expression_sql(expression, resolve, SCOPE)
        type_ = expression_type(expression, SCOPE)
        plain = {TIMESTAMP: f"unix_millis({sql})", DATE: f"unix_date({sql})"}.get(type_, sql)
        columns.append(f"{plain} AS c{position}")
    # Not a one-row relation: the optimizer would fold it, and interpreted code is not what runs in a pipeline.
    row = spark.range(1).selectExpr(*columns).collect()[0]
    return [bytes(one) if isinstance(one, bytearray) else one for one in row]


NULL = lit(None, BIGINT)
CASES: list[tuple[ex.Expression, Any]] = [
    (call("divide", 7, 2), 3),
    (call("divide", -7, 2), -3),
    (call("divide", 7, 0), None),
    (call("divide", 1.0, 0.0), None),
    (call("true_divide", 7, 2), 3.5),
    (call("floor_divide", -7, 2), -4),
    (call("floor_divide", 7, -2), -4),
    (call("floor_divide", 7, 0), None),
    (call("modulo", -7, 3), -1),
    (call("floor_modulo", -7, 3), 2),
    (call("floor_modulo", 7, -3), -2),
    (call("add", lit("1.10", Decimal(5, 2)), lit("2.25", Decimal(5, 2))), decimal.Decimal("3.35")),
    (call("add", 9223372036854775807, 1), -9223372036854775808),
    (call("negate", lit(-5)), 5),
    (call("subtract", 1, -1), 2),
    (call("is_distinct", NULL, 1), True),
    (call("is_not_distinct", NULL, NULL), True),
    (call("equal", NULL, 1), None),
    (call("in", 2, 1, 2), True),
    (call("between", 2, 1, 2), True),
    (call("and", True, lit(None, BOOLEAN)), None),
    (call("or", True, lit(None, BOOLEAN)), True),
    (call("like", "50% off", "50\\% %"), True),
    (call("like", "abc", "a_c"), True),
    (call("concat", "a", "b", "c"), "abc"),
    (call("concat_ws", "-", "a", lit(None, STRING), "c"), "a-c"),
    (call("substring", "hello", lit(2, INTEGER), lit(3, INTEGER)), "ell"),
    (call("substring", "hello", lit(-3, INTEGER)), "llo"),
    (call("split", "a.b.c", "."), ["a", "b", "c"]),
    (call("split", "a\\Eb", "\\E"), ["a", "b"]),
    (call("split", "", ","), [""]),
    (call("split_part", "a,b", ",", lit(2, INTEGER)), "b"),
    (call("split_part", "a,b", ",", lit(0, INTEGER)), None),
    (call("length", "añb"), 3),
    (call("position", "hello", "l"), 3),
    (call("regexp_extract", "id=42;", "id=([0-9]+)", lit(1, INTEGER)), "42"),
    (call("regexp_replace", "a1b2", "[0-9]", "#"), "a#b#"),
    (call("from_base64", "!!"), None),
    (call("from_base64", "AQI="), b"\x01\x02"),
    (call("to_hex", lit("AQL/", BYTES)), "0102FF"),
    (call("sha256", "a"), "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
    (call("round", 2.5), 3),
    (call("round", -2.5), -3),
    (call("round", 2.345, lit(2, INTEGER)), 2.35),
    (call("round", 2.345, call("length", "ab")), 2.35),
    (call("floor", -1.5), -2.0),
    (call("floor", 1e300), 1e300),
    (call("ceil", -1e300), -1e300),
    (call("floor", call("divide", 1e300, 1e-300)), math.inf),
    (call("ceil", lit("1.20", Decimal(4, 2))), decimal.Decimal("2.00")),
    (call("sqrt", 9.0), 3.0),
    (call("ln", 0.0), None),
    (call("greatest", 1, NULL, 3), 3),
    (call("if", lit(None, BOOLEAN), 1, 2), 2),
    (call("null_if", 1, 1), None),
    (call("element_at", integers(1, 2, 3), lit(1, INTEGER)), 1),
    (call("element_at", integers(1, 2, 3), lit(-1, INTEGER)), 3),
    (call("element_at", integers(1, 2, 3), lit(0, INTEGER)), None),
    (call("element_at", integers(1, 2, 3), lit(9, INTEGER)), None),
    (call("get", integers(1, 2, 3), lit(0, INTEGER)), 1),
    (call("get", integers(1, 2, 3), lit(-1, INTEGER)), None),
    (call("size", lit(None, Array(STRING))), None),
    (call("size", integers(1, 2)), 2),
    (call("map", "a", 1, "a", 2, lit(None, STRING), 3), {"a": 2}),
    (call("element_at", call("map", "a", 1), "a"), 1),
    (call("element_at", call("map", "a", 1), "b"), None),
    (call("map_union", call("map", "a", 1, "b", 1), call("map", "b", 2)), {"a": 1, "b": 2}),
    (call("slice", integers(1, 2, 3), lit(0, INTEGER), lit(2, INTEGER)), None),
    (call("slice", integers(1, 2, 3), lit(2, INTEGER), lit(-1, INTEGER)), []),
    (call("sequence", lit(1), lit(3)), [1, 2, 3]),
    (call("sequence", lit(0), lit(10**12)), None),
    (call("transform", integers(1, 2), ex.Lambda(("x",), call("add", X, 1))), [2, 3]),
    (call("filter", integers(1, 2), ex.Lambda(("x",), call("greater", X, 1))), [2]),
    (call("reduce", integers(1, 2), lit(0), ex.Lambda(("x", "y"), call("add", X, Y))), 3),
    (call("array_sum", integers(1, 2)), 3),
    (call("timestamp_of_millis", 9223372036854775807), None),
    (call("timestamp_of_millis", 1700000000123), 1700000000123),
    (call("add_time", lit(0, TIMESTAMP), "HOUR", 2), 7200000),
    (call("add_time", lit(0, TIMESTAMP), "HOUR", 9223372036854775), None),
    (call("format_timestamp", lit("2024-02-03T04:05:06", TIMESTAMP), "yyyy/MM/dd HH:mm"), "2024/02/03 04:05"),
    (call("format_timestamp", lit(0, TIMESTAMP), "HH:mm", "Europe/Berlin"), "01:00"),
    (call("parse_timestamp", "03.02.2024", "dd.MM.yyyy"), 1706918400000),
    (call("parse_timestamp", "nonsense", "dd.MM.yyyy"), None),
    (call("parse_date", "2024-02-30", "yyyy-MM-dd"), None),
    (call("date_trunc", "HOUR", lit(3_700_000, TIMESTAMP)), 3_600_000),
    (call("day_of_week", lit("2024-01-01", DATE)), 1),
    (call("json_extract", '{"a":[{"b":5}]}', "$.a[0].b"), "5"),
    (call("to_json_text", integers(1, 2)), "[1,2]"),
    (ex.Cast(lit("12x"), BIGINT), None),
    (ex.Cast(lit(3_000_000_000), INTEGER), None),
    (ex.Cast(lit(1e30), BIGINT), None),
    (ex.Cast(lit(1.9), INTEGER), 1),
    (ex.Cast(lit("true"), BOOLEAN), True),
    (ex.Cast(lit("12:30:00"), TIME), 45_000_000),
    (ex.Cast(lit("25:00:00"), TIME), None),
    (ex.Cast(lit(45_000_250, TIME), STRING), "12:30:00.250"),
    (ex.Cast(lit("12.345"), Decimal(5, 2)), decimal.Decimal("12.35")),
    (ex.Cast(lit("99999"), Decimal(5, 2)), None),
    (ex.Cast(lit(1700000000123, TIMESTAMP), BIGINT), 1700000000123),
    (ex.Cast(lit(1700000000123, TIMESTAMP), STRING), "2023-11-14T22:13:20.123"),
    (ex.Cast(lit(1700000000123, TIMESTAMP), TIME), 80_000_123),
    (ex.Case((ex.When(lit(False), lit(1)),), lit(2.5)), 2.5),
    (ex.Case((ex.When(lit(False), lit(1)),)), None),
    (ex.FieldOf(ex.StructOf((ex.Named("a b", lit(5)),)), "a b"), 5),
    (
        lit('it\'s \\ a "quote" ${spark.app.name} $1 \n\t\x00 \U0001f600'),
        'it\'s \\ a "quote" ${spark.app.name} $1 \n\t\x00 \U0001f600',
    ),
    (lit(-9223372036854775808), -9223372036854775808),
    (lit(-2147483648, INTEGER), -2147483648),
    (lit("-Infinity", DOUBLE), float("-inf")),
    (lit(-0.5), -0.5),
    (lit(1e300), 1e300),
    (lit("AQI=", BYTES), b"\x01\x02"),
    (lit("2024-02-29", DATE), 19782),
    (lit("12:00:00.5", TIME), 43_200_500),
    (lit("-12.50", Decimal(5, 2)), decimal.Decimal("-12.50")),
]


def test_results(spark: SparkSession) -> None:
    found = results(spark, [expression for expression, _ in CASES])
    wrong = [
        f"{expression}: {got!r}, not {wanted!r}"
        for (expression, wanted), got in zip(CASES, found)
        if got != wanted or type(got) is not type(wanted)
    ]
    assert not wrong, "\n".join(wrong)


def test_floor_divide_of_doubles_is_pythons(spark: SparkSession) -> None:
    """To the last bit, signs of zeros included; where Python raises, NULL."""
    from headrace.plan.scope import RowScope
    from headrace.plan.types import struct

    generator = random.Random(5)
    edges = [0.0, 0.1, 0.3, 1.0, 2.5, 7.0, 2.0**51 + 0.5, 2.0**53, 1e300, 5e-324, math.inf]
    values = [*edges, *(-one for one in edges), math.nan]
    pairs = [(a, b) for a in values for b in values]
    pairs += [(generator.uniform(-1e6, 1e6), generator.choice([0.1, -0.7, generator.random()])) for _ in range(1000)]
    scope = Scope({None: RowScope(value=struct(a=DOUBLE, b=DOUBLE))}, CATALOGUE)
    sql = expression_sql(call("floor_divide", ex.Column("a"), ex.Column("b")), lambda node: str(node), scope)
    found = spark.createDataFrame(pairs, "a DOUBLE, b DOUBLE").coalesce(1).selectExpr(f"{sql} AS r").collect()
    wrong = [
        f"{a!r} // {b!r}: {got.r!r}, not {wanted!r}"
        for (a, b), got in zip(pairs, found)
        if repr(got.r) != repr(wanted := a // b if b else None)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_lambda_parameter_hides_no_column(spark: SparkSession) -> None:
    """A parameter called `value` next to the row's own `value`."""
    from headrace.plan.scope import RowScope
    from headrace.plan.types import struct

    scope = Scope({None: RowScope(value=struct(n=BIGINT))}, CATALOGUE)
    body = call("add", ex.Variable("value"), ex.Column("n"))
    expression = call("transform", integers(1, 2), ex.Lambda(("value",), body))
    sql = expression_sql(expression, lambda node: "value.`n`", scope)
    assert spark.range(1).selectExpr("named_struct('n', 10L) AS value").selectExpr(f"{sql} AS r").collect()[0].r == [
        11,
        12,
    ]


@pytest.mark.parametrize("name", ["a`b", "select", "a b", "ä.ö", "x'y", "a$b"])
def test_names_are_quoted(spark: SparkSession, name: str) -> None:
    from headrace.functions.sql_text import quote, string_sql

    row = (
        spark.range(1)
        .selectExpr(f"named_struct({string_sql(name)}, 1) AS value")
        .selectExpr(f"value.{quote(name)} AS r")
    )
    assert row.collect()[0].r == 1


# Values that have made a program stop somewhere.
NASTY: dict[DataType, list[str]] = {
    BOOLEAN: ["NULL", "true", "false"],
    INTEGER: ["NULL", "0", "-1", "2147483647", "-2147483648"],
    BIGINT: ["NULL", "0", "-1", "9223372036854775807", "-9223372036854775808"],
    DOUBLE: ["NULL", "0", "-0.5", "'NaN'", "'Infinity'", "1e308"],
    STRING: ["NULL", "''", "'\\\\'", "'('", "'%\\\\x'", "'$9'", "'9999-99-99'", "'\\0\\U0001F600'", "'{\"a\":'"],
    BYTES: ["NULL", "X''", "X'FF'", "X'C328'"],
    DATE: ["NULL", "DATE'0001-01-01'", "DATE'9999-12-31'", "DATE'1970-01-01'"],
    TIMESTAMP: [
        "NULL",
        "TIMESTAMP'0001-01-01 00:00:00'",
        "TIMESTAMP'9999-12-31 23:59:59.999'",
        "TIMESTAMP'1970-01-01'",
    ],
    Decimal(38, 10): ["NULL", "0", "9999999999999999999999999999.9999999999", "-0.0000000001"],
}
TAME = {
    constants.regular_expression: "'(a)'",
    constants.group: "1",
    constants.replacement: "'$1'",
    constants.like_pattern: "'a%'",
    constants.time_pattern: "'yyyy-MM-dd'",
    constants.zone: "'Europe/Berlin'",
}


def test_nothing_in_a_record_makes_a_function_fail(spark: SparkSession) -> None:
    """Every function over columns that hold nasty values in all combinations of two; only constants are tame."""
    from headrace.functions.signature import AnyDecimal, AnyType, LambdaType, substitute
    from headrace.functions.sql_types import spark_type

    columns = {type_: f"c{position}" for position, type_ in enumerate(NASTY)}
    # A table of constants: Spark computes over it while it plans, without compiling a query.
    lines = [
        ", ".join(
            f"CAST({values[(first + step * position) % len(values)]} AS {spark_type(type_)})"
            for position, (type_, values) in enumerate(NASTY.items())
        )
        for first in range(9)
        for step in (0, 1, 2)
    ]
    table = f"VALUES {', '.join(f'({line})' for line in lines)} AS t({', '.join(columns.values())})"

    def type_of(pattern: DataType, bound: dict[str, DataType]) -> DataType:
        if isinstance(pattern, AnyDecimal):
            return Decimal(38, 10)
        found = bound["T"] if isinstance(pattern, AnyType) else substitute(pattern, bound)
        return found.result if isinstance(found, LambdaType) else found

    def value_of(pattern: DataType, type_: DataType) -> str:
        if isinstance(pattern, LambdaType):
            names = ["x", "y"][: len(pattern.parameters)]
            return f"{names[0] if len(names) == 1 else '(x, y)'} -> {value_of(type_, type_)}"
        if type_ in columns:
            return columns[type_]
        if isinstance(type_, Array):
            inner = value_of(type_.item, type_.item)
            return f"CASE WHEN {columns[BOOLEAN]} THEN array({inner}, {inner}) WHEN {columns[INTEGER]} = 0 THEN array() END"
        if isinstance(type_, Map):
            key, inner = value_of(type_.key, type_.key), value_of(type_.value, type_.value)
            return f"CASE WHEN {key} IS NOT NULL THEN map({key}, {inner}) END"
        assert isinstance(type_, Struct)
        pairs = ", ".join(f"'{one.name}', {value_of(one.type, one.type)}" for one in type_)
        return f"named_struct({pairs})"

    sqls: list[str] = []
    for function in CATALOGUE.scalars.values():
        for overload in function.overloads:
            for sample in (BIGINT, STRING, DOUBLE, Decimal(38, 10), TIMESTAMP):
                number = sample if sample not in (STRING, TIMESTAMP) else INTEGER
                bound: dict[str, DataType] = dict.fromkeys("TKCVRSU", sample) | dict.fromkeys("NM", number)
                patterns = [
                    *overload.signature.parameters,
                    *overload.signature.parameters[-1:] * overload.signature.variadic,
                ]
                patterns = patterns[:2] * 2 if function.name == "map" else patterns
                types = [type_of(one, bound) for one in patterns]
                match = function.match(types)
                assert match is not None, function.name
                arguments = [value_of(one, type_) for one, type_ in zip(patterns, types)]
                for position, check in function.constants.items():
                    arguments[position : position + 1] = [TAME[check]] * (position < len(arguments))
                sqls.append(match.sql(arguments, types))
    targets = (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP, Decimal(5, 2))
    casts = [(type_, to) for type_ in columns for to in targets if castable(type_, to)]
    sqls += [cast_sql(columns[type_], type_, to) for type_, to in casts]
    unique = list(dict.fromkeys(sqls))
    wrong = [
        line for start in range(0, len(unique), 100) for line in failures(spark, unique[start : start + 100], table)
    ]
    assert not wrong, "\n".join(wrong)


def failures(spark: SparkSession, sqls: list[str], table: str) -> list[str]:
    """What Spark throws for these expressions: all at once, and one by one only when something is wrong."""
    from pyspark.errors import PySparkException

    columns = ", ".join(f"{sql} AS r{position}" for position, sql in enumerate(sqls))
    try:
        # In Java: Python's own times end at the years 1 and 9999.
        spark.sql(f"SELECT {columns} FROM {table}")._jdf.collectAsList()
    except PySparkException as error:
        if len(sqls) == 1:
            return [f"{sqls[0][:200]}: {str(error)[:200]}"]
        return [line for sql in sqls for line in failures(spark, [sql], table)]
    return []
