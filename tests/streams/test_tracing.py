"""Functions become expressions, or stay Python, or are refused; never something else than they are."""

from __future__ import annotations

import datetime
import math
import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from headrace.plan.expressions import PythonCall
from headrace.streams import App, StreamsError, cast, fn, length, literal, python_function, when
from headrace.streams.rows import value_symbol
from headrace.streams.schema import value_shape
from headrace.streams.symbols import expression_of, symbol, type_of
from headrace.streams.tracing import Traced, trace


class Colour(Enum):
    RED = "red"


@dataclass
class Inner:
    x: int
    y: float


@dataclass
class Value:
    text: str
    number: int
    price: float
    flag: bool
    inner: Inner
    items: list[int]
    inners: list[Inner]
    table: dict[str, int]
    day: datetime.date
    at: datetime.datetime


@dataclass
class Out:
    text: str
    number: float


@dataclass
class Careful:
    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            self.number = 0


LIMIT = 100
RATES = {"EUR": 1.0, "USD": 1.1}
COUNTRIES = ["DE", "FR"]
SEEN: list[str] = []
COUNTER = 0


def value() -> Any:
    return value_symbol(value_shape(Value))


def traced(function: Callable[..., Any], returns: Any = None) -> Traced:
    return trace(function, (value(),), "map_values", returns)


def text_of(function: Callable[..., Any]) -> str:
    found = traced(function)
    assert found.fallback is None, str(found.fallback)
    return str(found.symbol._hr_expression)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda v: v.number + 1, "add(number, 1)"),
        (lambda v: 1 - v.number, "subtract(1, number)"),
        (lambda v: v.number * v.price, "multiply(number, price)"),
        (lambda v: v.number / 2, "true_divide(number, 2)"),
        (lambda v: v.number // 2, "floor_divide(number, 2)"),
        (lambda v: v.price // 2, "floor_divide(price, 2)"),
        (lambda v: v.number % 2, "floor_modulo(number, 2)"),
        (lambda v: 2**v.price, "power(2, price)"),
        (lambda v: -v.number, "negate(number)"),
        (lambda v: abs(v.number), "abs(number)"),
        (lambda v: v.number == 1, "is_not_distinct(number, 1)"),
        (lambda v: v.number != v.price, "is_distinct(number, price)"),
        (lambda v: v.text == None, "is_null(text)"),  # noqa: E711
        (lambda v: v.text != None, "not(is_null(text))"),  # noqa: E711
        (lambda v: v.number > 1, "greater(number, 1)"),
        (lambda v: (v.number > LIMIT) & v.flag | ~v.flag, "or(and(greater(number, 100), flag), not(flag))"),
        (lambda v: v.text + "!", "concat(text, '!')"),
        (lambda v: v.text.upper().lower(), "lower(upper(text))"),
        (lambda v: v.text.startswith("a"), "starts_with(text, 'a')"),
        (lambda v: v.text.contains("a"), "contains(text, 'a')"),
        (lambda v: v.text[0], "null_if(substring(text, 1, 1), '')"),
        (lambda v: v.text[1:3], "substring(text, 2, 2)"),
        (lambda v: v.text[2:], "substring(text, 3)"),
        (lambda v: v.text.split(",")[0], "get(split(text, ','), 0)"),
        (lambda v: v.text.is_in(COUNTRIES), "or(is_not_distinct(text, 'DE'), is_not_distinct(text, 'FR'))"),
        (lambda v: v.text == Colour.RED.value, "is_not_distinct(text, 'red')"),
        (lambda v: v.inner.x, "inner->x"),
        (lambda v: v.inner["y"], "inner->y"),
        (lambda v: v.inners[0].x, "get(inners, 0)->x"),
        (lambda v: v.items[-1], "get(items, CAST(add(size(items), -1) AS INTEGER))"),
        (lambda v: v.items.map(lambda i: i * 2), "transform(items, (x1) => multiply(x1, 2))"),
        (lambda v: v.inners.filter(lambda i: i.x > v.number), "filter(inners, (x1) => greater(x1->x, number))"),
        (lambda v: fn.reduce(v.items, 0, lambda a, b: a + b), "reduce(items, 0, (x1, x2) => add(x1, x2))"),
        (lambda v: v.table["k"], "element_at(table, 'k')"),
        (lambda v: length(v.items) + length(v.text), "add(size(items), length(text))"),
        (lambda v: v.text.cast(int), "CAST(text AS BIGINT)"),
        (lambda v: cast(v.number, "DECIMAL(10, 2)"), "CAST(number AS DECIMAL(10, 2))"),
        (lambda v: v.text.or_else("?"), "coalesce(text, '?')"),
        (lambda v: fn.round(v.price, 2), "round(price, 2)"),
        (lambda v: fn.if_(v.flag, 1, 2), "if(flag, 1, 2)"),
        (lambda v: fn.year(v.day), "year(day)"),
        (lambda v: v.day + datetime.timedelta(days=2, hours=1), "add_days(day, 2)"),
        (lambda v: v.at - datetime.timedelta(minutes=1), "add_time(at, 'MILLISECOND', -60000)"),
        (lambda v: v.day == datetime.date(2026, 1, 1), "is_not_distinct(day, '2026-01-01')"),
        (
            lambda v: when(v.number > 1).then("a").when(v.flag).then("b").otherwise(None),
            "CASE WHEN greater(number, 1) THEN 'a' WHEN flag THEN 'b' END",
        ),
        (lambda v: when(v.flag).then(1).otherwise(2.5), "CASE WHEN flag THEN CAST(1 AS DOUBLE) ELSE 2.5 END"),
        (lambda v: Out(v.text, v.number), "STRUCT(text := text, number := CAST(number AS DOUBLE))"),
        (lambda v: {"a": v.text, "b": (v.number, 1)}, "STRUCT(a := text, b := STRUCT(f0 := number, f1 := 1))"),
        (lambda v: [v.number, 2.5], "array(CAST(number AS DOUBLE), 2.5)"),
        (lambda v: literal(1, "INTEGER"), "1"),
    ],
)
def test_what_columns_can_do(function: Callable[..., Any], expected: str) -> None:
    assert text_of(function) == expected


