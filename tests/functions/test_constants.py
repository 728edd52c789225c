"""Arguments that must be constants: taken from a row, or such that Spark would throw at the first record, they are refused ahead."""

from __future__ import annotations

import pytest

from headrace.functions import CATALOGUE
from headrace.functions.constants import groups
from headrace.plan.expressions import Call, Column, Expression, Literal
from headrace.plan.scope import ExpressionError, RowScope, Scope, expression_type
from headrace.plan.types import INTEGER, STRING, TIMESTAMP, struct

SCOPE = Scope({None: RowScope(value=struct(s=STRING, t=TIMESTAMP))}, CATALOGUE)
S, T = Column("s"), Column("t")


def text(value: str | None) -> Literal:
    return Literal(STRING, value)


def check(function: str, *arguments: Expression) -> None:
    expression_type(Call(function, arguments), SCOPE)


@pytest.mark.parametrize(
    ("function", "arguments", "problem"),
    [
        ("like", (S, S), "must be a constant"),
        ("like", (S, text("50\\x")), "a backslash stands before"),
        ("like", (S, text("end\\")), "a backslash stands before"),
        ("regexp_like", (S, text("(a")), "parentheses do not match"),
        ("regexp_like", (S, text("a)")), "parentheses do not match"),
        ("regexp_like", (S, text("[a")), "is not closed"),
        ("regexp_like", (S, text("a\\")), "lone backslash"),
        ("regexp_like", (S, text("a" * 20_000)), "a pattern may have"),
        ("regexp_extract", (S, text("(a)"), Literal(INTEGER, 2)), "the pattern has 1 groups"),
        ("regexp_extract", (S, text("(a)"), Literal(INTEGER, -1)), "a group is 0 to 100"),
        ("regexp_replace", (S, text("a"), text("$1")), "there is no \\$1"),
        ("regexp_replace", (S, text("a"), text("$x")), "followed by a group's digit"),
        ("format_timestamp", (T, S), "must be a constant"),
        ("format_timestamp", (T, text("YYYY")), "Y mean nothing"),
        ("format_timestamp", (T, text("'open")), "a quote is not closed"),
        ("format_timestamp", (T, text("yyyyyyyy")), "too many letters"),
        ("format_timestamp", (T, text("HH:mm"), text("Berlin")), "no such time zone"),
        ("in_zone", (T, S), "must be a constant"),
    ],
)
def test_a_constant_that_cannot_be(function: str, arguments: tuple[Expression, ...], problem: str) -> None:
    with pytest.raises(ExpressionError, match=problem):
        check(function, *arguments)


def test_constants_that_can_be() -> None:
    check("like", S, text("100\\% _%"))
    check("like", S, text(None))
    check("regexp_like", S, text(r"^[\]()[a-z]*\(x\)(?:y|(z))$"))
    check("regexp_extract", S, text(r"id=(\d+)"), Literal(INTEGER, 1))
    check("regexp_replace", S, text("(a)(b)"), text("$2$1 \\$5"))
    check("format_timestamp", T, text("yyyy-MM-dd'T'HH:mm:ss.SSSXXX"), text("Europe/Berlin"))
    check("format_timestamp", T, text("EEEE, d MMMM"), text("+05:30"))


@pytest.mark.parametrize(
    ("pattern", "count"), [("a", 0), ("(a)(b)", 2), (r"\((a)", 1), ("[(](?:x)", 0), ("(?<name>x)(?<!y)(?=z)", 1)]
)
def test_groups_of_a_pattern(pattern: str, count: int) -> None:
    assert groups(pattern) == count


def test_maps_cannot_be_compared() -> None:
    made = Call("map", (S, S))
    for function in ("equal", "less", "in", "greatest"):
        with pytest.raises(ExpressionError, match=f"{function} takes"):
            check(function, made, made)
    check("is_null", made)
