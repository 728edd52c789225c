"""A plan as running Spark queries: `start` checks it, creates its topics, lowers its stages and starts one query for each.

Queries run in sessions of their own inside the shared Spark, one for each set of settings: what they count on is nobody else's.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.formats import FORMATS
from headrace.functions import CATALOGUE
from headrace.plan import steps as s
from headrace.plan.expressions import PythonCall
from headrace.plan.plan import Plan
from headrace.plan.relations import Relation, relations
from headrace.plan.stage_modes import Mode, expressions_of
from headrace.plan.stages import OutputKind, Stage, stages
from headrace.plan.upgrade import fingerprint, misfits
from headrace.spark import meters
from headrace.spark.checkpoints import Checkpoints
from headrace.spark.lower.stage import StageRows
from headrace.spark.pipeline_errors import PipelineError, explained
from headrace.spark.pipeline_settings import PipelineSettings
from headrace.spark.python_functions import PythonFunctions
from headrace.spark.running import RunningPipeline
from headrace.spark.sinks import Guarantee as SinkGuarantee
from headrace.spark.sinks import SinkSettings, kafka_sink
from headrace.spark.slots import reserve
from headrace.spark.topics import NewTopic, Topics, new_topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["PipelineError", "PipelineSettings", "RunningPipeline", "reset", "start"]

log = logging.getLogger(__name__)
_starting = threading.Lock()
_sessions: dict[tuple[object, ...], SparkSession] = {}


def start(spark: SparkSession, plan: Plan, settings: PipelineSettings) -> RunningPipeline:
    """Run a plan. Raises `PlanError` for what is wrong with it, `TopicError` or `PipelineError` for what is wrong around it."""
    known = relations(plan, CATALOGUE, FORMATS)
    cut = stages(plan, known, settings)
    partitions = _prepare_topics(plan, cut, settings)
    release = reserve(spark, plan, cut, partitions, settings.shuffle_partitions)
    running = RunningPipeline(spark, plan, cut, settings, release)
    try:
        session = _session(spark, settings)
        checkpoints = Checkpoints(session, settings.checkpoint_dir, plan.name)
        _check_state(plan, cut, known, settings, checkpoints)
        meters.forget(spark, plan.name)
        for stage in cut:
            running.add(stage, _start_stage(session, plan, known, stage, settings, checkpoints))
    except BaseException:
        running.stop()
        raise
    return running


def reset(plan: Plan, settings: PipelineSettings) -> None:
    """Forget what a pipeline knows: its checkpoints and internal topics. It must not be running; its output stays."""
    known = relations(plan, CATALOGUE)
    internal = {
        output.topic
        for stage in stages(plan, known, settings)
        for output in stage.outputs
        if output.kind is not OutputKind.SINK
    }
    Topics(settings).delete(sorted(internal))
    directory = settings.checkpoint_dir
    if "://" not in directory:
        shutil.rmtree(Path(directory) / plan.name, ignore_errors=True)
        return
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise PipelineError(plan.name, "", f"its checkpoints in {directory} can be removed only while Spark runs")
    Checkpoints(session, directory, plan.name).delete()


def _prepare_topics(plan: Plan, cut: tuple[Stage, ...], settings: PipelineSettings) -> Mapping[str, int]:
    topics = Topics(settings)
    partitions = topics.partitions()
    topics.check_sources(plan, partitions)
    wanted = new_topics(plan, cut, partitions)
    if settings.processing_log not in partitions:
        wanted.append(NewTopic(settings.processing_log, 1))
    topics.create(wanted)
    return {**partitions, **{one.name: one.partitions for one in wanted}}


def _session(spark: SparkSession, settings: PipelineSettings) -> SparkSession:
    """A session with the settings of these queries. Spark forgets no session that ran a query, so those of equal settings share one."""
    configuration = session_configuration(settings)
    known = (spark.sparkContext.applicationId, *sorted(configuration.items()))
    with _starting:
        for other in [one for one in _sessions if one[0] != known[0]]:
            del _sessions[other]  # of a Spark that has ended
        if known not in _sessions:
            session = spark.newSession()
            for name, value in configuration.items():
                session.conf.set(name, value)
            _sessions[known] = session
        return _sessions[known]


def session_configuration(settings: PipelineSettings) -> dict[str, str]:
    """What the SQL of a plan and its queries count on."""
    streaming = "spark.sql.streaming"
    configuration = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.caseSensitive": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        # A filter that is pushed below the decoding of a record decodes it twice; ours stand where they belong.
        "spark.sql.optimizer.excludedRules": ",".join(
            f"org.apache.spark.sql.catalyst.optimizer.{rule}"
            for rule in ("PushDownPredicates", "PushPredicateThroughNonJoin")
        ),
        f"{streaming}.useStreamlineAggregator": str(settings.every_update).lower(),
        # With one operator a query, what is late is measured by the watermark of this batch, not by that of the one before.
        f"{streaming}.statefulOperator.allowMultiple": "false",
        f"{streaming}.metricsEnabled": "false",
        # A query is planned again for every batch. What nobody reads, and checks of Spark's own rules, are left out of that.
        "spark.sql.ui.explainMode": "simple",
        "spark.sql.lightweightPlanChangeValidation": "false",
        "spark.sql.exchange.reuse": "false",
    }
    if settings.real_time_batch_ms < 5_000:
        configuration[f"{streaming}.realTimeMode.minBatchDuration"] = f"{settings.real_time_batch_ms}ms"
    return configuration


def _check_state(
    plan: Plan,
    cut: tuple[Stage, ...],
    known: Mapping[str, Relation],
    settings: PipelineSettings,
    checkpoints: Checkpoints,
) -> None:
    """Refuse a checkpoint that was written for something else, before Spark does it in its own words; remember what new ones are for, and mend what a crash left."""
    for stage in cut:
        wanted = fingerprint(plan, stage, known, settings.shuffle_partitions)
        found = checkpoints.fingerprint(stage.id)
        reasons = misfits(stage, found, wanted) if found is not None else []
        if reasons:
            raise PipelineError(
                plan.name,
                stage.id,
                f"{'; '.join(reasons)}. Reset the pipeline (`headrace stream reset {plan.name}`, which processes its input anew) or give it another name",
            )
        if found != wanted:
            checkpoints.remember(stage.id, wanted)
        checkpoints.tidy(stage.id)


def _start_stage(
    session: SparkSession,
    plan: Plan,
    known: dict[str, Relation],
    stage: Stage,
    settings: PipelineSettings,
    checkpoints: Checkpoints,
) -> StreamingQuery:
    functions = PythonFunctions(session, settings.python_modules)
    # Spark reads the settings of the thread's active session while it analyses and starts a query.
    jvm: Any = session._jvm
    jvm.org.apache.spark.sql.SparkSession.setActiveSession(session._jsparkSession)
    try:
        lowered = StageRows(session, plan, known, stage, settings, functions.name)
        return _query(lowered, settings, checkpoints)
    except PipelineError:
        raise
    except Exception as error:
        if type(error).__module__.startswith(("pyspark", "py4j")):
            raise explained(plan.name, stage.id, error) from error
        raise


def is_repeatable(plan: Plan, stage: Stage) -> bool:
    """Whether a batch that is repeated after a crash must give the same rows: not where global tables or users' code have moved on meanwhile."""
    steps = [plan.step(name) for name in stage.steps]
    return not any(
        isinstance(step, s.GlobalTableJoin | s.Process)
        or any(isinstance(one, PythonCall) for one in expressions_of(step))
        for step in steps
    )


def _query(lowered: StageRows, settings: PipelineSettings, checkpoints: Checkpoints) -> StreamingQuery:
    plan, stage = lowered.plan, lowered.stage
    rows = lowered.rows()
    sink = SinkSettings(
        bootstrap_servers=settings.bootstrap_servers,
        checkpoint_location=checkpoints.location(stage.id),
        pipeline=plan.name,
        guarantee=SinkGuarantee(str(settings.guarantee)),
        kafka=dict(settings.kafka),
        check_replay=is_repeatable(plan, stage),
    )
    writer: Any = kafka_sink(rows, sink).queryName(f"{plan.name}/{stage.id}")
    writer = writer.outputMode(lowered.output_mode)
    if stage.mode is Mode.REAL_TIME:
        writer = writer.trigger(realTime=f"{settings.real_time_batch_ms} milliseconds")
    else:
        writer = writer.trigger(processingTime=f"{settings.trigger_ms} milliseconds")
    query: StreamingQuery = writer.start()
    return query
