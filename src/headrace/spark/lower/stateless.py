"""Steps that look at one row at a time: a lane in, lanes out.

A null value of a stream stays null through a Select; in a table it is a deletion. Tables follow Kafka Streams: a row that a filter takes out
becomes a deletion, and where the value before is known, a change from nothing to nothing goes no further.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.plan import steps as s
from headrace.plan.plan import PlanError
from headrace.plan.relations import Relation, RelationKind
from headrace.plan.types import Array, Field, Struct
from headrace.spark.lower.flow import Lane, RowSql, Trunk, any_of, row_of, without_failures
from headrace.spark.lower.global_tables import lowered_global_join
from headrace.spark.lower.texts import NO_ITEM, PythonNames, Texts


@dataclass(frozen=True)
class Stateless:
    """What the lowering of a stateless step needs: all relations, calls of users' functions, and whether a step rules its whole trunk."""

    relations: Mapping[str, Relation]
    python: PythonNames
    # True where every row of the trunk that leaves the stage passes the step: then a filter may drop rows, not only mark them.
    rules: Callable[[str, Trunk], bool] = lambda _step, _trunk: False
    # The SQL function of a global table.
    global_function: Callable[[str], str] = lambda step: f"global_table_{step}"

    def lower(self, step: s.Step, lanes: Sequence[Lane]) -> dict[str, list[Lane]]:
        """The lanes of a step by flow: its own id, and one for each branch."""
        if isinstance(step, s.Branch):
            return self._branch(step, lanes)
        rule = _RULES.get(type(step))
        if rule is None:
            raise PlanError(step.id, f"{type(step).__name__} is no step that looks at one row at a time")
        return {step.id: [self._done(step, rule(self, step, lane)) for lane in lanes]}

    def _done(self, step: s.Step, lane: Lane) -> Lane:
        return without_failures(lane, self.rules(step.id, lane.trunk))

    def _texts(self, flow: str, item: Struct = NO_ITEM) -> Texts:
        return Texts.over(self.relations[flow], self.python, item)

    def is_table(self, flow: str) -> bool:
        return self.relations[flow].kind is RelationKind.TABLE

    def _select(self, step: s.Select, lane: Lane) -> Lane:
        texts = self._texts(step.input)
        lane = replace(lane, value=_selected(lane, lane.value, texts, step.columns))
        if lane.old is not None:
            lane = replace(lane, old=_selected(lane, lane.old, texts, step.columns))
        return lane

    def _filter(self, step: s.Filter, lane: Lane) -> Lane:
        texts = self._texts(step.input)
        condition = texts.sql(step.condition, lane)
        if not self.is_table(step.input):
            lane = self._done(step, lane)
            if self.rules(step.id, lane.trunk):
                lane.trunk.where(condition)
                return lane
            return lane.where(lane.trunk.column(condition))
        lane = replace(lane, value=_kept(lane, lane.value, condition))
        if lane.old is not None:
            old = _kept(lane, lane.old, texts.sql(step.condition, lane, lane.old))
            lane = replace(lane, old=old)
            lane = lane.where(f"NOT ({lane.value.is_null()}) OR NOT ({old.is_null()})")
        return lane

    def _select_key(self, step: s.SelectKey, lane: Lane) -> Lane:
        return replace(lane, key=self._new_key(step.key, lane, self._texts(step.input)), window=None)

    def _new_key(
        self, key: Sequence[Any], lane: Lane, texts: Texts, value: RowSql | None = None, item: RowSql | None = None
    ) -> RowSql:
        """A key of expressions; it is null when the row it is made of is, or when all of its columns are."""
        names = lane.trunk.columns(texts.row(key, lane, value, item))
        fields = dict(zip((one.name for one in key), names))
        nothing = " AND ".join(f"{name} IS NULL" for name in names) if names else None
        return RowSql(fields, nothing)

    def _flat_map(self, step: s.FlatMap, lane: Lane) -> Lane:
        texts = self._texts(step.input)
        items_type = texts.type(step.items)
        assert isinstance(items_type, Array)
        items = texts.sql(step.items, lane)
        alone = self.rules(step.id, lane.trunk)
        active = lane.active()
        if active is not None:
            items = f"CASE WHEN {active} THEN {items} END"
        position, item = lane.trunk.explode(items, keep=not alone)
        lane = replace(lane, generators=lane.generators | {*lane.trunk.generators})
        if not alone:
            lane = lane.where(f"{position} IS NOT NULL")
        if isinstance(items_type.item, Struct):
            item_columns, item_row = items_type.item, row_of(item, items_type.item.names)
        else:
            item_columns, item_row = Struct((Field(step.item, items_type.item),)), RowSql({step.item: item})
        inner = self._texts(step.input, item_columns)
        names = lane.trunk.columns(inner.row(step.columns, lane, item=item_row))
        key = lane.key if step.key is None else self._new_key(step.key, lane, inner, item=item_row)
        value = RowSql(dict(zip((one.name for one in step.columns), names)))
        return replace(lane, key=key, value=value, window=lane.window if step.key is None else None)

    def _branch(self, step: s.Branch, lanes: Sequence[Lane]) -> dict[str, list[Lane]]:
        found: dict[str, list[Lane]] = {f"{step.id}.{case.name}": [] for case in step.branches}
        texts = self._texts(step.input)
        for lane in lanes:
            whens = [
                f"WHEN {'TRUE' if case.condition is None else texts.sql(case.condition, lane)} THEN {number}"
                for number, case in enumerate(step.branches)
            ]
            taken = lane.trunk.column(f"CASE {' '.join(whens)} END")
            lane = self._done(step, lane)
            for number, case in enumerate(step.branches):
                branch = replace(lane.where(f"{taken} = {number}"), cases=lane.cases | {(step.id, number)})
                found[f"{step.id}.{case.name}"].append(branch)
        return found

    def _to_stream(self, _step: s.ToStream, lane: Lane) -> Lane:
        return replace(lane, old=None)

    def _to_table(self, _step: s.ToTable, lane: Lane) -> Lane:
        return with_key(lane)

    def _group_by(self, step: s.GroupBy, lane: Lane) -> Lane:
        texts = self._texts(step.input)
        if step.key is None:
            return replace(lane, old_key=lane.key if lane.old is not None else None)
        key = self._new_key(step.key, lane, texts)
        if lane.old is None:
            return replace(lane, key=key, window=None)
        old_key = self._new_key(step.key, lane, texts, value=lane.old)
        return replace(lane, key=key, old_key=old_key, window=None)

    def _global_join(self, step: s.GlobalTableJoin, lane: Lane) -> Lane:
        left, right = self.relations[step.left], self.relations[step.right]
        return lowered_global_join(step, lane, left, right, self.global_function(step.right), self.python)

    def _same(self, _step: s.Step, lane: Lane) -> Lane:
        return lane


