"""Users' processors: the keyed flow through Python's transformWithState, what they raise to the processing log."""

from __future__ import annotations

from headrace.functions.sql_text import spark_type
from headrace.plan import steps as s
from headrace.plan.plan import PlanError
from headrace.plan.python_code import CodeReferenceError, resolve
from headrace.plan.stages import Operator
from headrace.spark.lower.flow import Lane, Trunk, row_of
from headrace.spark.lower.ports import SHUFFLE_SLOT, Side, keyed_flow, port_lanes
from headrace.spark.lower.stage import StageRows


def lowered_process(stage: StageRows, operator: Operator) -> dict[str, list[Lane]]:
    """A custom processor. Rows without a key have no state to be processed with and do not reach it, as in Kafka Streams' stores."""
    from headrace.spark.python_processor import ProcessorTypes, PythonProcessor

    step = stage.plan.step(operator.step)
    assert isinstance(step, s.Process)
    relation, result = stage.relations[step.input], stage.relations[step.id]
    try:
        processor = resolve(step.processor, stage.settings.python_modules)
    except CodeReferenceError as error:
        raise PlanError(step.id, str(error)) from error
    lanes = [lane.where(f"NOT ({lane.key.is_null()})") for lane in port_lanes(stage, operator.ports[0])]
    flow = keyed_flow(stage, relation.key, Side(lanes, relation.value)).withWatermark("ts", "0 seconds")
    keys = [f"key.`{name.replace('`', '``')}` AS k{i}" for i, name in enumerate(relation.key.names)]
    # A number made of the watermark's column does not carry its mark, so Spark drops no row that it takes for late.
    rows = flow.selectExpr(*keys, "left", "unix_millis(ts) AS ts", "topic", "partition", "offset")
    types = ProcessorTypes(relation.key, relation.value, step.columns, step.key)
    output = (
        f"key {spark_type(result.key)}, value {spark_type(result.value)}, ts BIGINT, error STRING, "
        "topic STRING, partition INT, offset BIGINT"
    )
    processed = rows.groupBy(*(f"k{i}" for i in range(len(keys)))).transformWithState(
        PythonProcessor(processor, step.state, types), output, "update", "eventTime"
    )
    trunk = Trunk(step.id, SHUFFLE_SLOT, [step.id])
    stage.bases[trunk] = processed.selectExpr("key", "value", "timestamp_millis(ts) AS ts", "error")
    lane = Lane(trunk, row_of("key", result.key.names), row_of("value", result.value.names), "ts")
    trunk.bad_records("error", marked=False, record=("CAST(to_json(key) AS BINARY)", "CAST(NULL AS BINARY)"))
    return {step.id: [lane]}
