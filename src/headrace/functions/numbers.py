"""Functions of numbers. What has no result (the root of -1) is NaN or NULL as in Spark, never an error."""

from __future__ import annotations

import re
from collections.abc import Sequence

from headrace.functions.declaration import Function, Rule, function
from headrace.functions.sql_types import spark_type
from headrace.plan.types import DataType

_CONSTANT = re.compile(r"\(?-?\d+\)?")


def _doubles(name: str, doc: str, sql: str) -> Function:
    return function(name, doc, {"DOUBLE -> DOUBLE": sql})


def _whole(function_name: str) -> str:
    """Spark gives a BIGINT; what has no place in one has no fraction either, or is no number."""
    return f"CASE WHEN abs({{0}}) < 4503599627370496D THEN CAST({function_name}({{0}}) AS DOUBLE) ELSE {{0}} END"


def _same(sql: str) -> Rule:
    """The result is a decimal as the argument is; a number that needs one digit more becomes NULL."""
    return Rule(sql, lambda types: types[0])


def _rounded(arguments: Sequence[str], types: Sequence[DataType]) -> str:
    # Spark's round takes constant places only.
    if _CONSTANT.fullmatch(arguments[1]):
        places = max(min(int(arguments[1].strip("()")), 300), -300)
        return f"round({arguments[0]}, {places})"
    power = f"power(10D, {arguments[1]})"
    return f"(round({arguments[0]} * {power}) / {power})"


def _rounded_decimal(arguments: Sequence[str], types: Sequence[DataType]) -> str:
    constant = _CONSTANT.fullmatch(arguments[1])
    number = arguments[0] if constant else f"CAST({arguments[0]} AS DOUBLE)"
    return f"CAST({_rounded([number, arguments[1]], types)} AS {spark_type(types[0])})"


FUNCTIONS = (
    function("abs", "Without its sign.", {"N -> N": "abs({0})"}),
    function("sign", "-1, 0 or 1.", {"N -> INTEGER": "CAST(sign({0}) AS INT)"}),
    function(
        "round",
        "Rounded to whole numbers, or to so many places after the point; halves away from zero.",
        {
            "INTEGER -> INTEGER": "{0}",
            "BIGINT -> BIGINT": "{0}",
            "DOUBLE -> BIGINT": "CAST(round({0}) AS BIGINT)",
            "DECIMAL -> DECIMAL": _same("round({0}, 0)"),
            "DOUBLE, INTEGER -> DOUBLE": _rounded,
            "DECIMAL, INTEGER -> DECIMAL": Rule(_rounded_decimal, lambda types: types[0]),
        },
    ),
    function(
        "floor",
        "The next whole number that is not greater.",
        {
            "INTEGER -> INTEGER": "{0}",
            "BIGINT -> BIGINT": "{0}",
            "DOUBLE -> DOUBLE": _whole("floor"),
            "DECIMAL -> DECIMAL": _same("floor({0})"),
        },
    ),
    function(
        "ceil",
        "The next whole number that is not less.",
        {
            "INTEGER -> INTEGER": "{0}",
            "BIGINT -> BIGINT": "{0}",
            "DOUBLE -> DOUBLE": _whole("ceil"),
            "DECIMAL -> DECIMAL": _same("ceil({0})"),
        },
    ),
    function("power", "The first to the power of the second.", {"DOUBLE, DOUBLE -> DOUBLE": "power({0}, {1})"}),
    function(
        "log",
        "The logarithm of the second argument to the base of the first.",
        {"DOUBLE, DOUBLE -> DOUBLE": "log({0}, {1})"},
    ),
    _doubles("sqrt", "The square root.", "sqrt({0})"),
    _doubles("cbrt", "The cube root.", "cbrt({0})"),
    _doubles("exp", "e to the power of the argument.", "exp({0})"),
    _doubles("ln", "The natural logarithm; NULL of what is not positive.", "ln({0})"),
    _doubles("log10", "The logarithm to base 10; NULL of what is not positive.", "log10({0})"),
    _doubles("sin", "The sine.", "sin({0})"),
    _doubles("cos", "The cosine.", "cos({0})"),
    _doubles("tan", "The tangent.", "tan({0})"),
    _doubles("asin", "The arc sine.", "asin({0})"),
    _doubles("acos", "The arc cosine.", "acos({0})"),
    _doubles("atan", "The arc tangent.", "atan({0})"),
    function("atan2", "The angle of the point (second, first).", {"DOUBLE, DOUBLE -> DOUBLE": "atan2({0}, {1})"}),
    _doubles("radians", "Degrees as radians.", "radians({0})"),
    _doubles("degrees", "Radians as degrees.", "degrees({0})"),
    function("is_nan", "Whether it is not a number.", {"DOUBLE -> BOOLEAN": "isnan({0})"}),
    function(
        "bit_and",
        "Bits that are set in both.",
        {"INTEGER, INTEGER -> INTEGER": "({0} & {1})", "BIGINT, BIGINT -> BIGINT": "({0} & {1})"},
    ),
    function(
        "bit_or",
        "Bits that are set in one or both.",
        {"INTEGER, INTEGER -> INTEGER": "({0} | {1})", "BIGINT, BIGINT -> BIGINT": "({0} | {1})"},
    ),
    function(
        "bit_xor",
        "Bits that are set in one only.",
        {"INTEGER, INTEGER -> INTEGER": "({0} ^ {1})", "BIGINT, BIGINT -> BIGINT": "({0} ^ {1})"},
    ),
    function(
        "geo_distance",
        "Kilometres between two points given as latitude and longitude in degrees, on a sphere of 6371 km.",
        {
            "DOUBLE, DOUBLE, DOUBLE, DOUBLE -> DOUBLE": (
                "(12742D * asin(least(1D, sqrt(power(sin(radians({2} - {0}) / 2), 2) + "
                "cos(radians({0})) * cos(radians({2})) * power(sin(radians({3} - {1}) / 2), 2)))))"
            ),
        },
    ),
)
