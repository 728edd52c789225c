"""One run: topics, workers, a nemesis for a while, health, the last read, the verdict."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headrace import client
from headrace.testing.proxy import Abandoned, Proxy
from headrace.verify.checker import Verdict, check
from headrace.verify.client_settings import CALL_TIMEOUT_S, IN_GROUP
from headrace.verify.evidence import COMMITTED, UNCOMMITTED
from headrace.verify.external import END_WITHIN_S, ExternalWorker
from headrace.verify.history import OK, Recorder
from headrace.verify.nemesis import END_TXN, NETWORK, Fault, Nemesis
from headrace.verify.readers import FinalReader, Reader, Unfinished
from headrace.verify.target import Target
from headrace.verify.transformers import OffsetWatcher, Transformer, ask_committed
from headrace.verify.worker import Stage, Worker, leave
from headrace.verify.writers import PlainProducer, TransactionalWriter
from headrace.wire.messages.end_txn import EndTxnRequest

JOIN_WITHIN_S = 120.0
READY_WITHIN_S = 30.0
"""What does not work at all by then will be told by the verdict, or by its absence."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run shall do. The same plan with the same seed makes the same choices, in whatever time the cluster takes."""

    bootstrap_servers: str
    seconds: float = 30.0
    seed: int = 0
    faults: tuple[Fault, ...] = ()
    producers: int = 2
    writers: int = 2
    transformers: int = 2
    readers: int = 1
    """Of each isolation level."""
    partitions: int = 3
    replication_factor: int = -1
    worker_command: str | None = None
    """The program for transactional workers; without one they are librdkafka's, in this process."""
    properties: Mapping[str, Any] = field(default_factory=dict)
    takeover_share: float = 0.04
    """How often a transactional writer is taken over by a successor in the middle of a transaction."""
    history: Path | None = None
    keep_topics: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    plan: Plan
    verdict: Verdict
    faults: Mapping[str, int]
    seconds: float


Progress = Callable[[str, int], None]
"""What is going on, and how many events the history has."""


def run(plan: Plan, target: Target | None = None, progress: Progress = lambda _what, _events: None) -> Outcome:
    """Run a plan. Raises `Unfinished` when the cluster does not recover, which is no verdict about what it holds."""
    began = time.monotonic()
    recorder = Recorder(plan.history)
    name = f"headrace-verify-{secrets.token_hex(4)}"
    direct = Stage(
        plan.bootstrap_servers,
        recorder,
        f"{name}-source",
        f"{name}-sink",
        plan.partitions,
        name,
        plan.seed,
        plan.properties,
        takeover_share=plan.takeover_share,
    )
    try:
        with _topics(plan, direct):
            with _network(plan, recorder) as network:
                servers = network.bootstrap_servers if network else plan.bootstrap_servers
                workers = _workers(plan, replace(direct, bootstrap_servers=servers))
                nemesis = Nemesis(recorder, plan.faults, plan.seed, target, network)
                _work(plan, workers, nemesis, recorder, progress)
            progress("last read", len(recorder.events))
            _read_everything(direct)
    finally:
        recorder.close()
    progress("checking", len(recorder.events))
    return Outcome(plan, check(recorder.events), dict(nemesis.count), time.monotonic() - began)


def _workers(plan: Plan, stage: Stage) -> list[Worker]:
    workers: list[Worker] = [PlainProducer(stage, f"producer-{n}") for n in range(plan.producers)]
    for role, count, own in (
        ("writer", plan.writers, TransactionalWriter),
        ("transformer", plan.transformers, Transformer),
    ):
        for n in range(count):
            label = f"{role}-{n}"
            command = plan.worker_command
            workers.append(ExternalWorker(stage, label, role, command) if command else own(stage, label))
    for n in range(plan.readers):
        workers.append(Reader(stage, f"committed-{n}", COMMITTED))
        workers.append(Reader(stage, f"uncommitted-{n}", UNCOMMITTED))
    if plan.transformers:
        workers.append(OffsetWatcher(stage, "watcher"))
    return workers


def _work(plan: Plan, workers: list[Worker], nemesis: Nemesis, recorder: Recorder, progress: Progress) -> None:
    for worker in workers:
        worker.start()
    try:
        progress("waiting for the first results", 0)
        _wait_ready(workers)
        if plan.faults:
            nemesis.start()
        deadline = time.monotonic() + plan.seconds
        while (left := deadline - time.monotonic()) > 0 and not any(worker.failure for worker in workers):
            progress(f"{left:.0f} s left", len(recorder.events))
            time.sleep(min(0.5, left))
    finally:
        nemesis.stop()
        progress("healing", len(recorder.events))
        _join(workers)
    for one in (nemesis, *workers):
        if one.failure is not None:
            raise one.failure


def _wait_ready(workers: list[Worker]) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    for worker in workers:
        while not worker.ready.wait(0.05):
            if worker.failure is not None or time.monotonic() > deadline:
                return


def _join(workers: list[Worker]) -> None:
    for worker in workers:
        worker.stop()
    deadline = time.monotonic() + JOIN_WITHIN_S
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
        if worker.is_alive() and isinstance(worker, ExternalWorker):
            worker.kill()
            worker.join(END_WITHIN_S)
    stuck = [worker.label for worker in workers if worker.is_alive()]
    if stuck:
        raise Unfinished(f"{', '.join(stuck)} did not end within {JOIN_WITHIN_S:g} s of a healthy cluster")


def _read_everything(stage: Stage) -> None:
    last = FinalReader(stage, "final")
    last.start()
    last.join()
    if last.failure is not None:
        raise last.failure
    consumer = last.consumer(stage.group, IN_GROUP)
    try:
        if not any(ask_committed(last, consumer) for _ in range(3)):
            raise Unfinished("the group's committed offsets cannot be read")
    finally:
        leave(consumer)


@contextlib.contextmanager
def _network(plan: Plan, recorder: Recorder) -> Iterator[Proxy | None]:
    """The proxy, when a fault needs it; an EndTxn that outlives its connection becomes part of the history."""

    def note(request: Abandoned) -> None:
        if request.header.api_key != END_TXN:
            return
        end = EndTxnRequest.decode_from(request.body, request.header.api_version)[0]
        event = {"process": "network", "id": f"network:{request.delivered}:{end.transactional_id}"}
        fields = {"producer": end.transactional_id, "version": request.header.api_version, "commit": end.committed}
        recorder.add(
            {**event, "time": request.delivered, "type": "invoke", "f": "late", "received": request.received, **fields}
        )
        recorder.add({**event, "time": request.answered, "type": OK})

    if not set(plan.faults) & set(NETWORK):
        yield None
        return
    with Proxy(plan.bootstrap_servers, seed=plan.seed, on_abandoned=note) as network:
        yield network


@contextlib.contextmanager
def _topics(plan: Plan, stage: Stage) -> Iterator[None]:
    from confluent_kafka.admin import NewTopic

    admin = client.admin(plan.bootstrap_servers, plan.properties)
    names = [stage.source, stage.sink]
    topics = [NewTopic(name, plan.partitions, plan.replication_factor) for name in names]
    for future in admin.create_topics(topics, operation_timeout=CALL_TIMEOUT_S).values():
        future.result()
    try:
        yield
    finally:
        if not plan.keep_topics:
            for future in admin.delete_topics(names, operation_timeout=CALL_TIMEOUT_S).values():
                future.result()
