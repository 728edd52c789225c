"""Keeps running what is wanted.

One thread owns all state of the supervisor; callers hand it work and wait for the outcome. What takes long (starting and stopping queries, starting Spark)
is done by a few worker threads that hand their outcome back as work for the owner. Durable decisions are written to the
pipeline log before they take effect, so that a crash at any point ends as the log says.
"""

from __future__ import annotations

import dataclasses
import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from headrace.engine.backoff import Backoff
from headrace.engine.record import PipelineRecord
from headrace.engine.runner import Runner, Running
from headrace.plan.engine import (
    DesiredState,
    EngineError,
    PipelineState,
    PipelineStatus,
    PlanDoesNotFit,
    Submission,
    UnknownPipeline,
)

log = logging.getLogger(__name__)
T = TypeVar("T")

TICK_S = 0.5
ANSWER_TIMEOUT_S = 120.0
WORKERS = 4
LOOK_MS = 10_000


@dataclass
class Supervised:
    """A pipeline that is wanted, and what it does."""

    record: PipelineRecord
    state: PipelineState = PipelineState.WAITING
    running: Running | None = None
    error: str | None = None
    retry_at_ms: int | None = None
    restarts: int = 0
    # Counts changes of mind: the outcome of a start that nobody wants any more is recognised by it.
    turn: int = 0
    backoff: Backoff = field(default_factory=Backoff)
    # What the log has been told since the last start, and when to look again.
    warned: set[str] = field(default_factory=set)
    look_at_ms: int = 0

    def status(self) -> PipelineStatus:
        record = self.record
        return PipelineStatus(
            name=record.name,
            desired=record.desired,
            state=self.state,
            guarantee=record.guarantee,
            revision=record.revision,
            submitted_at_ms=record.submitted_at_ms,
            restarts=self.restarts,
            error=self.error,
            retry_at_ms=self.retry_at_ms,
        )


