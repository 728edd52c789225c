"""The aggregate functions. NULLs are left out, as in ksqlDB: the sum or the average of nothing is 0, the least of nothing is NULL.

`undo` takes a row out again, which aggregates of tables need. Where it would need all rows there were (min, max, first), there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.functions.aggregate import AggregateFunction, Fold, aggregate

_ZERO: Mapping[str, str] = {"n": "0L"}


def _counting(update: str, undo: str, *, skip: bool) -> Fold:
    return Fold({"n": "BIGINT"}, _ZERO, {"n": update}, {"n": "{s.n} + {o.n}"}, "{s.n}", {"n": undo}, skip)


def _sum(type_: str) -> Fold:
    return Fold(
        {"total": type_},
        {"total": "0"},
        {"total": "{s.total} + {0}"},
        {"total": "{s.total} + {o.total}"},
        "{s.total}",
        {"total": "{s.total} - {0}"},
    )


_AVERAGE = Fold(
    {"total": "DOUBLE", "n": "BIGINT"},
    {"total": "0D", "n": "0L"},
    {"total": "{s.total} + {0}", "n": "{s.n} + 1L"},
    {"total": "{s.total} + {o.total}", "n": "{s.n} + {o.n}"},
    "if({s.n} = 0L, 0D, {s.total} / {s.n})",
    {"total": "{s.total} - {0}", "n": "{s.n} - 1L"},
)


def _extreme(function: str) -> Fold:
    both = f"{function}({{s.best}}, {{o.best}})"
    return Fold(
        {"best": "C"},
        {"best": "NULL"},
        {"best": f"{function}({{s.best}}, {{0}})"},
        {"best": both},
        "{s.best}",
        skip=False,
    )


_FIRST = Fold(
    {"held": "T"},
    {"held": "NULL"},
    {"held": "coalesce({s.held}, {0})"},
    {"held": "coalesce({s.held}, {o.held})"},
    "{s.held}",
)
_LAST = Fold({"held": "T"}, {"held": "NULL"}, {"held": "{0}"}, {"held": "coalesce({o.held}, {s.held})"}, "{s.held}")
_FIRST_N = Fold(
    {"held": "ARRAY<T>"},
    {"held": "array()"},
    {"held": "if(size({s.held}) < {1}, array_append({s.held}, {0}), {s.held})"},
    {"held": "slice(concat({s.held}, {o.held}), 1, greatest({1}, 0))"},
    "{s.held}",
)
_LAST_N = Fold(
    {"held": "ARRAY<T>"},
    {"held": "array()"},
    {"held": "slice(array_append({s.held}, {0}), greatest(size({s.held}) + 2 - {1}, 1), greatest({1}, 0))"},
    {
        "held": "slice(concat({s.held}, {o.held}), greatest(size({s.held}) + size({o.held}) + 1 - {1}, 1), greatest({1}, 0))"
    },
    "{s.held}",
)
# The first of equal items is taken out; which of them it was makes no difference to the list but its order.
_WITHOUT_ONE = (
    "if(array_position({s.items}, {0}) = 0, {s.items}, concat(slice({s.items}, 1, CAST(array_position({s.items}, {0}) - 1 AS INT)), "
    "slice({s.items}, CAST(array_position({s.items}, {0}) + 1 AS INT), size({s.items}))))"
)
_LIST = Fold(
    {"items": "ARRAY<C>"},
    {"items": "array()"},
    {"items": "array_append({s.items}, {0})"},
    {"items": "concat({s.items}, {o.items})"},
    "{s.items}",
    {"items": _WITHOUT_ONE},
)
# Maps cannot be compared, so none can be found to be taken out.
_MAPS = replace(_LIST, state={"items": "ARRAY<T>"}, undo=None)
_LIST_N = Fold(
    {"items": "ARRAY<T>"},
    {"items": "array()"},
    {"items": "if(size({s.items}) < {1}, array_append({s.items}, {0}), {s.items})"},
    {"items": "slice(concat({s.items}, {o.items}), 1, greatest({1}, 0))"},
    "{s.items}",
)
_SET = Fold(
    {"items": "ARRAY<C>"},
    {"items": "array()"},
    {"items": "array_union({s.items}, array({0}))"},
    {"items": "array_union({s.items}, {o.items})"},
    "{s.items}",
)


def _top(joined: str) -> Fold:
    return Fold(
        {"best": "ARRAY<C>"},
        {"best": "array()"},
        {"best": f"slice(sort_array({joined.replace('{b}', 'array({0})')}, false), 1, greatest({{1}}, 0))"},
        {"best": f"slice(sort_array({joined.replace('{b}', '{o.best}')}, false), 1, greatest({{1}}, 0))"},
        "{s.best}",
    )


def _counts(result: str) -> Fold:
    added = "map_zip_with({s.counts}, %s, (lambda_k, lambda_a, lambda_b) -> coalesce(lambda_a, 0L) %s coalesce(lambda_b, 0L))"
    return Fold(
        {"counts": "MAP<C, BIGINT>"},
        {"counts": "map()"},
        {"counts": added % ("map({0}, 1L)", "+")},
        {"counts": added % ("{o.counts}", "+")},
        result,
        {"counts": f"map_filter({added % ('map({0}, 1L)', '-')}, (lambda_k, lambda_n) -> lambda_n > 0L)"},
    )


def _moments(result: str) -> Fold:
    """Welford's running mean and sum of squared differences; both ways, and joined as Chan has it."""
    delta = "({0} - {s.mean})"
    before = "(({s.mean} * {s.n} - {0}) / ({s.n} - 1D))"
    both = "({s.n} + {o.n})"
    return Fold(
        {"n": "DOUBLE", "mean": "DOUBLE", "squares": "DOUBLE"},
        {"n": "0D", "mean": "0D", "squares": "0D"},
        {
            "n": "{s.n} + 1D",
            "mean": f"{{s.mean}} + {delta} / ({{s.n}} + 1D)",
            "squares": f"{{s.squares}} + {delta} * {delta} * {{s.n}} / ({{s.n}} + 1D)",
        },
        {
            "n": both,
            "mean": f"if({both} = 0D, 0D, ({{s.mean}} * {{s.n}} + {{o.mean}} * {{o.n}}) / {both})",
            "squares": (
                f"if({both} = 0D, 0D, {{s.squares}} + {{o.squares}} + "
                f"({{o.mean}} - {{s.mean}}) * ({{o.mean}} - {{s.mean}}) * {{s.n}} * {{o.n}} / {both})"
            ),
        },
        result,
        {
            "n": "greatest({s.n} - 1D, 0D)",
            "mean": f"if({{s.n}} <= 1D, 0D, {before})",
            "squares": f"if({{s.n}} <= 1D, 0D, greatest({{s.squares}} - {delta} * ({{0}} - {before}), 0D))",
        },
    )


