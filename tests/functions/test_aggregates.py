"""Aggregates: the fold gives what Spark's built-in gives, rows can be taken out again, states can be merged, NULLs change nothing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from headrace.functions import CATALOGUE, FoldSql
from headrace.functions.sql_types import spark_type
from headrace.plan.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, DataType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONGS = [3, None, 1, 3, -7, 2]
DOUBLES = [1.5, None, -2.0, 8.25, 1.5]
TEXTS = ["b", "a", None, "b", "c"]
TRUTHS = [True, None, False, True]

CASES: list[tuple[str, list[str], DataType, list[Any], Any]] = [
    ("count", [], BIGINT, LONGS, 6),
    ("count", ["x"], BIGINT, LONGS, 5),
    ("count_if", ["x"], BOOLEAN, TRUTHS, 2),
    ("count_distinct", ["x"], STRING, TEXTS, 3),
    ("sum", ["x"], BIGINT, LONGS, 2),
    ("sum", ["x"], INTEGER, LONGS, 2),
    ("sum", ["x"], DOUBLE, DOUBLES, 9.25),
    ("sum", ["x"], BIGINT, [None], 0),
    ("avg", ["x"], BIGINT, LONGS, 0.4),
    ("avg", ["x"], DOUBLE, [None], 0.0),
    ("min", ["x"], BIGINT, LONGS, -7),
    ("max", ["x"], STRING, TEXTS, "c"),
    ("min", ["x"], BIGINT, [None], None),
    ("earliest_by_offset", ["x"], BIGINT, [None, 5, 6], 5),
    ("earliest_by_offset", ["x", "2"], BIGINT, LONGS, [3, 1]),
    ("latest_by_offset", ["x"], BIGINT, [5, 6, None], 6),
    ("latest_by_offset", ["x", "2"], BIGINT, LONGS, [-7, 2]),
    ("latest_by_offset", ["x", "9"], BIGINT, LONGS, [3, 1, 3, -7, 2]),
    ("first", ["x"], STRING, TEXTS, "b"),
    ("last", ["x"], STRING, TEXTS, "c"),
    ("collect_list", ["x"], BIGINT, LONGS, [3, 1, 3, -7, 2]),
    ("collect_list", ["x", "2"], BIGINT, LONGS, [3, 1]),
    ("collect_set", ["x"], STRING, TEXTS, ["b", "a", "c"]),
    ("histogram", ["x"], STRING, TEXTS, {"b": 2, "a": 1, "c": 1}),
    ("top_k", ["x", "2"], BIGINT, LONGS, [3, 3]),
    ("top_k_distinct", ["x", "2"], BIGINT, LONGS, [3, 2]),
    ("stddev", ["x"], DOUBLE, DOUBLES, 4.288429199602111),
    ("variance", ["x"], DOUBLE, DOUBLES, 18.390625),
    ("stddev", ["x"], DOUBLE, [1.0], None),
    ("every", ["x"], BOOLEAN, TRUTHS, False),
    ("some", ["x"], BOOLEAN, TRUTHS, True),
    ("some", ["x"], BOOLEAN, [None], None),
]


def struct_sql(fold: FoldSql, fields: tuple[str, ...]) -> str:
    return (
        f"named_struct({', '.join(f'{chr(39)}{name}{chr(39)}, {sql}' for (name, _), sql in zip(fold.state, fields))})"
    )


def folded(rows: str, fold: FoldSql, fields: tuple[str, ...], start: str) -> str:
    """The state after all rows, as SQL: Spark's own `aggregate` runs the fold."""
    return f"aggregate({rows}, {start}, (state, item) -> {struct_sql(fold, fields)})"


def rows_sql(values: list[Any], type_: DataType) -> str:
    items = ", ".join(f"named_struct('x', CAST({_literal(one)} AS {spark_type(type_)}))" for one in values)
    return f"CAST(array({items}) AS ARRAY<STRUCT<x: {spark_type(type_)}>>)"


def _literal(value: Any) -> str:
    return "NULL" if value is None else (f"'{value}'" if isinstance(value, str) else str(value))


def call(name: str, arguments: list[str], type_: DataType) -> FoldSql:
    sqls = ["item.x" if one == "x" else one for one in arguments]
    return CATALOGUE.fold(name, sqls, [type_, INTEGER][: len(arguments)])


