"""Joins with global tables: a look-up for each row, without state in the query. The table is an SQL function from its key to its row."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.formats import FORMATS
from headrace.functions import CATALOGUE
from headrace.functions.sql_text import cast_sql, expression_sql, quote
from headrace.plan import expressions as ex
from headrace.plan import steps as s
from headrace.plan.relations import Relation
from headrace.plan.scope import Place, Scope
from headrace.plan.types import Struct
from headrace.spark.lower.flow import Lane, RowSql
from headrace.spark.lower.texts import PythonNames, Texts, join_scope, meta_sql
from headrace.spark.pipeline_settings import PipelineSettings
from headrace.spark.stateful.global_tables import GlobalTableSpec, register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def registered(spark: SparkSession, step: s.GlobalTableSource, settings: PipelineSettings) -> str:
    """Makes the table's SQL function known to the session; its name."""
    key = FORMATS[step.key.format].decode_sql("key", step.key)
    value = FORMATS[step.value.format].decode_sql("value", step.value)
    errors = [
        part.error.replace("{parsed}", name) for part, name in ((key, "k"), (value, "v")) if part.error is not None
    ]
    spec = GlobalTableSpec(
        topic=step.topic,
        kafka={**settings.kafka, "bootstrap.servers": settings.bootstrap_servers},
        parse={"k": key.parse, "v": value.parse},
        key=key.row.replace("{parsed}", "k"),
        value=value.row.replace("{parsed}", "v"),
        error=f"coalesce({', '.join(errors)}, NULL)" if errors else "CAST(NULL AS STRING)",
    )
    # The same table has the same name after a restart, and takes the place of the one before.
    name = "headrace_global_" + hashlib.sha256(f"{step!r}{settings.bootstrap_servers}".encode()).hexdigest()[:16]
    return register(spark, name, spec).function


def lowered_global_join(
    step: s.GlobalTableJoin, lane: Lane, left: Relation, right: Relation, function: str, python: PythonNames
) -> Lane:
    """Each row with the table's row under its key. As in Kafka Streams, rows without a value are left out."""
    if lane.value.missing is not None:
        lane = lane.where(f"NOT ({lane.value.missing})")
    key = _key(step, lane, left, right, python)
    found = lane.trunk.column(f"{function}({key.struct()})")
    if step.kind is s.JoinKind.INNER:
        lane = lane.where(f"{found} IS NOT NULL")
    scope = join_scope(left, right)
    resolve = _resolver(scope, lane, key, found)
    texts = [expression_sql(one.expression, resolve, scope) for one in step.columns]
    names = lane.trunk.columns(texts)
    return replace(lane, value=RowSql(dict(zip((one.name for one in step.columns), names))))


def _key(step: s.GlobalTableJoin, lane: Lane, left: Relation, right: Relation, python: PythonNames) -> RowSql:
    """The table's key of a row: one expression for its only column, or a struct of all."""
    texts = Texts(Scope({None: left.row(), ex.Side.LEFT: left.row()}, CATALOGUE), python)
    sql = lane.trunk.column(texts.sql(step.key, lane))
    found = texts.type(step.key)
    if isinstance(found, Struct) and not (len(right.key.fields) == 1 and right.key.fields[0].type == found):
        fields = {to.name: f"{sql}.{quote(of.name)}" for to, of in zip(right.key, found)}
    else:
        (column,) = right.key.fields
        fields = {column.name: cast_sql(sql, found, column.type)}
    return RowSql(fields, f"{sql} IS NULL")


def _resolver(scope: Scope, lane: Lane, key: RowSql, found: str) -> Callable[[ex.Column | ex.RowMeta], str]:
    def resolve(node: ex.Column | ex.RowMeta) -> str:
        if isinstance(node, ex.RowMeta):
            return meta_sql(node.name, lane)
        place, _ = scope.find(node)
        if node.side is ex.Side.LEFT:
            return (lane.key if place is Place.KEY else lane.value).fields[node.name]
        if place is Place.KEY:
            return f"CASE WHEN {found} IS NOT NULL THEN {key.fields[node.name]} END"
        return f"{found}.{quote(node.name)}"

    return resolve
