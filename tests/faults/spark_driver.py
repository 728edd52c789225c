"""The driver process of the Spark kill test: starts a session and a workload's app as a pipeline, and says on standard output how far it is.

    python -m tests.faults.spark_driver '{"workload": "…", …}'

It is told to end by the end of its standard input. It prints one JSON object a line: `session` with the process id of Java, `running`,
`caught_up` whenever all that was in the topics at the time it names is processed, `failed` with the reason.
"""

from __future__ import annotations

import json
import select
import sys
import time
import traceback
from pathlib import Path

from confluent_kafka import KafkaException

from headrace.plan.engine import Guarantee
from headrace.spark.pipeline import PipelineSettings, RunningPipeline, start
from headrace.spark.session import SessionSettings, java_process, start_session, stop_session
from tests.faults.spark_workloads import Run, load

POLL_S = 0.5


def say(event: str, **more: object) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def main() -> int:
    run = Run(**json.loads(sys.argv[1]))
    spark = start_session(SessionSettings(checkpoint_dir=run.checkpoint_dir, log_file=Path(run.log_file)))
    try:
        java = java_process()
        assert java is not None
        say("session", java=java.pid)
        pipeline = start(spark, load(run.workload).app().plan(), settings(run))
        say("running", at=time.time())
        return follow(pipeline)
    except Exception as error:
        traceback.print_exc()
        say("failed", reason=f"{type(error).__name__}: {error}"[:2000])
        return 1
    finally:
        stop_session()


def settings(run: Run) -> PipelineSettings:
    return PipelineSettings(
        run.bootstrap_servers,
        run.checkpoint_dir,
        Guarantee(run.guarantee),
        # A broker that is killed is back within seconds; a task that waits longer than this is tried again.
        kafka={"reconnect.backoff.max.ms": "200", "retry.backoff.max.ms": "200"},
        trigger_ms=0,
        max_records_per_batch=run.max_records_per_batch,
        real_time=run.real_time_batch_ms > 0,
        real_time_batch_ms=run.real_time_batch_ms or PipelineSettings.real_time_batch_ms,
    )


def follow(pipeline: RunningPipeline) -> int:
    """Report until the input ends or a query fails."""
    while not select.select([sys.stdin], [], [], POLL_S)[0]:
        failure = pipeline.exception()
        if failure is not None:
            say("failed", reason=str(failure)[:2000])
            return 1
        at = time.time()
        if is_caught_up(pipeline):
            say("caught_up", at=at)
    pipeline.stop()
    return 0


def is_caught_up(pipeline: RunningPipeline) -> bool:
    """Whether all that is in its topics now is processed, and all that came of it in internal ones."""
    try:
        pipeline.await_processed(timeout_s=0)
    except (TimeoutError, KafkaException):  # the latter when the broker is being killed at this moment
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