def add_tax(price: Any) -> Any:
    return price * 1.19


def test_functions_that_functions_call_are_traced_too() -> None:
    assert text_of(lambda v: add_tax(v.price)) == "multiply(price, 1.19)"


def test_constants_around_the_function_are_used_as_they_are_now() -> None:
    limit = 5
    assert text_of(lambda v: v.number > limit) == "greater(number, 5)"


def changes_outside(v: Any) -> Any:
    global COUNTER
    COUNTER += 1
    return v.number


def remembers(v: Any) -> Any:
    SEEN.append("x")
    return v.number


def swallows(v: Any) -> Any:
    try:
        return 1 if v.flag else 2
    except:  # noqa: E722
        return 3


def matches(v: Any) -> Any:
    match v.number:
        case int():
            return 1
    return 2


def generates(v: Any) -> Any:
    yield v.number


def careful(v: Any) -> Any:
    return Careful(v.number)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda v: v.number if v.flag else 0, "whether a column is true"),
        (lambda v: v.flag and v.number > 1, "whether a column is true"),
        (lambda v: not v.flag, "whether a column is true"),
        (lambda v: 1 < v.number < 10, "whether a column is true"),
        (lambda v: v.text in COUNTRIES, "whether a column is true"),
        (lambda v: "a" in v.text, "uses `in`"),
        (lambda v: [i for i in v.items], "iterates"),  # noqa: C416
        (lambda v: sum(v.items), "iterates"),
        (lambda v: max(v.number, 1), "whether a column is true"),
        (lambda v: len(v.text), "len()"),
        (lambda v: RATES[v.text], "as the key of a dict"),
        (lambda v: f"{v.text}!", "formats"),
        (lambda v: str(v.number), "a text of a column"),
        (lambda v: "%s" % v.text, "a text of a column"),  # noqa: UP031
        (lambda v: int(v.price), "int()"),
        (lambda v: float(v.text), "float()"),
        (lambda v: math.sqrt(v.price), "float()"),
        (lambda v: round(v.price), "round()"),
        (lambda v: cast(v.number, "DECIMAL(10, 2)") // 2, "divides decimals"),
        (lambda v: COUNTRIES[v.number], "as an index"),
        (lambda v: 1 if v.text is None else 2, "uses `is`"),
        (lambda v: v.text is not None, "uses `is`"),
        (lambda v: isinstance(v.number, int), "isinstance"),
        (lambda v: type(v.number), "type"),
        (lambda v: hasattr(v, "number"), "hasattr"),
        (lambda v: v.price * random.random(), "something else for every record"),
        (lambda v: time.time(), "something else for every record"),
        (lambda v: datetime.datetime.now(), "reads the clock"),
        (lambda v: str(uuid.uuid4()), "uuid"),
        (lambda v: v.text.title(), "AttributeError"),
        (lambda v: v.number + open("/dev/null").fileno(), "open"),  # noqa: SIM115
        (changes_outside, "writes to 'COUNTER'"),
        (remembers, "changes a list"),
        (swallows, "whether a column is true"),
        (matches, "`match`"),
        (generates, "a generator"),
        (careful, "writes to 'number'"),
    ],
)
def test_what_columns_cannot_do_stays_python(function: Callable[..., Any], reason: str) -> None:
    found = traced(function, returns=str)
    assert found.fallback is not None, found
    assert reason in found.fallback.reason
    assert isinstance(expression_of(found.result), PythonCall)