def _truth(function: str) -> Fold:
    """Whether all (least) or any (greatest) were true, by counting both, so that a row can be taken out again."""
    result = {
        "every": "if({s.yes} + {s.no} = 0L, NULL, {s.no} = 0L)",
        "some": "if({s.yes} + {s.no} = 0L, NULL, {s.yes} > 0L)",
    }
    counted = {"yes": "{s.yes} %s if({0}, 1L, 0L)", "no": "{s.no} %s if({0}, 0L, 1L)"}
    return Fold(
        {"yes": "BIGINT", "no": "BIGINT"},
        {"yes": "0L", "no": "0L"},
        {name: text % "+" for name, text in counted.items()},
        {"yes": "{s.yes} + {o.yes}", "no": "{s.no} + {o.no}"},
        result[function],
        {name: text % "-" for name, text in counted.items()},
    )


FUNCTIONS: tuple[AggregateFunction, ...] = (
    aggregate(
        "count",
        "The number of rows, or of values that are not NULL.",
        {
            "-> BIGINT": ("count(1)", _counting("{s.n} + 1L", "{s.n} - 1L", skip=False)),
            "T -> BIGINT": ("count({0})", _counting("{s.n} + 1L", "{s.n} - 1L", skip=True)),
        },
    ),
    aggregate(
        "count_if",
        "The number of rows for which it is true.",
        {
            "BOOLEAN -> BIGINT": (
                "count_if({0})",
                _counting("{s.n} + if({0}, 1L, 0L)", "{s.n} - if({0}, 1L, 0L)", skip=True),
            ),
        },
    ),
    aggregate(
        "count_distinct",
        "The number of different values; exact, so its state holds them all.",
        {
            "C -> BIGINT": (None, _counts("CAST(size({s.counts}) AS BIGINT)")),
        },
    ),
    aggregate(
        "sum",
        "The sum; 0 when there is nothing.",
        {
            "INTEGER -> INTEGER": ("coalesce(CAST(sum({0}) AS INT), 0)", _sum("INTEGER")),
            "BIGINT -> BIGINT": ("coalesce(sum({0}), 0L)", _sum("BIGINT")),
            "DOUBLE -> DOUBLE": ("coalesce(sum({0}), 0D)", _sum("DOUBLE")),
            "DECIMAL -> DECIMAL": ("coalesce(sum({0}), 0)", _sum("D")),
        },
    ),
    aggregate(
        "avg",
        "The average; 0 when there is nothing.",
        {
            "DOUBLE -> DOUBLE": ("coalesce(avg({0}), 0D)", _AVERAGE),
            "DECIMAL -> DOUBLE": ("coalesce(avg(CAST({0} AS DOUBLE)), 0D)", _AVERAGE),
        },
    ),
    aggregate("min", "The least value.", {"C -> C": ("min({0})", _extreme("least"))}),
    aggregate("max", "The greatest value.", {"C -> C": ("max({0})", _extreme("greatest"))}),
    aggregate(
        "earliest_by_offset",
        "The first value, or the first so many.",
        {"T -> T": (None, _FIRST), "T, INTEGER -> ARRAY<T>": (None, _FIRST_N)},
    ),
    aggregate(
        "latest_by_offset",
        "The last value, or the last so many.",
        {"T -> T": (None, _LAST), "T, INTEGER -> ARRAY<T>": (None, _LAST_N)},
    ),
    aggregate("first", "The first value: `earliest_by_offset`.", {"T -> T": (None, _FIRST)}),
    aggregate("last", "The last value: `latest_by_offset`.", {"T -> T": (None, _LAST)}),
    aggregate(
        "collect_list",
        "All values in their order, or the first so many.",
        {"C -> ARRAY<C>": (None, _LIST), "T -> ARRAY<T>": (None, _MAPS), "T, INTEGER -> ARRAY<T>": (None, _LIST_N)},
    ),
    aggregate("collect_set", "Each value once, in the order of first occurrence.", {"C -> ARRAY<C>": (None, _SET)}),
    aggregate("histogram", "How often each value occurred.", {"C -> MAP<C, BIGINT>": (None, _counts("{s.counts}"))}),
    aggregate(
        "top_k",
        "The so many greatest values, the greatest first.",
        {"C, INTEGER -> ARRAY<C>": (None, _top("concat({s.best}, {b})"))},
    ),
    aggregate(
        "top_k_distinct",
        "The so many greatest different values, the greatest first.",
        {"C, INTEGER -> ARRAY<C>": (None, _top("array_union({s.best}, {b})"))},
    ),
    aggregate(
        "stddev",
        "The standard deviation of a sample; NULL of fewer than two values.",
        {
            "DOUBLE -> DOUBLE": (
                "stddev_samp({0})",
                _moments("if({s.n} < 2D, NULL, sqrt({s.squares} / ({s.n} - 1D)))"),
            ),
        },
    ),
    aggregate(
        "variance",
        "The variance of a sample; NULL of fewer than two values.",
        {
            "DOUBLE -> DOUBLE": ("var_samp({0})", _moments("if({s.n} < 2D, NULL, {s.squares} / ({s.n} - 1D))")),
        },
    ),
    aggregate("every", "Whether all values are true.", {"BOOLEAN -> BOOLEAN": ("every({0})", _truth("every"))}),
    aggregate("some", "Whether at least one value is true.", {"BOOLEAN -> BOOLEAN": ("some({0})", _truth("some"))}),
)
