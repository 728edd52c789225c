"""How an aggregate function is declared: its signatures, Spark's built-in for it where there is one, and a fold.

A fold is a state of named fields and expressions over it: in templates `{s.x}` is a field of the state, `{o.x}` of the other state in a merge, `{0}` the first
argument. Update and merge see the state as it was before. Order-sensitive aggregates have no built-in: Spark's know no order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.functions.declaration import convert_sql
from headrace.functions.signature import Signature, parse_signature, substitute
from headrace.functions.sql_types import quote, spark_type
from headrace.plan.catalogue import SignatureError
from headrace.plan.conversions import bounded_decimal
from headrace.plan.types import DataType, Decimal

_HOLE = re.compile(r"\{(?:([so])\.(\w+)|(\*|\d+|type|V))\}")


@dataclass(frozen=True)
class Fold:
    """The fold of a signature. `skip`: a row whose first argument is NULL changes nothing."""

    state: Mapping[str, str]  # field → its type, as a signature's text writes it
    initial: Mapping[str, str]
    update: Mapping[str, str]
    merge: Mapping[str, str]
    result: str
    undo: Mapping[str, str] | None = None
    skip: bool = True


@dataclass(frozen=True)
class AggregateOverload:
    signature: Signature
    spark: str | None
    fold: Fold


@dataclass(frozen=True)
class AggregateMatch:
    overload: AggregateOverload
    parameters: tuple[DataType, ...]
    bound: Mapping[str, DataType]
    result: DataType


@dataclass(frozen=True)
class FoldSql:
    """A fold in SQL: each of `initial`, `update`, `undo` and `merge` has one expression per field of the state, in its order."""

    state: tuple[tuple[str, DataType], ...]
    initial: tuple[str, ...]
    update: tuple[str, ...]
    undo: tuple[str, ...] | None
    merge: tuple[str, ...]
    result: str


@dataclass(frozen=True)
class AggregateFunction:
    name: str
    doc: str
    overloads: tuple[AggregateOverload, ...]

    def undoes(self, types: Sequence[DataType]) -> bool:
        return self.match(types).overload.fold.undo is not None

    def signatures(self) -> list[str]:
        return [f"{self.name}{overload.signature}" for overload in self.overloads]

    def match(self, types: Sequence[DataType]) -> AggregateMatch:
        matches = [found for overload in self.overloads if (found := _match(overload, types))]
        exact = [found for found in matches if found.parameters == tuple(types)]
        if not matches:
            given = ", ".join(map(str, types))
            raise SignatureError(f"{self.name}({given}): {self.name} takes {' or '.join(self.signatures())}")
        return (exact or matches)[0]

    def spark_sql(self, args: Sequence[str], types: Sequence[DataType]) -> str | None:
        match = self.match(types)
        if match.overload.spark is None:
            return None
        sql = _fill(match.overload.spark, _converted(args, types, match), match, "")
        return f"CAST({sql} AS {spark_type(match.result)})" if isinstance(match.result, Decimal) else sql

    def fold_sql(self, args: Sequence[str], types: Sequence[DataType], prefix: str) -> FoldSql:
        match = self.match(types)
        fold, arguments = match.overload.fold, _converted(args, types, match)
        state = {name: _state_type(text, match.bound) for name, text in fold.state.items()}

        def each(templates: Mapping[str, str], skip: bool) -> tuple[str, ...]:
            return tuple(
                _guarded(
                    _typed(_fill(templates[name], arguments, match, prefix), type_), prefix + name, arguments, skip
                )
                for name, type_ in state.items()
            )

        return FoldSql(
            tuple((prefix + name, type_) for name, type_ in state.items()),
            each(fold.initial, False),
            each(fold.update, fold.skip),
            None if fold.undo is None else each(fold.undo, fold.skip),
            each(fold.merge, False),
            _typed(_fill(fold.result, arguments, match, prefix), match.result),
        )


def aggregate(name: str, doc: str, overloads: Mapping[str, tuple[str | None, Fold]]) -> AggregateFunction:
    """Declares an aggregate: signatures' texts, each with Spark's built-in (or None) and the fold."""
    found = (AggregateOverload(parse_signature(text), spark, fold) for text, (spark, fold) in overloads.items())
    return AggregateFunction(name, doc, tuple(found))


def _match(overload: AggregateOverload, types: Sequence[DataType]) -> AggregateMatch | None:
    bound = overload.signature.bind(types)
    if bound is None:
        return None
    parameters = tuple(
        types[position]
        if str(pattern := overload.signature.parameter(position)) == "DECIMAL"
        else substitute(pattern, bound)
        for position in range(len(types))
    )
    result = substitute(overload.signature.result, bound)
    if str(result) == "DECIMAL":
        result = _total(types[0])
    return AggregateMatch(overload, parameters, {**bound, "D": result}, result)


def _total(type_: DataType) -> DataType:
    """A sum of decimals has ten digits more, as in Spark."""
    assert isinstance(type_, Decimal)
    return (
        bounded_decimal(type_.precision + 10, type_.scale) if type_.precision + 10 <= 38 else Decimal(38, type_.scale)
    )


def _state_type(text: str, bound: Mapping[str, DataType]) -> DataType:
    return substitute(parse_signature(f"-> {text}").result, bound)


def _converted(args: Sequence[str], types: Sequence[DataType], match: AggregateMatch) -> list[str]:
    return [convert_sql(sql, type_, wanted) for sql, type_, wanted in zip(args, types, match.parameters)]


def _typed(sql: str, type_: DataType) -> str:
    return f"CAST({sql} AS {spark_type(type_)})"


def _guarded(sql: str, name: str, arguments: Sequence[str], skip: bool) -> str:
    return f"if({arguments[0]} IS NULL, state.{quote(name)}, {sql})" if skip and arguments else sql


def _fill(template: str, arguments: Sequence[str], match: AggregateMatch, prefix: str) -> str:
    def hole(found: re.Match[str]) -> str:
        if found[1]:
            return f"{'state' if found[1] == 's' else 'other'}.{quote(prefix + found[2])}"
        if found[3] == "*":
            return ", ".join(arguments)
        if found[3] == "type":
            return spark_type(match.result)
        return spark_type(match.parameters[0]) if found[3] == "V" else arguments[int(found[3])]

    return _HOLE.sub(hole, template)
