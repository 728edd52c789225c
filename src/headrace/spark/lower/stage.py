"""A stage of a plan as a DataFrame of sink rows: heads, stateless steps, the operator, stateless steps, ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from headrace.plan import steps as s
from headrace.plan.engine import Guarantee
from headrace.plan.expressions import Meta, RowMeta
from headrace.plan.plan import Plan
from headrace.plan.relations import Relation
from headrace.plan.stage_modes import Mode, expressions_of
from headrace.plan.stages import OperatorKind, Output, OutputKind, Stage
from headrace.plan.stores import stores
from headrace.spark import sources
from headrace.spark.lower import channels
from headrace.spark.lower.ends import End, sink_columns, sink_end, store_end
from headrace.spark.lower.flow import BadRecords, Lane, Trunk, applied
from headrace.spark.lower.global_tables import registered
from headrace.spark.lower.heads import source_lanes, topic_trunk
from headrace.spark.lower.stateless import Stateless
from headrace.spark.lower.texts import PythonNames
from headrace.spark.pipeline_settings import PipelineSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


Source = s.StreamSource | s.TableSource | s.GlobalTableSource
EXCHANGE_PORTS = ("subscription", "response")


def exchange_flow(step: str, port: str) -> str:
    """The flow of what the two stages of a foreign-key join tell each other; `~` is in no step's id."""
    return f"{step}~{port}"


