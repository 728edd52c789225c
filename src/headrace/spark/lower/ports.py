"""What stands at the ports of an operator: the lanes of this stage and those that come through an internal topic.

Processors take a keyed flow: `key, side, left, right, ts, topic, partition, offset`. Only the columns that the operator uses go along: what
is not carried through the shuffle costs nothing. A window is part of the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from headrace.functions.sql_text import quote, spark_type
from headrace.plan.relations import Relation
from headrace.plan.stages import Port
from headrace.plan.types import BIGINT, Field, Struct
from headrace.spark.lower import channels
from headrace.spark.lower.flow import Lane, RowSql, Trunk, row_of
from headrace.spark.lower.heads import topic_trunk
from headrace.spark.lower.routes import Routed, routed
from headrace.spark.lower.stage import StageRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW_START, WINDOW_END = "window start", "window end"
SHUFFLE_SLOT = "CAST(spark_partition_id() AS STRING)"


@dataclass(frozen=True)
class Side:
    """One side of an operator's input: its lanes, and the value columns that the operator uses."""

    lanes: Sequence[Lane]
    columns: Struct


def port_lanes(stage: StageRows, port: Port) -> list[Lane]:
    """All lanes into a port."""
    lanes = list(stage.lanes(port.flow)) if port.direct else []
    if port.channel is not None:
        trunk = channel_trunk(stage, port)
        lanes.append(channels.flow_lane(trunk, stage.relations[port.flow], port.old))
    return lanes


def channel_trunk(stage: StageRows, port: Port) -> Trunk:
    assert port.channel is not None
    trunk = topic_trunk(port.channel.topic, [port.channel.topic])
    stage.bases[trunk] = stage.read_topic(port.channel.topic)
    return trunk


def by_trunk(lanes: Iterable[Lane]) -> dict[Trunk, list[Lane]]:
    found: dict[Trunk, list[Lane]] = {}
    for lane in lanes:
        found.setdefault(lane.trunk, []).append(lane)
    return found


def key_struct(relation: Relation) -> Struct:
    """The key that an operator groups by: the relation's, with its window."""
    if relation.window is None:
        return relation.key
    return Struct((*relation.key.fields, Field(WINDOW_START, BIGINT), Field(WINDOW_END, BIGINT)))


def keyed_flow(
    stage: StageRows,
    key: Struct,
    left: Side,
    right: Side | None = None,
    undo: bool = False,
    windows: bool = False,
) -> DataFrame:
    """The input of a processor. `undo`: the right side of a row is the value before, which a fold takes out. `windows`: the bounds of
    windows are columns."""
    sides = [left.columns, right.columns if right else None]
    routes: dict[Trunk, list[Routed]] = {}
    for number, side in enumerate([left] if undo else [left, right]):
        for lane in side.lanes if side else ():
            columns = _flow_columns(lane, number, key, sides, undo)
            if windows:
                assert lane.window is not None
                columns |= {"window_start": lane.window[0], "window_end": lane.window[1]}
            routes.setdefault(lane.trunk, []).append((lane, columns))
    parts = []
    for trunk, lanes in routes.items():
        columns = routed(trunk, lanes)
        parts.append(stage.table(trunk, [f"{sql} AS {quote(name)}" for name, sql in columns.items()]))
    return reduce(lambda one, other: one.unionByName(other), parts)


def _flow_columns(lane: Lane, number: int, key: Struct, sides: Sequence[Struct | None], undo: bool) -> dict[str, str]:
    columns = {"key": operator_key(lane, key).struct(), "side": str(number)}
    rows = {number: lane.value} | ({1: lane.old} if undo else {})
    for name, at in (("left", 0), ("right", 1)):
        struct = sides[at]
        if struct is None:
            continue
        row = rows.get(at)
        sql = "NULL" if row is None else narrowed(row, struct).struct()
        columns[name] = f"CAST({sql} AS {spark_type(struct)})" if row is None else sql
    place = {"topic": "topic", "partition": "partition", "offset": "offset"}
    return {**columns, "ts": lane.ts, **place}


def operator_key(lane: Lane, key: Struct) -> RowSql:
    """A lane's key under the operator's names, with its window."""
    values = [*lane.key.fields.values(), *(lane.window or ())]
    return RowSql(dict(zip(key.names, values)), lane.key.missing)


def narrowed(row: RowSql, columns: Struct) -> RowSql:
    """A row with only these columns."""
    if tuple(row.fields) == columns.names:
        return row
    return RowSql({name: row.fields[name] for name in columns.names}, row.missing)


def output_lane(stage: StageRows, rows: DataFrame, step: str, relation: Relation, old: bool, windowed: bool) -> Lane:
    """What a processor gives as a lane. `windowed`: the processor made the window, so its bounds are columns and not part of the key."""
    trunk = Trunk(step, SHUFFLE_SLOT, [step])
    stage.bases[trunk] = rows
    key = row_of("key", relation.key.names)
    window = None
    if relation.window is not None:
        bounds = ("window_start", "window_end")
        window = bounds if windowed else (f"key.{quote(WINDOW_START)}", f"key.{quote(WINDOW_END)}")
        if not windowed:
            key = RowSql(key.fields, key.missing)
    value = row_of("value", relation.value.names)
    before = row_of("old", relation.value.names) if old else None
    return Lane(trunk, key, value, "ts", old=before, window=window)
