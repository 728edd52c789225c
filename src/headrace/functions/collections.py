"""Functions of arrays, maps and structs. Positions count from 1, and from the end when negative, except in `get`."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.functions.declaration import Rule, function
from headrace.functions.sql_types import spark_type
from headrace.plan.conversions import common_type
from headrace.plan.types import DataType, Map


def _map_type(types: Sequence[DataType]) -> DataType | None:
    if len(types) % 2:
        return None
    key, value = types[0], types[1]
    for position, type_ in enumerate(types):
        both = common_type(value if position % 2 else key, type_)
        if both is None:
            return None
        key, value = (key, both) if position % 2 else (both, value)
    return Map(key, value)


def _map_sql(arguments: Sequence[str], types: Sequence[DataType]) -> str:
    # A NULL key would be an exception in Spark: such an entry is left out.
    type_ = _map_type(types)
    assert type_ is not None
    pairs = (f"named_struct('key', {key}, 'value', {value})" for key, value in zip(arguments[::2], arguments[1::2]))
    entries = f"filter(array({', '.join(pairs)}), lambda_e -> lambda_e.key IS NOT NULL)"
    return f"CAST(map_from_entries({entries}) AS {spark_type(type_)})"


FUNCTIONS = (
    function("array", "An array of the arguments.", {"T... -> ARRAY<T>": "array({*})"}),
    function(
        "map",
        "A map of keys and values in turn; NULL keys are left out, the last of equal keys stays.",
        {"ANY, ANY... -> MAP<K, V>": Rule(_map_sql, _map_type, convert=False)},
    ),
    function(
        "element_at",
        "The item at a position from 1, or the value of a key; NULL when there is none.",
        {
            "ARRAY<T>, INTEGER -> T": "element_at({0}, nullif({1}, 0))",
            "MAP<K, V>, K -> V": "element_at({0}, {1})",
        },
    ),
    function(
        "get", "The item at a position from 0; NULL when there is none.", {"ARRAY<T>, INTEGER -> T": "get({0}, {1})"}
    ),
    function(
        "size",
        "The number of items or entries.",
        {"ARRAY<T> -> INTEGER": "nullif(size({0}), -1)", "MAP<K, V> -> INTEGER": "nullif(size({0}), -1)"},
    ),
    function(
        "contains",
        "Whether an array holds an item, a map a key, or a text another text.",
        {
            "ARRAY<C>, C -> BOOLEAN": "array_contains({0}, {1})",
            "MAP<K, V>, K -> BOOLEAN": "map_contains_key({0}, {1})",
            "STRING, STRING -> BOOLEAN": "contains({0}, {1})",
        },
    ),
    function(
        "array_append", "The array with an item more at its end.", {"ARRAY<T>, T -> ARRAY<T>": "array_append({0}, {1})"}
    ),
    function(
        "array_prepend",
        "The array with an item more at its beginning.",
        {"ARRAY<T>, T -> ARRAY<T>": "array_prepend({0}, {1})"},
    ),
    function(
        "array_remove",
        "The array without the items that equal the second argument.",
        {"ARRAY<C>, C -> ARRAY<C>": "array_remove({0}, {1})"},
    ),
    function(
        "array_position",
        "Where an item first is, from 1; 0 when it is not there.",
        {"ARRAY<C>, C -> INTEGER": "CAST(array_position({0}, {1}) AS INT)"},
    ),
    function(
        "array_distinct",
        "Each item once, in the order of first occurrence.",
        {"ARRAY<C> -> ARRAY<C>": "array_distinct({0})"},
    ),
    function("array_sort", "In ascending order, NULLs last.", {"ARRAY<C> -> ARRAY<C>": "array_sort({0})"}),
    function(
        "array_sort_descending", "In descending order, NULLs last.", {"ARRAY<C> -> ARRAY<C>": "sort_array({0}, false)"}
    ),
    function("array_max", "The greatest item.", {"ARRAY<C> -> C": "array_max({0})"}),
    function("array_min", "The least item.", {"ARRAY<C> -> C": "array_min({0})"}),
    function(
        "array_sum",
        "The sum of the items that are not NULL.",
        {
            "ARRAY<DOUBLE> -> DOUBLE": "aggregate({0}, 0D, (lambda_a, lambda_b) -> lambda_a + coalesce(lambda_b, 0D))",
            "ARRAY<BIGINT> -> BIGINT": "aggregate({0}, 0L, (lambda_a, lambda_b) -> lambda_a + coalesce(lambda_b, 0L))",
            "ARRAY<INTEGER> -> BIGINT": "aggregate({0}, 0L, (lambda_a, lambda_b) -> lambda_a + coalesce(CAST(lambda_b AS BIGINT), 0L))",
        },
    ),
    function(
        "array_join",
        "The items as one text with a delimiter between them; NULLs are left out.",
        {"ARRAY<STRING>, STRING -> STRING": "array_join({0}, {1})"},
    ),
    function(
        "array_union", "Each item of both arrays once.", {"ARRAY<C>, ARRAY<C> -> ARRAY<C>": "array_union({0}, {1})"}
    ),
    function(
        "array_intersect",
        "Each item that is in both arrays, once.",
        {"ARRAY<C>, ARRAY<C> -> ARRAY<C>": "array_intersect({0}, {1})"},
    ),
    function(
        "array_except",
        "Each item of the first array that is not in the second, once.",
        {"ARRAY<C>, ARRAY<C> -> ARRAY<C>": "array_except({0}, {1})"},
    ),
    function("array_flatten", "The items of an array's arrays.", {"ARRAY<ARRAY<T>> -> ARRAY<T>": "flatten({0})"}),
    function(
        "slice",
        "So many items from a position on.",
        {
            "ARRAY<T>, INTEGER, INTEGER -> ARRAY<T>": "slice({0}, nullif({1}, 0), greatest({2}, 0))",
        },
    ),
    function(
        "sequence",
        "The whole numbers from the first argument to the second; at most 10,000, else NULL.",
        {
            "INTEGER, INTEGER -> ARRAY<INTEGER>": "CASE WHEN abs(CAST({1} AS BIGINT) - {0}) < 10000 THEN sequence({0}, {1}) END",
            "BIGINT, BIGINT -> ARRAY<BIGINT>": "CASE WHEN {1} BETWEEN {0} - 9999L AND {0} + 9999L THEN sequence({0}, {1}) END",
        },
    ),
    function(
        "transform",
        "The array of a function's results for each item.",
        {
            "ARRAY<T>, (T) => R -> ARRAY<R>": "transform({0}, {1})",
        },
    ),
    function(
        "filter",
        "The items for which a function is true.",
        {"ARRAY<T>, (T) => BOOLEAN -> ARRAY<T>": "filter({0}, {1})"},
    ),
    function(
        "reduce",
        "An array folded into one value: a start, and a function of the value so far and each item.",
        {
            "ARRAY<T>, S, (S, T) => S -> S": "aggregate({0}, {1}, {2})",
        },
    ),
    function(
        "any_match",
        "Whether a function is true for at least one item.",
        {"ARRAY<T>, (T) => BOOLEAN -> BOOLEAN": "exists({0}, {1})"},
    ),
    function(
        "all_match",
        "Whether a function is true for every item.",
        {"ARRAY<T>, (T) => BOOLEAN -> BOOLEAN": "forall({0}, {1})"},
    ),
    function(
        "zip_with",
        "The results of a function for the items of two arrays at the same place.",
        {
            "ARRAY<T>, ARRAY<U>, (T, U) => R -> ARRAY<R>": "zip_with({0}, {1}, {2})",
        },
    ),
    function("map_keys", "The keys of a map.", {"MAP<K, V> -> ARRAY<K>": "map_keys({0})"}),
    function("map_values", "The values of a map.", {"MAP<K, V> -> ARRAY<V>": "map_values({0})"}),
    function(
        "map_entries", "The entries of a map.", {"MAP<K, V> -> ARRAY<STRUCT<key K, value V>>": "map_entries({0})"}
    ),
    function(
        "map_from_entries",
        "The map of an array of entries; NULL keys are left out.",
        {
            "ARRAY<STRUCT<key K, value V>> -> MAP<K, V>": "map_from_entries(filter({0}, lambda_e -> lambda_e.key IS NOT NULL))",
        },
    ),
    function(
        "map_union",
        "The entries of both maps; of equal keys the second's.",
        {
            "MAP<K, V>, MAP<K, V> -> MAP<K, V>": "map_zip_with({0}, {1}, (lambda_k, lambda_a, lambda_b) -> if(map_contains_key({1}, lambda_k), lambda_b, lambda_a))",
        },
    ),
    function(
        "map_filter",
        "The entries for which a function of key and value is true.",
        {"MAP<K, V>, (K, V) => BOOLEAN -> MAP<K, V>": "map_filter({0}, {1})"},
    ),
    function(
        "map_transform",
        "The map with a function's results, of key and value, as values.",
        {"MAP<K, V>, (K, V) => R -> MAP<K, R>": "transform_values({0}, {1})"},
    ),
)
