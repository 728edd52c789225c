"""The foreign-key join: the left stage keeps the left table and asks, the right stage keeps the right table and answers, through two internal topics."""

from __future__ import annotations

from collections.abc import Callable

from headrace.functions import CATALOGUE
from headrace.functions.sql_text import cast_sql, expression_sql, quote, spark_type
from headrace.plan import expressions as ex
from headrace.plan import steps as s
from headrace.plan.relations import Relation
from headrace.plan.scope import Place, Scope, expression_type
from headrace.plan.stage_modes import expressions_of
from headrace.plan.stages import Channel, Operator
from headrace.plan.types import BIGINT, INTEGER, Field, Struct
from headrace.spark.lower import channels
from headrace.spark.lower.flow import Lane, RowSql, Trunk, named_struct, row_of
from headrace.spark.lower.joins import result_sql, some_of, used_columns
from headrace.spark.lower.ports import SHUFFLE_SLOT, Side, channel_trunk, keyed_flow, output_lane, port_lanes
from headrace.spark.lower.stage import StageRows, exchange_flow
from headrace.spark.stateful.joins import (
    RESULTS,
    SUBSCRIPTIONS,
    ForeignKeyJoinSpec,
    foreign_key_left,
    foreign_key_right,
)

_HASHES = (Field("hash_high", BIGINT), Field("hash_low", BIGINT))


def lowered_left(stage: StageRows, operator: Operator) -> dict[str, list[Lane]]:
    """The left table and the answers in; the joined table and the questions out."""
    step = _step(stage, operator)
    left = stage.relations[step.left]
    port, response = operator.ports
    flow = keyed_flow(
        stage,
        left.key,
        Side(port_lanes(stage, port), _left_columns(stage, step)),
        Side([_channel_lane(stage, step, response.name, channel_trunk(stage, response))], _response(stage, step)),
    )
    rows = foreign_key_left(flow, _spec(stage, step, operator.old))
    lane = output_lane(stage, rows, step.id, stage.relations[step.id], operator.old, windowed=False)
    asked = Lane(
        lane.trunk,
        row_of(SUBSCRIPTIONS.key, stage.relations[step.right].key.names),
        RowSql({field.name: "" for field in _subscription(left)}, None, SUBSCRIPTIONS.value),
        SUBSCRIPTIONS.ts,
        (SUBSCRIPTIONS.condition,),
    )
    return {step.id: [lane.where(RESULTS.condition)], exchange_flow(step.id, "subscription"): [asked]}


def lowered_right(stage: StageRows, operator: Operator) -> dict[str, list[Lane]]:
    """The questions and the right table in; the answers out."""
    step = _step(stage, operator)
    left, right = stage.relations[step.left], stage.relations[step.right]
    subscription, port = operator.ports
    flow = keyed_flow(
        stage,
        right.key,
        Side([_channel_lane(stage, step, subscription.name, channel_trunk(stage, subscription))], _subscription(left)),
        Side(port_lanes(stage, port), _right_columns(stage, step)),
    )
    rows = foreign_key_right(flow, _spec(stage, step, False))
    trunk = Trunk(operator.id, SHUFFLE_SLOT, [operator.id])
    stage.bases[trunk] = rows
    answers = Lane(trunk, row_of("key", left.key.names), row_of("value", _response(stage, step).names), "ts")
    return {exchange_flow(step.id, "response"): [answers]}


def channel_structs(stage: StageRows, channel: Channel) -> tuple[Struct, Struct]:
    """Key and value of the topics between the two stages."""
    step = stage.plan.step(channel.step)
    assert isinstance(step, s.ForeignKeyJoin)
    if channel.port == "subscription":
        return stage.relations[step.right].key, _subscription(stage.relations[step.left])
    return stage.relations[step.left].key, _response(stage, step)


def _channel_lane(stage: StageRows, step: s.ForeignKeyJoin, port: str, trunk: Trunk) -> Lane:
    key, value = channel_structs(stage, Channel("", step.id, port, ""))
    return channels.typed_lane(trunk, key, value)


def _step(stage: StageRows, operator: Operator) -> s.ForeignKeyJoin:
    step = stage.plan.step(operator.step)
    assert isinstance(step, s.ForeignKeyJoin)
    return step


def _spec(stage: StageRows, step: s.ForeignKeyJoin, old: bool) -> ForeignKeyJoinSpec:
    left, right = stage.relations[step.left], stage.relations[step.right]
    return ForeignKeyJoinSpec(
        step.id,
        stage.plan.name,
        step.kind.value,  # type: ignore[arg-type]
        result_sql(step.columns, left, right, left.key),
        _foreign_key_sql(step, left, right),
        ddl(right.key),
        old,
    )


def _foreign_key_scope(left: Relation) -> Scope:
    return Scope({None: left.row(), ex.Side.LEFT: left.row()}, CATALOGUE)


def _foreign_key_sql(step: s.ForeignKeyJoin, left: Relation, right: Relation) -> str:
    """The right table's key, as a struct, over `key` and `left`."""
    scope = _foreign_key_scope(left)
    sql = expression_sql(step.foreign_key, _left_resolver(scope), scope)
    found = expression_type(step.foreign_key, scope)
    if isinstance(found, Struct) and len(right.key.fields) != 1:
        return f"CAST({sql} AS {spark_type(right.key)})"
    (field,) = right.key.fields
    return f"CASE WHEN {sql} IS NOT NULL THEN {named_struct({field.name: cast_sql(sql, found, field.type)})} END"


def _left_resolver(scope: Scope) -> Callable[[ex.Column | ex.RowMeta], str]:
    def resolve(node: ex.Column | ex.RowMeta) -> str:
        if isinstance(node, ex.RowMeta):
            return "left_ts"
        return f"{'left' if scope.find(node)[0] is Place.VALUE else 'key'}.{quote(node.name)}"

    return resolve


def _left_columns(stage: StageRows, step: s.ForeignKeyJoin) -> Struct:
    left = stage.relations[step.left]
    used, _ = used_columns(step.columns, left, stage.relations[step.right])
    scope = _foreign_key_scope(left)
    key_columns = {
        one.name
        for one in expressions_of(step.foreign_key)
        if isinstance(one, ex.Column) and scope.find(one)[0] is Place.VALUE
    }
    return some_of(left.value, {*used.names, *key_columns})


def _right_columns(stage: StageRows, step: s.ForeignKeyJoin) -> Struct:
    return used_columns(step.columns, stage.relations[step.left], stage.relations[step.right])[1]


def _subscription(left: Relation) -> Struct:
    return Struct((Field("left_key", left.key), Field("instruction", INTEGER), *_HASHES))


def _response(stage: StageRows, step: s.ForeignKeyJoin) -> Struct:
    return Struct((Field("right", _right_columns(stage, step)), *_HASHES))


def ddl(columns: Struct) -> str:
    """Columns as Spark DDL."""
    return ", ".join(f"{quote(field.name)} {spark_type(field.type)}" for field in columns)
