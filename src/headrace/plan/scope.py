"""What an expression can see, and the type it has there.

A `Scope` holds the rows that a step's expressions are written over: the row itself (`None`), the two sides of a join, the accumulators of a
fold. A column without a side is looked for in the item (of a FlatMap), then in the value, then in the key; `Side.KEY` means the key alone. Nothing here knows SQL.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from headrace.plan import expressions as ex
from headrace.plan.catalogue import Functions, SignatureError
from headrace.plan.conversions import castable, common_type
from headrace.plan.literals import LiteralError, check_literal
from headrace.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    INTEGER,
    STRING,
    Array,
    DataType,
    Field,
    Struct,
    struct,
)

HEADERS = Array(struct(key=STRING, value=BYTES))
_META_TYPES: Mapping[ex.Meta, DataType] = {
    ex.Meta.ROWTIME: BIGINT,
    ex.Meta.ROWPARTITION: INTEGER,
    ex.Meta.ROWOFFSET: BIGINT,
    ex.Meta.TOPIC: STRING,
    ex.Meta.HEADERS: HEADERS,
    ex.Meta.WINDOWSTART: BIGINT,
    ex.Meta.WINDOWEND: BIGINT,
}
_WINDOW = (ex.Meta.WINDOWSTART, ex.Meta.WINDOWEND)


NO_COLUMNS = Struct(())


class ExpressionError(ValueError):
    """An expression that has no type where it stands; says why and what there is instead."""


class Place(StrEnum):
    """Which part of a row a column is of."""

    ITEM = "item"
    VALUE = "value"
    KEY = "key"


@dataclass(frozen=True)
class RowScope:
    """One row: its key, its value, and the item of the array that a FlatMap takes apart."""

    key: Struct = NO_COLUMNS
    value: Struct = NO_COLUMNS
    windowed: bool = False
    item: Struct = NO_COLUMNS
    meta: bool = True

    def places(self) -> tuple[tuple[Place, Struct], ...]:
        return ((Place.ITEM, self.item), (Place.VALUE, self.value), (Place.KEY, self.key))

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for _, columns in self.places() for name in columns.names))


@dataclass(frozen=True)
class Scope:
    """The rows by side (None: the row itself), the functions there are, and the parameters of lambdas around."""

    rows: Mapping[ex.Side | None, RowScope]
    functions: Functions
    variables: Mapping[str, DataType] = field(default_factory=dict)

    def find(self, column: ex.Column) -> tuple[Place, DataType]:
        """Where a column is and its type; `ExpressionError` names the closest when there is none."""
        row = self._row(column)
        places = row.places() if column.side is not ex.Side.KEY else ((Place.KEY, row.key),)
        for place, columns in places:
            found = columns.get(column.name)
            if found is not None:
                return place, found
        names = row.names() if column.side is not ex.Side.KEY else list(row.key.names)
        raise ExpressionError(f"there is no column {column}{one_of(column.name, names)}")

    def meta_type(self, meta: ex.RowMeta) -> DataType:
        row = self._row(meta)
        if not row.meta:
            raise ExpressionError(
                f"{meta} is of records; here there are only columns: {', '.join(row.names()) or 'none'}"
            )
        if meta.name in _WINDOW and not row.windowed:
            raise ExpressionError(f"{meta} is of windowed keys only; aggregate with a window first")
        return _META_TYPES[meta.name]

    def with_variables(self, variables: Mapping[str, DataType]) -> Scope:
        return replace(self, variables={**self.variables, **variables})

    def _row(self, node: ex.Column | ex.RowMeta) -> RowScope:
        side = None if node.side is ex.Side.KEY else node.side
        row = self.rows.get(side)
        if row is not None:
            return row
        sides = [str(one) for one in self.rows if one is not None]
        if side is None:
            raise ExpressionError(f"{node} needs a side; here are {' and '.join(sides) or 'no columns'}")
        raise ExpressionError(f"{node}: there is no {side} row here; {_have(sides)}")


def _have(sides: Sequence[str]) -> str:
    return f"there is {' and '.join(sides)}" if sides else "columns have no side"


def one_of(name: str, names: Iterable[str]) -> str:
    """How an error goes on after a name that is not there: the closest one, and all of them."""
    known = [one[:80] for one in names]
    if not known:
        return "; there are none"
    close = difflib.get_close_matches(name[:80].lower(), {one.lower(): one for one in known[:200]}, n=1)
    hint = next((one for one in known if close and one.lower() == close[0]), None)
    listed = ", ".join(known[:40]) + (f" and {len(known) - 40} more" if len(known) > 40 else "")
    return f"; did you mean {hint}? There are {listed}" if hint else f"; there are {listed}"


def expression_type(expression: ex.Expression, scope: Scope) -> DataType:
    """The type of an expression; `ExpressionError` when it has none."""
    match expression:
        case ex.Column():
            return scope.find(expression)[1]
        case ex.RowMeta():
            return scope.meta_type(expression)
        case ex.Literal():
            return _literal_type(expression)
        case ex.Call():
            return _call_type(expression, scope)
        case ex.Cast():
            return _cast_type(expression, scope)
        case ex.Case():
            return _case_type(expression, scope)
        case ex.FieldOf():
            return _field_type(expression, scope)
        case ex.StructOf():
            return Struct(tuple(Field(one.name, expression_type(one.expression, scope)) for one in expression.fields))
        case ex.Variable():
            return _variable_type(expression, scope)
        case ex.PythonCall():
            for argument in expression.arguments:
                expression_type(argument, scope)
            return expression.type
        case ex.Lambda():
            raise ExpressionError(f"the lambda {expression} stands where no function takes one")
    raise ExpressionError(f"{type(expression).__name__} is no expression that has a type")


def argument_types(call: ex.Call, scope: Scope) -> list[DataType]:
    """The types of a call's arguments; a lambda's is that of its body."""
    known: list[DataType | None] = [
        None if isinstance(one, ex.Lambda) else expression_type(one, scope) for one in call.arguments
    ]
    for position, argument in enumerate(call.arguments):
        if isinstance(argument, ex.Lambda):
            known[position] = expression_type(argument.body, lambda_scope(call, position, known, scope))
    return [one for one in known if one is not None]


def lambda_scope(call: ex.Call, position: int, arguments: Sequence[DataType | None], scope: Scope) -> Scope:
    """The scope of the body of the lambda that is the argument at `position`."""
    function = call.arguments[position]
    assert isinstance(function, ex.Lambda)
    try:
        parameters = scope.functions.lambda_parameters(call.function, position, arguments)
    except SignatureError as error:
        raise ExpressionError(str(error)) from None
    if len(parameters) != len(function.parameters):
        raise ExpressionError(
            f"{call.function} gives its lambda {len(parameters)} values, {function} takes {len(function.parameters)}"
        )
    return scope.with_variables(dict(zip(function.parameters, parameters)))


def _literal_type(literal: ex.Literal) -> DataType:
    try:
        check_literal(literal)
    except LiteralError as error:
        raise ExpressionError(str(error)) from None
    return literal.type


def _call_type(call: ex.Call, scope: Scope) -> DataType:
    arguments = argument_types(call, scope)
    try:
        result = scope.functions.result_type(call.function, arguments)
        scope.functions.check_constants(
            call.function, [one if isinstance(one, ex.Literal) else None for one in call.arguments]
        )
        return result
    except SignatureError as error:
        raise ExpressionError(str(error)) from None


def _cast_type(cast: ex.Cast, scope: Scope) -> DataType:
    operand = expression_type(cast.operand, scope)
    if not castable(operand, cast.type):
        raise ExpressionError(f"{cast}: {operand} cannot be cast to {cast.type}")
    return cast.type


def _case_type(case: ex.Case, scope: Scope) -> DataType:
    if not case.branches:
        raise ExpressionError("a CASE needs at least one WHEN")
    for branch in case.branches:
        condition = expression_type(branch.condition, scope)
        if condition != BOOLEAN:
            raise ExpressionError(f"WHEN {branch.condition} is a {condition}, a condition is a BOOLEAN")
    results = [branch.result for branch in case.branches] + ([case.default] if case.default else [])
    found = expression_type(results[0], scope)
    for result in results[1:]:
        other = expression_type(result, scope)
        both = common_type(found, other)
        if both is None:
            raise ExpressionError(f"the results of {case} are {found} and {other}; cast them to one type")
        found = both
    return found


def _field_type(access: ex.FieldOf, scope: Scope) -> DataType:
    operand = expression_type(access.operand, scope)
    if not isinstance(operand, Struct):
        raise ExpressionError(
            f"{access.operand} is a {operand}, which has no field {access.name!r}; only a STRUCT has fields"
        )
    found = operand.get(access.name)
    if found is None:
        raise ExpressionError(f"{access.operand} has no field {access.name!r}{one_of(access.name, operand.names)}")
    return found


def _variable_type(variable: ex.Variable, scope: Scope) -> DataType:
    found = scope.variables.get(variable.name)
    if found is None:
        raise ExpressionError(
            f"{variable.name!r} is a parameter of no lambda around it{one_of(variable.name, scope.variables)}"
        )
    return found