class Supervisor:
    """`remember(name, record or None)` makes a decision durable; `fits(old, new)` lists why a new plan cannot use the old one's state."""

    def __init__(
        self,
        runner: Runner,
        remember: Callable[[str, PipelineRecord | None], None],
        fits: Callable[[PipelineRecord, PipelineRecord], tuple[str, ...]],
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self._runner = runner
        self._remember = remember
        self._fits = fits
        self._now_ms = now_ms
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="pipeline")
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)
        self._pipelines: dict[str, Supervised] = {}
        self._ready = False
        self._opening = False
        self._owner = False
        # Queries that are being stopped, by pipeline: nothing new starts on their checkpoints before they are gone.
        self._stopping: Counter[str] = Counter()
        self._open_backoff = Backoff()
        self._open_at_ms: int | None = None
        self.problem: str | None = "Spark is starting"

    # What others call, from any thread.

    def start(self) -> None:
        self._thread.start()
        self._work.put(self._open)

    def close(self) -> None:
        """Stop all queries and Spark; what is wanted stays in the log for the next start."""
        self._work.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def own(self, records: Mapping[str, PipelineRecord]) -> None:
        """This engine runs the pipelines from now on."""
        self._work.put(lambda: self._own(dict(records)))

    def disown(self, reason: str) -> None:
        """Another engine does; stop everything here."""
        self._work.put(lambda: self._disown(reason))

    def submit(self, submission: Submission) -> PipelineStatus:
        return self._ask(lambda: self._submit(submission))

    def pipelines(self) -> tuple[PipelineStatus, ...]:
        return self._ask(lambda: tuple(self._pipelines[name].status() for name in sorted(self._pipelines)))

    def status(self, name: str) -> PipelineStatus:
        return self._ask(lambda: self._find(name).status())

    def record(self, name: str) -> PipelineRecord:
        return self._ask(lambda: self._find(name).record)

    def progress(self, name: str) -> Mapping[str, Any]:
        """Asked of the running pipeline outside the owner's thread: Spark may take its time."""
        running = self._ask(lambda: self._find(name).running)
        return running.progress() if running is not None else {}

    def pause(self, name: str) -> PipelineStatus:
        return self._ask(lambda: self._want(name, DesiredState.PAUSED))

    def resume(self, name: str) -> PipelineStatus:
        return self._ask(lambda: self._want(name, DesiredState.RUNNING))

    def restart(self, name: str) -> PipelineStatus:
        return self._ask(lambda: self._restart(name))

    def stop(self, name: str) -> None:
        self._ask(lambda: self._stop(name))

    def reset(self, name: str) -> PipelineStatus:
        return self._ask(lambda: self._reset(name))

    # The owner's thread.

    def _run(self) -> None:
        while True:
            try:
                work = self._work.get(timeout=TICK_S)
            except queue.Empty:
                self._tick()
                continue
            if work is None:
                break
            work()
            self._tick()
        self._shut_down()

    def _ask(self, question: Callable[[], T]) -> T:
        answer: Future[T] = Future()

        def work() -> None:
            try:
                answer.set_result(question())
            except BaseException as error:
                answer.set_exception(error)

        self._work.put(work)
        try:
            return answer.result(ANSWER_TIMEOUT_S)
        except TimeoutError:
            raise EngineError(f"the engine gave no answer within {ANSWER_TIMEOUT_S:.0f} s; see its log") from None

    def _open(self) -> None:
        self._opening, self._ready, self._open_at_ms = True, False, None

        def reopen() -> None:
            self._runner.close()
            self._runner.open()

        self._in_background(reopen, self._opened)

    def _opened(self, error: BaseException | None, _result: None) -> None:
        self._opening = False
        if error is None:
            self._ready, self.problem = True, None
            self._open_backoff.started(self._now_ms())
            return
        log.error("Spark did not start: %s", error)
        self.problem = f"Spark did not start: {error}"
        self._open_at_ms = self._open_backoff.failed(self._now_ms())

    def _own(self, records: dict[str, PipelineRecord]) -> None:
        self._owner = True
        self._pipelines = {name: Supervised(record, _resting_state(record)) for name, record in records.items()}

    def _disown(self, reason: str) -> None:
        self._owner = False
        if self._pipelines:
            log.warning("all pipelines stop here: %s", reason)
        for pipeline in self._pipelines.values():
            self._halt(pipeline, _resting_state(pipeline.record))

    def _find(self, name: str) -> Supervised:
        if name not in self._pipelines:
            known = ", ".join(sorted(self._pipelines)) or "none"
            raise UnknownPipeline(f"there is no pipeline {name!r}; there are: {known}")
        return self._pipelines[name]

    def _must_own(self) -> None:
        if not self._owner:
            raise EngineError(
                "this engine does not run the pipelines of its cluster (another one does, or no broker is reachable); ask the other, or stop it"
            )

    def _submit(self, submission: Submission) -> PipelineStatus:
        self._must_own()
        record = PipelineRecord(
            plan=submission.plan,
            guarantee=submission.guarantee,
            desired=DesiredState.RUNNING,
            submitted_at_ms=self._now_ms(),
            settings=dict(submission.settings),
        )
        old = self._pipelines.get(record.name)
        if old is not None:
            record = self._next_revision(old.record, record)
        self._remember(record.name, record)
        if old is not None:
            self._halt(old, PipelineState.WAITING)
            old.record, old.error, old.retry_at_ms, old.backoff = record, None, None, Backoff()
        else:
            self._pipelines[record.name] = Supervised(record)
        return self._pipelines[record.name].status()

    def _next_revision(self, old: PipelineRecord, new: PipelineRecord) -> PipelineRecord:
        reasons = self._fits(old, new)
        if reasons:
            raise PlanDoesNotFit(new.name, reasons)
        return dataclasses.replace(new, revision=old.revision + 1, epoch=old.epoch)

    def _want(self, name: str, desired: DesiredState) -> PipelineStatus:
        self._must_own()
        pipeline = self._find(name)
        if pipeline.record.desired is not desired:
            record = pipeline.record.wanted(desired)
            self._remember(name, record)
            pipeline.record = record
        if desired is DesiredState.PAUSED:
            self._halt(pipeline, PipelineState.PAUSED)
        else:
            pipeline.retry_at_ms = None
        return pipeline.status()

    def _restart(self, name: str) -> PipelineStatus:
        self._must_own()
        pipeline = self._find(name)
        if pipeline.record.desired is DesiredState.PAUSED:
            raise EngineError(f"{name!r} is paused: resume it instead")
        self._halt(pipeline, PipelineState.WAITING)
        pipeline.backoff = Backoff()
        return pipeline.status()

    def _stop(self, name: str) -> None:
        self._must_own()
        pipeline = self._find(name)
        self._remember(name, None)
        self._halt(pipeline, PipelineState.STOPPING)
        del self._pipelines[name]

    def _reset(self, name: str) -> PipelineStatus:
        self._must_own()
        pipeline = self._find(name)
        if pipeline.record.desired is not DesiredState.PAUSED or pipeline.state is not PipelineState.PAUSED:
            raise EngineError(f"{name!r} must be paused before it is reset: `headrace stream pause {name}`")
        self._runner.forget(pipeline.record)
        record = dataclasses.replace(pipeline.record, epoch=pipeline.record.epoch + 1)
        self._remember(name, record)
        pipeline.record = record
        return pipeline.status()

    def _halt(self, pipeline: Supervised, state: PipelineState) -> None:
        """Stop its queries, if there are any, and take it from there in `state`."""
        pipeline.turn += 1
        pipeline.error, pipeline.retry_at_ms = None, None
        running, pipeline.running = pipeline.running, None
        if running is None:
            pipeline.state = state
            return
        pipeline.state = PipelineState.STOPPING
        turn = pipeline.turn

        def stopped() -> None:
            if pipeline.turn == turn:
                pipeline.state = state

        self._end(pipeline.record.name, running, stopped)

    def _end(self, name: str, running: Running, then: Callable[[], None] = lambda: None) -> None:
        """Stop queries in the background."""
        self._stopping[name] += 1

        def stopped(error: BaseException | None, _result: None) -> None:
            self._stopping[name] -= 1
            if error is not None:
                log.error("%s: stopping its queries failed: %s", name, error)
            then()

        self._in_background(running.stop, stopped)

    def _tick(self) -> None:
        """Start what should run, notice what ended, revive Spark."""
        now = self._now_ms()
        if self._open_at_ms is not None and now >= self._open_at_ms:
            self._open()
        for pipeline in list(self._pipelines.values()):
            self._notice_end(pipeline, now)
        if self._ready and self._owner:
            for pipeline in self._pipelines.values():
                self._start_if_due(pipeline, now)

    def _notice_end(self, pipeline: Supervised, now: int) -> None:
        if pipeline.state is not PipelineState.RUNNING or pipeline.running is None:
            return
        error = pipeline.running.exception()
        if error is not None:
            running, pipeline.running = pipeline.running, None
            self._end(pipeline.record.name, running)
            self._failed(pipeline, error, now)
        elif now >= pipeline.look_at_ms:
            pipeline.look_at_ms = now + LOOK_MS
            self._pass_on_warnings(pipeline, pipeline.running)

    def _pass_on_warnings(self, pipeline: Supervised, running: Running) -> None:
        """Each thing once per start; figures that grow are in the pipeline's progress."""
        for about, text in running.warnings().items():
            if about not in pipeline.warned:
                pipeline.warned.add(about)
                log.warning("%s: %s", pipeline.record.name, text)

    def _failed(self, pipeline: Supervised, error: BaseException, now: int) -> None:
        pipeline.turn += 1
        pipeline.state, pipeline.error = PipelineState.FAILED, str(error) or type(error).__name__
        pipeline.retry_at_ms = pipeline.backoff.failed(now)
        log.error("%s failed, next try in %d s: %s", pipeline.record.name, (pipeline.retry_at_ms - now) / 1000, error)
        if self._ready and not self._opening and not self._runner.alive():
            self._revive()

    def _revive(self) -> None:
        log.error("Spark is gone; starting it again")
        for pipeline in self._pipelines.values():
            pipeline.turn += 1
            pipeline.running = None
            if pipeline.state is not PipelineState.PAUSED:
                pipeline.state = PipelineState.WAITING
        self.problem = "Spark is gone and is being started again"
        self._open()

    def _start_if_due(self, pipeline: Supervised, now: int) -> None:
        if pipeline.record.desired is not DesiredState.RUNNING or self._stopping[pipeline.record.name]:
            return
        if pipeline.state is PipelineState.FAILED and now < (pipeline.retry_at_ms or 0):
            return
        if pipeline.state not in (PipelineState.WAITING, PipelineState.PAUSED, PipelineState.FAILED):
            return
        if pipeline.state is PipelineState.FAILED:
            pipeline.restarts += 1
        pipeline.state = PipelineState.STARTING
        pipeline.turn += 1
        turn, record = pipeline.turn, pipeline.record

        def started(error: BaseException | None, running: Running | None) -> None:
            self._started(pipeline, turn, error, running)

        self._in_background(lambda: self._runner.run(record), started)

    def _started(self, pipeline: Supervised, turn: int, error: BaseException | None, running: Running | None) -> None:
        if pipeline.turn != turn:
            if running is not None:
                self._end(pipeline.record.name, running)
            return
        if error is not None:
            self._failed(pipeline, error, self._now_ms())
            return
        pipeline.running, pipeline.state = running, PipelineState.RUNNING
        pipeline.warned.clear()
        pipeline.error, pipeline.retry_at_ms = None, None
        pipeline.backoff.started(self._now_ms())

    def _in_background(self, job: Callable[[], T], done: Callable[[BaseException | None, T | None], None]) -> None:
        def run() -> None:
            try:
                result = job()
            except BaseException as error:
                failure = error
                self._work.put(lambda: done(failure, None))
            else:
                self._work.put(lambda: done(None, result))

        self._workers.submit(run)

    def _shut_down(self) -> None:
        stops = [self._workers.submit(p.running.stop) for p in self._pipelines.values() if p.running is not None]
        for stop in stops:
            error = stop.exception()
            if error is not None:
                log.error("stopping a pipeline failed: %s", error)
        self._workers.shutdown(wait=True, cancel_futures=True)
        self._runner.close()


def _resting_state(record: PipelineRecord) -> PipelineState:
    return PipelineState.PAUSED if record.desired is DesiredState.PAUSED else PipelineState.WAITING
