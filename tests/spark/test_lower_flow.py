"""Lanes and trunks as texts, without Spark: what is computed once, dropped early, repeated, or not."""

from __future__ import annotations

from headrace.spark.lower.flow import Lane, RowSql, Trunk
from headrace.spark.lower.routes import ROUTE, routed


def lane(trunk: Trunk, *conditions: str, **more: object) -> Lane:
    return Lane(trunk, RowSql({"id": "k"}), RowSql({"n": "v"}), "ts", conditions, **more)  # type: ignore[arg-type]


def texts(trunk: Trunk) -> list[str]:
    return [str(layer) for layer in trunk.layers]


def test_a_text_is_computed_once_and_a_plain_column_not_at_all() -> None:
    trunk = Trunk("topic", "slot")
    assert trunk.columns(["a + 1", "b.`c d`", "a + 1", "upper(x)"]) == ["h1", "b.`c d`", "h1", "h2"]
    assert texts(trunk) == ["SELECT *, a + 1 AS h1, upper(x) AS h2"]


def test_one_lane_is_a_filter_and_exclusive_lanes_repeat_nothing() -> None:
    single = Trunk("topic", "slot")
    assert routed(single, [(lane(single, "x > 1"), {"key": "k"})]) == {"key": "k"}
    assert texts(single) == ["WHERE (x > 1)"]
    branched = Trunk("topic", "slot")
    first = lane(branched, "b = 0", cases=frozenset({("branch", 0)}))
    second = lane(branched, "b = 1", cases=frozenset({("branch", 1)}))
    columns = routed(branched, [(first, {"key": "k", "topic": "'a'"}), (second, {"key": "k", "topic": "'b'"})])
    assert columns == {"key": "k", "topic": f"CASE {ROUTE} WHEN 0 THEN 'a' WHEN 1 THEN 'b' END"}
    assert "explode" not in "".join(texts(branched))


def test_lanes_that_share_rows_repeat_them() -> None:
    trunk = Trunk("topic", "slot")
    routed(trunk, [(lane(trunk), {"topic": "'a'"}), (lane(trunk, "x > 1"), {"topic": "'b'"})])
    assert texts(trunk) == [
        "SELECT *, explode(array(0, 1)) AS route",
        "WHERE CASE route WHEN 0 THEN TRUE WHEN 1 THEN (x > 1) END",
    ]


def test_an_explosion_leaves_the_rows_of_other_lanes_alone() -> None:
    trunk = Trunk("topic", "slot")
    other = lane(trunk)
    position, _ = trunk.explode("items", keep=True)
    exploded = lane(trunk, f"{position} IS NOT NULL", generators=frozenset({position}))
    assert other.active() == f"(coalesce({position}, 0) = 0)"
    assert exploded.active() == f"({position} IS NOT NULL)"


def test_a_struct_is_null_where_its_row_is() -> None:
    assert (
        RowSql({"a'b": "x"}, "y IS NULL").struct()
        == "(CASE WHEN NOT (y IS NULL) THEN named_struct('a\\u0027b', x) END)"
    )
    assert RowSql({"a": "x"}, "y IS NULL", "whole").struct() == "whole"
