"""What guarantees cost: transactions, idempotence, and reading only what was committed."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from bench import loads
from bench.metrics import Measured
from bench.target import Target

TRANSACTION_WARM_UP_S = 2.0
SHORTEST_WARM_UP_S = 1.0
IN_FLIGHT = 5


def transactions(client: str, seconds: float) -> Callable[[Target, float], Measured]:
    """One producer, transactions of 100 records of 1 KB over four partitions, one after the other.

    For a time instead of a number, as a transaction takes very different times on different brokers.
    """
    load = {"java": loads.java_transactions, "python": loads.python_transactions}[client]

    def run(target: Target, scale: float) -> Measured:
        warm_up = max(SHORTEST_WARM_UP_S, TRANSACTION_WARM_UP_S * scale)
        with target.topic() as topic, target.cpu() as cpu:
            done = load(target.bootstrap_servers, topic, seconds * scale, warm_up)
        return {"transactions": done.per_second, "transaction_cpu": cpu.seconds / done.with_warm_up * 1e6}

    return run


class Idempotence:
    """The base case with acks=all, with and without idempotence, in turn; which one is first changes from run to run.

    Both keep five requests in flight, the most that idempotence allows: what is compared is the broker's bookkeeping.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._runs: dict[str, itertools.count[int]] = {}

    def __call__(self, target: Target, scale: float) -> Measured:
        records = int(self._count * scale)
        number = next(self._runs.setdefault(target.title, itertools.count()))
        cpu: dict[bool, float] = {}
        for idempotent in (False, True) if number % 2 else (True, False):
            cpu[idempotent] = self._cpu(target, records, idempotent) / (records / 1e6)
        return {"plain_cpu": cpu[False], "idempotent_cpu": cpu[True], "idempotence": cpu[True] / cpu[False]}

    def _cpu(self, target: Target, records: int, idempotent: bool) -> float:
        settings = ("linger.ms=5", f"max.in.flight={IN_FLIGHT}", f"enable.idempotence={str(idempotent).lower()}")
        with target.topic() as topic, target.cpu() as cpu:
            loads.rdkafka_produce(target.bootstrap_servers, topic, records, 1024, acks=-1, settings=settings)
        return cpu.seconds


def read_committed(count: int, size: int) -> Callable[[Target, float], Measured]:
    """A topic written in transactions, a tenth of them aborted, read with isolation.level=read_committed."""

    def run(target: Target, scale: float) -> Measured:
        with target.topic() as topic:
            committed = loads.write_transactions(target.bootstrap_servers, topic, int(count * scale), size)
            with target.cpu() as cpu:
                rate = loads.rdkafka_consume(
                    target.bootstrap_servers, topic, committed, settings=("isolation.level=read_committed",)
                )
            return {"consume": rate, "consume_cpu": cpu.seconds / (committed * size / 1e9)}

    return run