def test_folds_and_built_in_functions(spark: SparkSession) -> None:
    """Each case four ways, all in one job: the fold over all rows, two folds merged, rows added and taken out again, Spark's own."""
    columns: list[str] = []
    for position, (name, arguments, type_, values, _) in enumerate(CASES):
        columns += [f"{sql} AS {form}{position}" for form, sql in forms(name, arguments, type_, values).items()]
    row = spark.range(1).selectExpr(*columns).collect()[0].asDict()
    wrong = []
    for position, (name, arguments, type_, values, wanted) in enumerate(CASES):
        for form in ("whole", "merged", "undone", "built_in"):
            got = row.get(f"{form}{position}", wanted)
            if form == "undone" and isinstance(wanted, list):
                got, wanted = sorted(got), sorted(wanted)
            if got != (pytest.approx(wanted) if isinstance(wanted, float) else wanted):
                wrong.append(f"{name}({arguments}) of {values} as {type_}, {form}: {got}, not {wanted}")
    assert not wrong, "\n".join(wrong)


def forms(name: str, arguments: list[str], type_: DataType, values: list[Any]) -> dict[str, str]:
    fold = call(name, arguments, type_)
    initial = struct_sql(fold, fold.initial)
    cut = len(values) // 2
    whole, left, right = (
        folded(rows_sql(some, type_), fold, fold.update, initial) for some in (values, values[:cut], values[cut:])
    )
    merging = f"(state, other) -> {struct_sql(fold, fold.merge)}"
    found = {
        "whole": result_sql(fold, whole),
        "merged": result_sql(fold, f"get(zip_with(array({left}), array({right}), {merging}), 0)"),
    }
    if fold.undo is not None:
        more = folded(rows_sql([*values, *values[:2]], type_), fold, fold.update, initial)
        found["undone"] = result_sql(fold, folded(rows_sql(values[:2], type_), fold, fold.undo, more))
    built_in = CATALOGUE.aggregate_sql(name, arguments, [type_, INTEGER][: len(arguments)])
    if built_in is not None:
        rows = ", ".join(f"(CAST({_literal(one)} AS {spark_type(type_)}))" for one in values)
        found["built_in"] = f"(SELECT {built_in} FROM VALUES {rows} AS t(x))"
    return found


def result_sql(fold: FoldSql, state: str) -> str:
    return f"get(transform(array({state}), state -> {fold.result}), 0)"


@pytest.mark.parametrize("name", ["stddev", "avg", "sum", "count_distinct", "histogram", "every"])
def test_rows_come_and_go_in_any_order(spark: SparkSession, name: str) -> None:
    """After random updates and undos the result is that of the rows that are left."""
    random_source = random.Random(7)
    type_: DataType = BOOLEAN if name == "every" else DOUBLE
    fold = call(name, ["x"], type_)
    state, held = struct_sql(fold, fold.initial), []
    steps: list[tuple[Any, bool]] = []
    for _ in range(60):
        if held and random_source.random() < 0.4:
            value = held.pop(random_source.randrange(len(held)))
            steps.append((value, True))
        else:
            value = random_source.random() < 0.8 if type_ == BOOLEAN else float(random_source.randrange(-5, 6))
            held.append(value)
            steps.append((value, False))
    assert fold.undo is not None
    both = tuple(f"if(item.u, {undo}, {update})" for undo, update in zip(fold.undo, fold.update))
    items = ", ".join(
        f"named_struct('x', CAST({value} AS {spark_type(type_)}), 'u', {str(undo).lower()})" for value, undo in steps
    )
    changed = folded(f"array({items})", fold, both, state)
    plain = folded(rows_sql(held, type_), fold, fold.update, state)
    row = spark.range(1).selectExpr(f"{result_sql(fold, changed)} AS a", f"{result_sql(fold, plain)} AS b").collect()[0]
    assert row.a == (pytest.approx(row.b, abs=1e-9) if isinstance(row.b, float) else row.b)


def test_states_of_two_aggregates_share_a_struct() -> None:
    one, two = (CATALOGUE.fold("sum", ["row.x"], [BIGINT], prefix) for prefix in ("a0_", "a1_"))
    assert [name for name, _ in (*one.state, *two.state)] == ["a0_total", "a1_total"]
    assert "state.`a1_total`" in two.update[0]


def test_which_aggregates_take_rows_out_again() -> None:
    able = {
        name
        for name, arguments, *_ in CASES
        if len(arguments) < 2
        and "top" not in name
        and CATALOGUE.aggregate_undoes(name, [BOOLEAN if name in ("count_if", "every", "some") else BIGINT])
    }
    assert able == {
        "count",
        "count_if",
        "count_distinct",
        "sum",
        "avg",
        "collect_list",
        "histogram",
        "stddev",
        "variance",
        "every",
        "some",
    }
    assert not CATALOGUE.aggregate_undoes("collect_list", [BIGINT, INTEGER])