def with_key(lane: Lane) -> Lane:
    """A table has no row without a key."""
    return lane if lane.key.missing is None else lane.where(f"NOT ({lane.key.missing})")


def _selected(lane: Lane, value: RowSql, texts: Texts, columns: Sequence[Any]) -> RowSql:
    names = lane.trunk.columns(texts.row(columns, lane, value))
    return RowSql(dict(zip((one.name for one in columns), names)), value.missing)


def _kept(lane: Lane, value: RowSql, condition: str) -> RowSql:
    """The value where the condition holds, else null."""
    missing = lane.trunk.column(any_of([value.missing, f"NOT coalesce({condition}, FALSE)"]) or "FALSE")
    return RowSql(value.fields, missing)


_RULES: Mapping[type[s.Step], Callable[[Stateless, Any, Lane], Lane]] = {
    s.Select: Stateless._select,
    s.Filter: Stateless._filter,
    s.SelectKey: Stateless._select_key,
    s.FlatMap: Stateless._flat_map,
    s.Merge: Stateless._same,
    s.ToStream: Stateless._to_stream,
    s.ToTable: Stateless._to_table,
    s.GroupBy: Stateless._group_by,
    s.GlobalTableJoin: Stateless._global_join,
    s.Suppress: Stateless._same,
}