def test_without_a_type_a_function_that_cannot_be_traced_is_refused_at_its_line() -> None:
    stream = App("a").stream("t", value=Value)
    with pytest.raises(StreamsError) as error:
        stream.map_values(lambda v: v.number if v.flag else 0)
    assert "test_tracing.py:" in str(error.value)
    assert "when(…).then(…).otherwise(…)" in str(error.value)
    assert "@python_function(returns=…)" in str(error.value)


def doubled(v: Value) -> float:
    return v.price * 2 if v.flag else 0.0


def test_a_function_of_a_module_stands_in_the_plan_by_its_name() -> None:
    found = traced(doubled)
    call = expression_of(found.result)
    assert isinstance(call, PythonCall)
    assert call.reference == "tests.streams.test_tracing:doubled"
    assert str(call.type) == "DOUBLE"


def test_a_function_that_no_module_has_is_local() -> None:
    def inside(v: Value) -> int:
        return 1 if v.flag else 0

    call = expression_of(traced(inside).result)
    assert isinstance(call, PythonCall) and call.reference.startswith("local:inside-")


@python_function(returns=int)
def never_traced(v: Any) -> Any:
    return v.number + 1


def test_a_python_function_is_never_traced_and_still_a_function() -> None:
    call = expression_of(traced(never_traced).result)
    assert isinstance(call, PythonCall)
    assert call.reference == "tests.streams.test_tracing:never_traced"
    assert text_of(lambda v: never_traced(v.inner) + 1).startswith(
        "add(python tests.streams.test_tracing:never_traced(inner)"
    )
    assert (
        never_traced(Value("", 1, 0.0, True, Inner(1, 1.0), [], [], {}, datetime.date.today(), datetime.datetime.min))
        == 2
    )


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda v: v.nummer, "Value has no field 'nummer'; it has text, number"),
        (lambda v: v.inner.z, "Inner has no field 'z'; it has x, y"),
        (lambda v: v.text + 1, "concat(STRING, BIGINT)"),
        (lambda v: v.text > 1, "greater(STRING, BIGINT)"),
        (lambda v: v.number > 1 & v.flag, "parentheses"),
        (lambda v: Out(v.text, v.text), "Out.number is DOUBLE, but the expression is STRING; use .cast(float)"),
        (lambda v: fn.round(v.text), "round(STRING)"),
        (lambda v: when(v.number).then(1).otherwise(2), "a condition is a BOOLEAN"),
        (lambda v: when(v.flag).then(1), "ends with .otherwise"),
        (lambda v: when(v.flag).then("a").otherwise(1), "one column cannot be"),
        (lambda v: Out(v.text, None), ""),
    ],
)
def test_mistakes_are_told_at_once(function: Callable[..., Any], message: str) -> None:
    if not message:
        assert text_of(function) == "STRUCT(text := text, number := NULL)"
        return
    with pytest.raises(StreamsError, match=r"test_tracing\.py") as error:
        traced(function)
    assert message in str(error.value)


def test_functions_that_do_not_exist_name_the_closest() -> None:
    with pytest.raises(AttributeError, match="did you mean upper"):
        fn.uper  # noqa: B018


def test_types_follow_pythons() -> None:
    v = value()
    assert str(type_of(v.number / v.number)) == "DOUBLE"
    assert str(type_of(v.number // 2)) == "BIGINT"
    assert str(type_of(v.price % 2)) == "DOUBLE"
    assert str(type_of(symbol(1) + v.price)) == "DOUBLE"
    assert str(type_of(length(v.text) + 1)) == "BIGINT"
