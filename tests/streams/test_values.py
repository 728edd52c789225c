"""Python's values as rows and back, and the adapters around users' functions."""

from __future__ import annotations

import datetime
import decimal
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest

from headrace.plan.python_code import (
    CodeReferenceError,
    Record,
    adapted,
    importable_reference,
    register_local,
    resolve,
    to_plain,
    to_python,
)
from headrace.streams import StreamsError
from headrace.streams.schema import data_type, key_shape, value_shape
from headrace.streams.values import from_row, to_row


class Colour(Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: float | None


class Options(TypedDict):
    depth: int


@dataclass
class Everything:
    text: str
    number: int
    small: Annotated[int, "INTEGER"]
    price: Annotated[decimal.Decimal, "DECIMAL(10, 2)"]
    colour: Colour
    day: datetime.date
    clock: datetime.time
    moment: datetime.datetime
    point: Point
    points: list[Point]
    options: dict[str, int]
    maybe: str | None
    raw: bytes


EVERYTHING = Everything(
    "a",
    1,
    2,
    decimal.Decimal("3.50"),
    Colour.RED,
    datetime.date(2026, 1, 2),
    datetime.time(12, 30),
    datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
    Point(1, None),
    [Point(2, 3.0)],
    {"k": 1},
    None,
    b"\x00",
)


def test_types_come_from_annotations() -> None:
    assert str(data_type(Everything)) == (
        "STRUCT<text STRING, number BIGINT, small INTEGER, price DECIMAL(10, 2), colour STRING, day DATE, clock TIME, moment TIMESTAMP, "
        "point STRUCT<x BIGINT, y DOUBLE>, points ARRAY<STRUCT<x BIGINT, y DOUBLE>>, options MAP<STRING, BIGINT>, maybe STRING, raw BYTES>"
    )
    assert str(data_type(Options)) == "STRUCT<depth BIGINT>"
    assert str(data_type(tuple[str, int])) == "STRUCT<f0 STRING, f1 BIGINT>"
    assert str(data_type("MAP<STRING, ARRAY<INT>>")) == "MAP<STRING, ARRAY<INTEGER>>"


def test_values_survive_the_way_to_a_row_and_back() -> None:
    shape = value_shape(Everything)
    row = to_row(EVERYTHING, shape)
    assert row is not None
    assert (row["day"], row["clock"], row["moment"]) == (20_455, 45_000_000, 1_767_323_045_000)
    assert from_row(row, shape) == EVERYTHING


def test_without_a_class_a_struct_is_a_record() -> None:
    shape = value_shape("STRUCT<a BIGINT, b STRUCT<c STRING>>")
    found = from_row(to_row({"a": 1, "b": {"c": "x"}}, shape), shape)
    assert (found.a, found.b.c, found["a"]) == (1, "x", 1)
    with pytest.raises(AttributeError, match="there are a, b"):
        _ = found.z


def test_keys_and_single_values_are_one_column() -> None:
    assert to_row("k", key_shape(str)) == {"rowkey": "k"}
    assert to_row(Point(1, 2.0), key_shape(Point)) == {"rowkey": {"x": 1, "y": 2.0}}
    assert from_row({"rowkey": {"x": 1, "y": 2.0}}, key_shape(Point)) == Point(1, 2.0)
    assert to_row([1], value_shape(list[int])) == {"value": [1]}
    assert to_row(None, value_shape(int)) is None


def test_fields_that_do_not_exist_are_named() -> None:
    with pytest.raises(StreamsError, match="no field z; there are a"):
        to_row({"z": 1}, value_shape("STRUCT<a BIGINT>"))
    with pytest.raises(StreamsError, match="has no fields"):
        to_row(5, value_shape("STRUCT<a BIGINT>"))


def moved(point: Point, by: int) -> Point:
    return Point(point.x + by, point.y)


def test_functions_get_what_their_annotations_say() -> None:
    assert adapted(moved)({"x": 1, "y": 2.0}, 3) == {"x": 4, "y": 2.0}
    assert adapted(lambda p: p.x)({"x": 7}) == 7
    assert adapted(lambda p: p, (Point,))({"x": 1, "y": None}) == {"x": 1, "y": None}


def test_plain_values() -> None:
    assert to_plain((1, "a")) == {"f0": 1, "f1": "a"}
    assert to_plain({"a": [Colour.RED]}) == {"a": ["red"]}
    assert to_python({"f0": 1, "f1": "a"}, tuple[int, str]) == (1, "a")
    assert to_python("red", Colour) is Colour.RED
    assert to_python([{"x": 1, "y": None}], list[Point]) == [Point(1, None)]
    assert isinstance(to_python({"a": 1}, Any), Record)


def test_references() -> None:
    assert importable_reference(moved) == "tests.streams.test_values:moved"
    assert resolve("tests.streams.test_values:moved") is moved
    assert resolve("tests.streams.test_values:moved", ["tests.streams"]) is moved
    assert importable_reference(lambda: None) is None
    assert importable_reference(Everything) == "tests.streams.test_values:Everything"
    local = register_local(moved, "moved")
    assert resolve(local, []) is moved


@pytest.mark.parametrize(
    ("reference", "allowed", "message"),
    [
        ("os:system", [], "may not import 'os'"),
        ("os:system", ["tests"], "may not import 'os'"),
        ("osmosis:f", ["os"], "may not import 'osmosis'"),
        ("tests.streams.test_values:decimal.getcontext", ["tests.streams"], "define it there"),
        ("tests.streams.test_values:pytest.main", ["tests"], "define it there"),
        ("no.such.module:f", None, "cannot be imported"),
        ("os:no_such_name", None, "cannot be imported"),
        ("local:gone-99999999", None, "only in the process that wrote the plan"),
    ],
)
def test_references_that_cannot_be_used(reference: str, allowed: list[str] | None, message: str) -> None:
    with pytest.raises(CodeReferenceError, match=message):
        resolve(reference, allowed)