@dataclass
class StageRows:
    """The lowering of one stage. `flows` holds the lanes of each flow so far, `bases` the DataFrame under each trunk."""

    spark: SparkSession
    plan: Plan
    relations: dict[str, Relation]
    stage: Stage
    settings: PipelineSettings
    python: PythonNames
    flows: dict[str, list[Lane]] = field(default_factory=dict)
    bases: dict[Trunk, DataFrame] = field(default_factory=dict)
    # Append is for Spark's own aggregates that hold their windows back; everything else updates.
    output_mode: str = "update"
    _global_functions: dict[str, str] = field(default_factory=dict)

    def rows(self) -> DataFrame:
        """What the stage writes."""
        from headrace.spark.lower.operators import lowered_operator

        self._heads()
        self._steps(self.stage.before)
        if self.stage.operator is not None:
            # What leads to the operator ends there; only what comes out of it goes on.
            lanes = lowered_operator(self, self.stage.operator)
            self.flows = lanes
            self._steps(self.stage.after)
        return self._sink_rows()

    def table(self, trunk: Trunk, columns: Sequence[str]) -> DataFrame:
        """The rows of a trunk with all its layers, and of these the columns asked for."""
        return applied(trunk, self.bases[trunk], self._bad_records).selectExpr(*columns)

    def lanes(self, flow: str) -> list[Lane]:
        return self.flows.get(flow, [])

    # Heads

    def _heads(self) -> None:
        by_topic: dict[str, list[Source]] = {}
        for name in self.stage.sources:
            step = self.plan.step(name)
            assert isinstance(step, Source)
            by_topic.setdefault(step.topic, []).append(step)
        for topic, steps in by_topic.items():
            trunk = topic_trunk(topic, [step.id for step in steps])
            self.bases[trunk] = self._read(topic, steps)
            lanes = source_lanes(trunk, [(step, self.relations[step.id]) for step in steps], self.python)
            self.flows |= {name: [lane] for name, lane in lanes.items()}
        for channel in self.stage.channels:
            if channel.port is None:
                trunk = topic_trunk(channel.topic, [channel.step])
                self.bases[trunk] = self.read_topic(channel.topic)
                self.flows[channel.step] = [channels.flow_lane(trunk, self.relations[channel.flow])]

    def _read(self, topic: str, steps: Sequence[Source]) -> DataFrame:
        resets = [step.offset_reset for step in steps if isinstance(step, s.StreamSource)]
        # A table is nothing without its beginning, so it decides where two steps read one topic.
        latest = len(resets) == len(steps) and all(reset is s.OffsetReset.LATEST for reset in resets)
        reset = s.OffsetReset.LATEST if latest else s.OffsetReset.EARLIEST
        return self.read_topic(topic, reset, self._headers_wanted())

    def _headers_wanted(self) -> bool:
        steps = [self.plan.step(name) for name in self.stage.steps]
        return any(
            isinstance(one, RowMeta) and one.name is Meta.HEADERS for step in steps for one in expressions_of(step)
        )

    def read_topic(self, topic: str, reset: s.OffsetReset = s.OffsetReset.EARLIEST, headers: bool = False) -> DataFrame:
        """A topic's records, each counted as it comes in."""
        from pyspark.sql import functions as sql

        from headrace.spark.meters import rows_in

        rows = sources.topic_rows(self.spark, topic, self.stage.mode, self.settings, reset, headers)
        counted = rows_in(self.spark, self.plan.name, sql.col("topic"), sql.col("partition"), sql.col("timestamp"))
        return rows.where(counted)

    def _bad_records(self, rows: DataFrame, layer: BadRecords) -> DataFrame:
        from pyspark.sql import functions as sql

        from headrace.spark.side_output import SideOutputSettings, only_good

        settings = SideOutputSettings(
            self.settings.bootstrap_servers, self.plan.name, self.settings.processing_log, dict(self.settings.kafka)
        )
        record = None
        if layer.record is not None:
            place = {
                "topic": sql.lit(self.stage.id),
                "partition": sql.lit(None).cast("int"),
                "offset": sql.lit(None).cast("bigint"),
            }
            record = {
                **place,
                "timestamp": sql.lit(None).cast("timestamp"),
                "key": sql.expr(layer.record[0]),
                "value": sql.expr(layer.record[1]),
            }
        good = only_good(self.spark, sql.col(layer.reason), settings, record)
        return rows.where(good) if layer.flag is None else rows.withColumn(layer.flag, good)

    # Steps

    def _steps(self, names: Iterable[str]) -> None:
        stateless = Stateless(self.relations, self.python, self._rules, self._global_function)
        for name in names:
            step = self.plan.step(name)
            inputs = (step.left,) if isinstance(step, s.GlobalTableJoin) else s.inputs(step)
            lanes = [lane for flow in inputs for lane in self.lanes(flow)]
            self.flows |= stateless.lower(step, lanes)

    def _global_function(self, name: str) -> str:
        if name not in self._global_functions:
            step = self.plan.step(name)
            assert isinstance(step, s.GlobalTableSource)
            self._global_functions[name] = registered(self.spark, step, self.settings)
        return self._global_functions[name]

    def _rules(self, step_id: str, trunk: Trunk) -> bool:
        """Whether nothing of the trunk leaves the stage, or its part before the operator, but through this step."""
        if self.stage.operator is not None and self.stage.operator.kind is OperatorKind.FOREIGN_KEY_LEFT:
            return False  # its questions to the right stage leave beside every step
        reached = set(trunk.heads)
        for name in (*self.stage.before, *self.stage.after):
            step = self.plan.step(name)
            if name != step_id and reached.intersection(s.inputs(step)):
                reached.add(name)
                if isinstance(step, s.Branch):
                    reached.update(f"{name}.{case.name}" for case in step.branches)
        return not reached.intersection(self._ends_of(trunk))

    def _ends_of(self, trunk: Trunk) -> set[str]:
        operator = self.stage.operator
        if operator is not None and operator.step not in trunk.heads:
            return {port.flow for port in operator.ports}
        return {output.flow for output in self.stage.outputs}

    # Ends

    def _sink_rows(self) -> DataFrame:
        by_trunk: dict[Trunk, list[End]] = {}
        for output in self.stage.outputs:
            for end in self._output_ends(output):
                by_trunk.setdefault(end.lane.trunk, []).append(end)
        parts = []
        for trunk, ends in by_trunk.items():
            columns = sink_columns(trunk, ends, self.settings.guarantee == Guarantee.EXACTLY_ONCE)
            parts.append(self.table(trunk, columns))
        return reduce(lambda left, right: left.unionByName(right), parts)

    def _output_ends(self, output: Output) -> list[End]:
        lanes = self.lanes(output.flow)
        if output.kind is OutputKind.SINK:
            step = self.plan.step(output.step)
            assert isinstance(step, s.Sink)
            return [sink_end(lane, step, self.relations[output.flow], self.python) for lane in lanes]
        if output.kind is OutputKind.CHANGELOG:
            store = next(one for one in stores(self.plan, self.relations).values() if one.topic == output.topic)
            return [store_end(lane, store) for lane in lanes]
        assert output.channel is not None
        if output.channel.port in EXCHANGE_PORTS:
            from headrace.spark.lower.foreign_keys import channel_structs

            key, value = channel_structs(self, output.channel)
            exchanged = self.lanes(exchange_flow(output.step, output.channel.port))
            return [channels.typed_end(lane, output.topic, key, value) for lane in exchanged]
        return [end for lane in lanes for end in channels.ends(lane, output.channel, self.plan, self.relations)]

    @property
    def is_real_time(self) -> bool:
        return self.stage.mode is Mode.REAL_TIME
