"""A step's expressions as SQL over a lane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headrace.functions import CATALOGUE
from headrace.functions.sql_text import cast_sql, expression_sql
from headrace.plan import expressions as ex
from headrace.plan.relations import Relation
from headrace.plan.scope import Place, Scope, expression_type
from headrace.plan.types import BIGINT, DataType, Struct
from headrace.spark.lower.flow import Lane, RowSql

NO_ITEM = Struct(())
PythonNames = Callable[[ex.PythonCall, Sequence[DataType]], str]
"""The SQL function that a call of a user's function is. It gives a struct of `value` and `error`."""
_NOWHERE: Mapping[ex.Meta, str] = {
    ex.Meta.ROWPARTITION: "CAST(NULL AS INT)",
    ex.Meta.ROWOFFSET: "CAST(NULL AS BIGINT)",
    ex.Meta.TOPIC: "CAST(NULL AS STRING)",
    ex.Meta.HEADERS: "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>)",
}


@dataclass(frozen=True)
class Texts:
    """Writes expressions of one step: `scope` types them, `python` names users' functions."""

    scope: Scope
    python: PythonNames

    @classmethod
    def over(cls, relation: Relation, python: PythonNames, item: Struct = NO_ITEM) -> Texts:
        return cls(Scope({None: relation.row(item)}, CATALOGUE), python)

    def type(self, expression: ex.Expression) -> DataType:
        return expression_type(expression, self.scope)

    def sql(
        self, expression: ex.Expression, lane: Lane, value: RowSql | None = None, item: RowSql | None = None
    ) -> str:
        """The expression over a lane's row; `value` stands in for the lane's own, as a table's old value does."""
        resolve = self._resolver(lane, value or lane.value, item)
        return expression_sql(expression, resolve, self.scope, lambda call, args: self._python_sql(call, args, lane))

    def row(
        self, columns: Sequence[ex.Named], lane: Lane, value: RowSql | None = None, item: RowSql | None = None
    ) -> list[str]:
        return [self.sql(one.expression, lane, value, item) for one in columns]

    def timestamp(self, expression: ex.Expression, lane: Lane) -> str:
        """An expression that is a time, as a TIMESTAMP."""
        sql = self.sql(expression, lane)
        return f"timestamp_millis({sql})" if self.type(expression) == BIGINT else sql

    def cast(self, expression: ex.Expression, lane: Lane, to: DataType) -> str:
        return cast_sql(self.sql(expression, lane), self.type(expression), to)

    def _python_sql(self, call: ex.PythonCall, arguments: Sequence[str], lane: Lane) -> str:
        """The result of a user's function, computed once; its exception is a complaint of the trunk."""
        name = self.python(call, [self.type(one) for one in call.arguments])
        column = lane.trunk.column(f"{name}({', '.join(arguments)})")
        lane.trunk.complaints.append(f"{column}.error")
        return f"{column}.value"

    def _resolver(self, lane: Lane, value: RowSql, item: RowSql | None) -> Callable[[ex.Column | ex.RowMeta], str]:
        rows = {Place.KEY: lane.key, Place.VALUE: value, Place.ITEM: item}

        def resolve(node: ex.Column | ex.RowMeta) -> str:
            if isinstance(node, ex.RowMeta):
                return meta_sql(node.name, lane)
            place, _ = self.scope.find(node)
            row = rows[place]
            assert row is not None
            return row.fields[node.name]

        return resolve


def join_scope(left: Relation, right: Relation) -> Scope:
    """What the columns of a join's result are written over."""
    return Scope({ex.Side.LEFT: left.row(), ex.Side.RIGHT: right.row()}, CATALOGUE)


def meta_sql(name: ex.Meta, lane: Lane) -> str:
    """What a record has beside key and value. Behind an operator a row has no place in a topic any more."""
    if name is ex.Meta.ROWTIME:
        return f"unix_millis({lane.ts})"
    if name in (ex.Meta.WINDOWSTART, ex.Meta.WINDOWEND):
        assert lane.window is not None
        return lane.window[0 if name is ex.Meta.WINDOWSTART else 1]
    return lane.place.get(name, _NOWHERE[name])
