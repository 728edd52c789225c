"""Random columns, and rows for them, that a format can hold."""

from __future__ import annotations

import decimal
from typing import Any

from hypothesis import strategies as st

from headrace.formats.json_values import WHOLE
from headrace.plan.serdes import KeyWindow, Option, Serde
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
    Field,
    Map,
    Struct,
)

PRIMITIVES = (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP)
names = st.text(st.sampled_from("abcXYZ_09 -äß.'\"\\`$€"), min_size=1, max_size=8)
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
decimals = st.integers(1, 38).flatmap(
    lambda precision: st.builds(Decimal, st.just(precision), st.integers(0, precision))
)
simple: st.SearchStrategy[DataType] = st.one_of(st.sampled_from(PRIMITIVES), decimals)


def _structs(types: st.SearchStrategy[DataType]) -> st.SearchStrategy[Struct]:
    fields = st.lists(st.builds(Field, names, types), min_size=1, max_size=4, unique_by=lambda one: one.name)
    return fields.map(lambda some: Struct(tuple(some)))


nested: st.SearchStrategy[DataType] = st.recursive(
    simple,
    lambda inner: st.one_of(st.builds(Array, inner), st.builds(Map, st.just(STRING), inner), _structs(inner)),
    max_leaves=4,
)


def values(type_: DataType) -> st.SearchStrategy[Any]:
    """Values of a type, NULL among them."""
    return st.one_of(st.none(), present(type_))


def present(type_: DataType) -> st.SearchStrategy[Any]:
    if type_ in WHOLE:
        low, high = WHOLE[type_]
        return st.integers(low, high) | st.sampled_from([low, high, 0])
    if isinstance(type_, Decimal):
        scale = decimal.Decimal(1).scaleb(-type_.scale)
        bound = 10**type_.precision - 1
        return st.integers(-bound, bound).map(
            lambda one: decimal.Context(prec=60).multiply(decimal.Decimal(one), scale)
        )
    if isinstance(type_, Array):
        return st.lists(values(type_.item), max_size=3)
    if isinstance(type_, Map):
        return st.dictionaries(texts, values(type_.value), max_size=3)
    if isinstance(type_, Struct):
        return st.fixed_dictionaries({one.name: values(one.type) for one in type_})
    return {
        BOOLEAN: st.booleans(),
        DOUBLE: st.floats(allow_nan=False),
        STRING: texts,
        BYTES: st.binary(max_size=12),
    }[type_]


def _rows(serde: Serde) -> st.SearchStrategy[tuple[Serde, list[Any]]]:
    columns: dict[str, st.SearchStrategy[Any]] = {one.name: values(one.type) for one in serde.columns}
    if serde.window is not None:
        start = st.integers(0, 1 << 45)
        size = serde.window_size_ms
        bounds = start.flatmap(
            lambda one: st.tuples(st.just(one), st.just(one + size) if size else st.integers(one, one + 10**6))
        )
        row = st.tuples(
            st.fixed_dictionaries({name: present(serde.columns.get(name) or STRING) for name in columns}), bounds
        )
        rows = row.map(lambda one: {**one[0], "window_start": one[1][0], "window_end": one[1][1]})
        return st.tuples(st.just(serde), st.lists(rows, min_size=6, max_size=6))
    return st.tuples(
        st.just(serde), st.lists(st.one_of(st.none(), st.fixed_dictionaries(columns)), min_size=6, max_size=6)
    )


def _one(type_: DataType) -> Struct:
    return Struct((Field("k", type_),))


json_serdes = st.one_of(
    _structs(nested).map(lambda columns: Serde("json", columns)),
    simple.map(lambda type_: Serde("json", _one(type_), wrapped=False)),
    simple.map(lambda type_: Serde("json", _one(type_), window=KeyWindow.SESSION)),
)
kafka_serdes = st.sampled_from((STRING, INTEGER, BIGINT, DOUBLE, BOOLEAN, BYTES)).flatmap(
    lambda type_: st.sampled_from(
        (
            Serde("kafka", _one(type_), wrapped=False),
            Serde("kafka", _one(type_), wrapped=False, window=KeyWindow.TIME, window_size_ms=60_000),
            Serde("kafka", _one(type_), wrapped=False, window=KeyWindow.SESSION),
        )
    )
)
delimited_serdes = st.builds(
    lambda columns, delimiter: Serde("delimited", columns, (Option("delimiter", delimiter),)),
    _structs(simple),
    st.sampled_from([",", "TAB", "|", ";"]),
)
examples = st.one_of(json_serdes, kafka_serdes, delimited_serdes).flatmap(_rows)
