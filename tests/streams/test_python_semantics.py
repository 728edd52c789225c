"""Traced functions compute in Spark what they compute in Python, over values chosen to find the difference.

Where Python raises (division by zero, an index that is not there, None + 1), Spark's answer is None.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.functions import CATALOGUE
from headrace.functions.sql_text import expression_sql
from headrace.plan.expressions import Column, Expression
from headrace.plan.scope import RowScope, Scope
from headrace.streams.rows import value_symbol
from headrace.streams.schema import value_shape
from headrace.streams.tracing import trace


@dataclass
class Row:
    a: int | None
    b: int | None
    x: float | None
    y: float | None
    s: str | None
    t: str | None
    items: list[int] | None


NUMBERS = [None, 0, 1, -1, 2, -3, 7, -7, 2**53 + 1, -(2**53) - 1, 2**62]
FLOATS = [None, 0.0, 0.5, -2.5, 3.75, 1e300]
TEXTS = [None, "", "a", "  a b ", "Straße", "a,b,,c", "\tx\n", "ÄÖ"]
ARRAYS = [None, [], [1], [3, 1, 2]]

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a + b": lambda r: r.a // 4 + r.b // 4,
    "a - b": lambda r: r.a // 4 - r.b // 4,
    "a / b": lambda r: r.a / r.b,
    "a // b": lambda r: r.a // r.b,
    "a % b": lambda r: r.a % r.b,
    "-a": lambda r: -r.a,
    "abs": lambda r: abs(r.a),
    "a == b": lambda r: r.a == r.b,
    "a != b": lambda r: r.a != r.b,
    "a == None": lambda r: r.a == None,  # noqa: E711
    "a != None": lambda r: r.a != None,  # noqa: E711
    "a < b": lambda r: r.a < r.b,
    "a >= b": lambda r: r.a >= r.b,
    "x + y": lambda r: r.x + r.y,
    "x * y": lambda r: r.x * r.y,
    "x / y": lambda r: r.x / r.y,
    "x % y": lambda r: r.x % r.y,
    "x // y": lambda r: r.x // r.y,
    "a // y": lambda r: r.a // r.y,
    "x == y": lambda r: r.x == r.y,
    "s == t": lambda r: r.s == r.t,
    "s != t": lambda r: r.s != r.t,
    "s < t": lambda r: r.s < r.t,
    "s + t": lambda r: r.s + r.t,
    "upper": lambda r: r.s.lower(),
    "strip": lambda r: r.s.strip(),
    "split": lambda r: r.s.split(","),
    "words": lambda r: r.s.split(),
    "replace": lambda r: r.s.replace("a", "bb"),
    "startswith": lambda r: r.s.startswith(r.t),
    "endswith": lambda r: r.s.endswith(r.t),
    "s[0]": lambda r: r.s[0],
    "s[-1]": lambda r: r.s[-1],
    "s[-3]": lambda r: r.s[-3],
    "s[1:3]": lambda r: r.s[1:3],
    "s[2:]": lambda r: r.s[2:],
    "items[0]": lambda r: r.items[0],
    "items[-1]": lambda r: r.items[-1],
    "items[5]": lambda r: r.items[5],
}


def rows() -> list[Row]:
    numbers = itertools.product(NUMBERS, NUMBERS)
    others = itertools.cycle(itertools.product(FLOATS, FLOATS))
    texts = itertools.cycle(itertools.product(TEXTS, TEXTS))
    arrays = itertools.cycle(ARRAYS)
    return [Row(a, b, *next(others), *next(texts), next(arrays)) for a, b in numbers]


def sql(function: Callable[[Any], Any]) -> str:
    shape = value_shape(Row)
    traced = trace(function, (value_symbol(shape),), "map_values")
    assert traced.fallback is None, traced.fallback
    return to_sql(traced.symbol._hr_expression)


def to_sql(expression: Expression) -> str:
    scope = Scope({None: RowScope(value=value_shape(Row).columns)}, CATALOGUE)
    return expression_sql(expression, lambda node: f"`{node.name}`" if isinstance(node, Column) else "", scope)


def python(function: Callable[[Any], Any], row: Row) -> Any:
    try:
        return function(row)
    except (TypeError, AttributeError, ZeroDivisionError, IndexError):
        return None


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or math.isclose(one, other, rel_tol=1e-12) or (math.isnan(one) and math.isnan(other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


@pytest.fixture(scope="module")
def answers(spark: Any) -> dict[str, list[Any]]:
    session = spark.newSession()
    for name, value in (("ansi.enabled", "false"), ("session.timeZone", "UTC")):
        session.conf.set(f"spark.sql.{name}", value)
    data = [(r.a, r.b, r.x, r.y, r.s, r.t, r.items) for r in rows()]
    frame = session.createDataFrame(
        data, "a BIGINT, b BIGINT, x DOUBLE, y DOUBLE, s STRING, t STRING, items ARRAY<BIGINT>"
    ).coalesce(1)
    columns = [f"{sql(function)} AS c{number}" for number, function in enumerate(FUNCTIONS.values())]
    found = frame.selectExpr(*columns).collect()
    return {name: [row[number] for row in found] for number, name in enumerate(FUNCTIONS)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_spark_computes_what_python_does(name: str, answers: dict[str, list[Any]]) -> None:
    function = FUNCTIONS[name]
    wrong = [
        (row, expected, found)
        for row, found in zip(rows(), answers[name], strict=True)
        if not same(expected := python(function, row), found)
    ]
    assert not wrong, f"{len(wrong)} differ, such as {wrong[:3]}"
