"""Internal topics: what operators of different stages hand each other, as JSON that people can read.

    key      {"key": {…}, "start": …, "end": …}       the window's bounds only where the key has one
    value    {"value": {…}, "old": {…}}               `old` only where the reader takes changes of a table

A Repartition's topic has the same form. Keys are those the reader groups by, so that equal keys are in one partition, in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.formats import FORMATS
from headrace.functions.sql_text import string_sql
from headrace.plan.plan import Plan
from headrace.plan.relations import Relation, RelationKind
from headrace.plan.serdes import Serde
from headrace.plan.stages import Channel
from headrace.plan.types import BIGINT, Field, Struct
from headrace.spark.lower.ends import End
from headrace.spark.lower.flow import Lane, RowSql, Trunk, named_struct, row_of
from headrace.spark.lower.heads import PLACE, decoded

START, END = "start", "end"


def serdes(relation: Relation, old: bool) -> tuple[Serde, Serde]:
    """How keys and values of these rows lie in a channel."""
    key = [Field("key", relation.key)]
    if relation.window is not None:
        key += [Field(START, BIGINT), Field(END, BIGINT)]
    value = [Field("value", relation.value)] + ([Field("old", relation.value)] if old else [])
    return Serde("json", Struct(tuple(key))), Serde("json", Struct(tuple(value)))


def ends(lane: Lane, channel: Channel, plan: Plan, relations: Mapping[str, Relation]) -> list[End]:
    """A lane's rows on their way into a channel."""
    relation = relations[channel.flow]
    if relation.kind is RelationKind.GROUPED_TABLE:
        return [_end(one, channel, relation, old=True) for one in group_changes(lane)]
    return [_end(lane, channel, relation, old=False)]


def _end(lane: Lane, channel: Channel, relation: Relation, old: bool) -> End:
    key_serde, value_serde = serdes(relation, old)
    key_fields = {"key": lane.key.struct()}
    if relation.window is not None:
        assert lane.window is not None
        key_fields |= {START: lane.window[0], END: lane.window[1]}
    value_fields = {"value": lane.value.struct()}
    if old:
        assert lane.old is not None
        value_fields["old"] = lane.old.struct()
    key = RowSql(key_fields, lane.key.missing)
    # A deletion is a null value, unless there is an old one to tell of.
    value = named_struct(value_fields) if old else RowSql(value_fields, lane.value.missing).struct()
    json = FORMATS["json"]
    return End(
        lane,
        string_sql(channel.topic),
        json.encode_sql(key.struct(), key_serde),
        json.encode_sql(value, value_serde),
    )


def group_changes(lane: Lane) -> list[Lane]:
    """A change of a grouped table as what its groups see: the old row leaves its group, the new one enters its own; one change if they are the same."""
    old, old_key = lane.old, lane.old_key
    assert old is not None and old_key is not None
    left = f"NOT ({old.is_null()}) AND NOT ({old_key.is_null()})"
    entered = f"NOT ({lane.value.is_null()}) AND NOT ({lane.key.is_null()})"
    same = " AND ".join(f"{lane.key.fields[name]} <=> {old_key.fields[name]}" for name in lane.key.fields) or "TRUE"
    left, entered, same = lane.trunk.columns([left, entered, same])
    both = f"{left} AND {entered} AND {same}"
    leaves = replace(
        lane.where(f"{left} AND NOT ({both})"), key=old_key, value=RowSql(lane.value.fields, "TRUE"), old_key=None
    )
    enters = replace(lane.where(entered), old=RowSql(old.fields, f"NOT ({both})"), old_key=None)
    return [leaves, enters]


def flow_lane(trunk: Trunk, relation: Relation, old: bool = False) -> Lane:
    """The rows of a channel as a lane."""
    key_serde, value_serde = serdes(relation, old)
    key_row, _, _ = decoded(trunk, "key", key_serde)
    value_row, _, _ = decoded(trunk, "value", value_serde)
    key = row_of(trunk.column(key_row.fields["key"]), relation.key.names)
    value = row_of(trunk.column(value_row.fields["value"]), relation.value.names)
    window = (key_row.fields[START], key_row.fields[END]) if relation.window is not None else None
    before = row_of(trunk.column(value_row.fields["old"]), relation.value.names) if old else None
    return Lane(trunk, key, value, "timestamp", old=before, window=window, place=PLACE)


def typed_end(lane: Lane, topic: str, key: Struct, value: Struct) -> End:
    """Rows of any types into a channel."""
    json = FORMATS["json"]
    return End(
        lane,
        string_sql(topic),
        json.encode_sql(named_struct({"key": lane.key.struct()}), Serde("json", Struct((Field("key", key),)))),
        json.encode_sql(named_struct({"value": lane.value.struct()}), Serde("json", Struct((Field("value", value),)))),
    )


def typed_lane(trunk: Trunk, key: Struct, value: Struct) -> Lane:
    """Rows of any types out of a channel."""
    key_row, _, _ = decoded(trunk, "key", Serde("json", Struct((Field("key", key),))))
    value_row, _, _ = decoded(trunk, "value", Serde("json", Struct((Field("value", value),))))
    return Lane(
        trunk,
        row_of(trunk.column(key_row.fields["key"]), key.names),
        row_of(trunk.column(value_row.fields["value"]), value.names),
        "timestamp",
        place=PLACE,
    )
