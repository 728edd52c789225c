"""A transaction coordinator with a log in memory, partitions that take markers, and a clock in a variable."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

from headrace.coordinator.transactions.checks import Producer
from headrace.coordinator.transactions.config import TransactionConfig
from headrace.coordinator.transactions.coordinator import TransactionCoordinator
from headrace.coordinator.transactions.records import TransactionRecord, decode
from headrace.coordinator.transactions.result import Markers, Result
from headrace.coordinator.transactions.transaction import TopicPartition, Transaction, TransactionState
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.end_txn import EndTxnRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest

START_MS = 1_700_000_000_000


@dataclass(eq=False)
class Ticket:
    """One request: `response` is None while it waits."""

    response: Any = None
    answers: int = 0

    @property
    def error(self) -> ErrorCode:
        assert self.response is not None, "the request still waits"
        if isinstance(self.response, ErrorCode):
            return self.response
        return ErrorCode(self.response.error_code)

    @property
    def producer(self) -> Producer:
        assert self.error is ErrorCode.NONE
        return Producer(self.response.producer_id, self.response.producer_epoch)


class Driver:
    """`log` holds what was appended, as bytes; `fail_with` makes appends fail; `hold` keeps them under way.

    Markers stay in `markers` until `write_markers`; `written` has those that partitions took.
    """

    def __init__(self, *, server_version: int = 2, **config: int) -> None:
        self.config = TransactionConfig(**config)
        self.server_version = server_version
        self.now_ms = START_MS
        self.log: list[tuple[bytes, bytes | None]] = []
        self.fail_with: ErrorCode | None = None
        self.hold = False
        self.held: list[Result] = []
        self.markers: list[Markers] = []
        self.written: list[tuple[TopicPartition, int, int, bool]] = []
        self.ids_in_hand = True
        self._ids = itertools.count(1000)
        self.coordinator = self._new_coordinator()
        self._carry_out(self.coordinator.on_loaded(self.now_ms))

    def _new_coordinator(self) -> TransactionCoordinator:
        return TransactionCoordinator(
            self.config,
            new_producer_id=lambda: next(self._ids) if self.ids_in_hand else None,
            coordinator_epoch=4,
            server_version=lambda: self.server_version,
        )

    # What the shell does

    def _carry_out(self, result: Result) -> None:
        for ticket, response in result.completions:
            assert isinstance(ticket, Ticket)
            ticket.response = response
            ticket.answers += 1
            assert ticket.answers == 1, "a request was answered twice"
        self.markers += result.markers
        if not result.records and not result.settles:
            return
        if result.records and self.hold:
            self.held.append(result)
        else:
            self._append(result)

    def _append(self, result: Result) -> None:
        error = (self.fail_with or ErrorCode.NONE) if result.records else ErrorCode.NONE
        if error is ErrorCode.NONE:
            self.log += [record.encode(self.server_version) for record in result.records]
        self._carry_out(self.coordinator.settle(result, error, self.now_ms))

    def release(self) -> None:
        """Let the appends under way come to their end."""
        self.hold = False
        held, self.held = self.held, []
        for result in held:
            self._append(result)

    def release_some(self, count: int) -> None:
        """The oldest appends under way come to their end, the others wait on."""
        first, self.held = self.held[:count], self.held[count:]
        for result in first:
            self._append(result)

    def write_markers(self, errors: dict[TopicPartition, ErrorCode] | None = None) -> None:
        """The partitions take all markers that are waiting now, but those with an error."""
        waiting, self.markers = self.markers, []
        for markers in waiting:
            outcome = {each: (errors or {}).get(each, ErrorCode.NONE) for each in markers.partitions}
            self.written += [
                (each, markers.producer_id, markers.producer_epoch, markers.commit)
                for each, error in outcome.items()
                if error is ErrorCode.NONE
            ]
            self._carry_out(self.coordinator.on_markers_written(markers, outcome, self.now_ms))

    def advance(self, ms: int) -> None:
        """Let time pass, stopping at every deadline on the way as the shell would."""
        end = self.now_ms + ms
        while (deadline := self.coordinator.next_deadline_ms()) is not None and deadline <= end:
            self.now_ms = max(self.now_ms, deadline)
            for result in self.coordinator.on_timer(self.now_ms):
                self._carry_out(result)
        self.now_ms = end

    def restart(self) -> None:
        """Crash, and load what the log holds."""
        self.held, self.markers = [], []
        self.coordinator = self._new_coordinator()
        for key, value in self.log:
            record = decode(key, value)
            assert record is not None
            self.coordinator.replay(record)
        self._carry_out(self.coordinator.on_loaded(self.now_ms))

    # Requests

    def init(
        self,
        name: str = "x",
        producer: Producer | None = None,
        *,
        timeout_ms: int = 60_000,
        ticket: Ticket | None = None,
    ) -> Ticket:
        before = producer or Producer(-1, -1)
        request = InitProducerIdRequest(
            transactional_id=name,
            transaction_timeout_ms=timeout_ms,
            producer_id=before.producer_id,
            producer_epoch=before.epoch,
        )
        ticket = ticket or Ticket()
        self._carry_out(self.coordinator.on_init_producer_id(request, ticket, self.now_ms))
        return ticket

    def add(self, producer: Producer, *partitions: TopicPartition, name: str = "x", version: int = 2) -> Ticket:
        ticket = Ticket()
        added = partitions or (("t", 0),)
        self._carry_out(self.coordinator.on_add_partitions(name, producer, added, version, ticket, self.now_ms))
        return ticket

    def verify(self, producer: Producer, partition: TopicPartition = ("t", 0), *, name: str = "x") -> ErrorCode:
        return self.coordinator.verify_partitions(name, producer, [partition])[partition]

    def end(self, producer: Producer, *, commit: bool = True, name: str = "x", version: int = 2) -> Ticket:
        request = EndTxnRequest(
            transactional_id=name, producer_id=producer.producer_id, producer_epoch=producer.epoch, committed=commit
        )
        ticket = Ticket()
        self._carry_out(self.coordinator.on_end_txn(request, version, ticket, self.now_ms))
        return ticket

    # Looking

    def current(self, name: str = "x") -> Transaction:
        return self.coordinator.transactional_ids[name].current

    def state(self, name: str = "x") -> TransactionState:
        return self.current(name).state

    def set_epoch(self, epoch: int, name: str = "x") -> Producer:
        """Bring an id to an epoch that would take hours to reach."""
        record = TransactionRecord(name, replace(self.current(name), producer_epoch=epoch))
        self.log.append(record.encode(self.server_version))
        self.coordinator.replay(record)
        return Producer(self.current(name).producer_id, epoch)
