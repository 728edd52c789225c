"""The transaction coordinator of one `__transaction_state` partition: requests in, records, markers and answers out.

`replay` is the only writer of what survives a restart. A change is `pending` from the request until its record is in the
log; meanwhile others hear CONCURRENT_TRANSACTIONS. A transaction that is prepared has its completion pending until all
markers are written, also after a restart: `on_loaded` hands out the markers of all prepared transactions again.

A caller does, for every `on_...` that returns a Result, what that class says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.coordinator.result import Token, coordinator_error
from headrace.coordinator.transactions import checks, transitions
from headrace.coordinator.transactions.checks import NewProducerId, Producer
from headrace.coordinator.transactions.config import TransactionConfig
from headrace.coordinator.transactions.deadlines import Deadlines
from headrace.coordinator.transactions.describing import Filter, describe, listed
from headrace.coordinator.transactions.expiry import expire
from headrace.coordinator.transactions.markers import after_writing, markers_of
from headrace.coordinator.transactions.records import TransactionRecord
from headrace.coordinator.transactions.result import Markers, Result, answer
from headrace.coordinator.transactions.transaction import (
    NO_PRODUCER_ID,
    PREPARED,
    TopicPartition,
    Transaction,
    TransactionalId,
    TransactionState,
)
from headrace.wire.errors import ErrorCode
from headrace.wire.messages import describe_transactions, list_transactions
from headrace.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from headrace.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

COMPLETION_RETRY_MS = 1000

Respond = Callable[[ErrorCode], object]
"""Makes the answer of a request out of an error code."""


class TransactionCoordinator:
    """Every method takes the time in milliseconds; none of them waits."""

    def __init__(
        self,
        config: TransactionConfig,
        *,
        new_producer_id: NewProducerId,
        coordinator_epoch: int = 0,
        server_version: Callable[[], int] = lambda: 2,
    ) -> None:
        self.config = config
        self.transactional_ids: dict[str, TransactionalId] = {}
        self.server_version = server_version
        """The cluster's transaction.version."""
        self._coordinator_epoch = coordinator_epoch
        self._new_producer_id = new_producer_id
        self._deadlines = Deadlines(config)
        self._unfinished: dict[str, TransactionalId] = {}
        """All their markers are written, and the record that says so could not be."""
        self.committed = 0
        self.aborted = 0
        """Transactions that came to their end here since the log was loaded."""

    # Requests

    def on_init_producer_id(self, request: InitProducerIdRequest, token: Token, now_ms: int) -> Result:
        def respond(error: ErrorCode) -> InitProducerIdResponse:
            return InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)

        name = request.transactional_id
        if not name:
            return answer(token, respond(ErrorCode.INVALID_REQUEST))
        if not 0 < request.transaction_timeout_ms <= self.config.max_timeout_ms:
            return answer(token, respond(ErrorCode.INVALID_TRANSACTION_TIMEOUT))
        entry = self._get_or_create(name, request.transaction_timeout_ms, now_ms)
        if entry is None:
            return answer(token, respond(checks.NO_ID_IN_HAND))
        producer = None
        if request.producer_id != NO_PRODUCER_ID:
            producer = Producer(request.producer_id, request.producer_epoch)
        error = checks.check_initialize(entry, producer)
        if error is not ErrorCode.NONE:
            return answer(token, respond(error))
        if entry.current.state is TransactionState.ONGOING:
            return self._fence(entry, token, respond, now_ms)
        timeout_ms = request.transaction_timeout_ms
        target = checks.initialize(entry, producer, timeout_ms, self._new_producer_id, now_ms)
        if isinstance(target, ErrorCode):
            return answer(token, respond(target))
        response = InitProducerIdResponse(producer_id=target.producer_id, producer_epoch=target.producer_epoch)
        return self._change(entry, target, token, response, respond)

    def on_add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Sequence[TopicPartition],
        client_version: int,
        token: Token,
        now_ms: int,
    ) -> Result:
        """AddPartitionsToTxn and AddOffsetsToTxn. The answer is an error code for all partitions."""
        if not transactional_id:
            return answer(token, ErrorCode.INVALID_REQUEST)
        entry = self.transactional_ids.get(transactional_id)
        if entry is None:
            return answer(token, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        target = checks.add(entry, producer, partitions, client_version, now_ms)
        if isinstance(target, ErrorCode):
            return answer(token, target)
        return self._change(entry, target, token, ErrorCode.NONE, lambda error: error)

    def verify_partitions(
        self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        entry = self.transactional_ids.get(transactional_id)
        if entry is None:
            error = ErrorCode.INVALID_PRODUCER_ID_MAPPING if transactional_id else ErrorCode.INVALID_REQUEST
            return dict.fromkeys(partitions, error)
        return checks.verify(entry, producer, partitions)

    def on_end_txn(self, request: EndTxnRequest, client_version: int, token: Token, now_ms: int) -> Result:
        def respond(error: ErrorCode) -> EndTxnResponse:
            return EndTxnResponse(error_code=error)

        if not request.transactional_id:
            return answer(token, respond(ErrorCode.INVALID_REQUEST))
        entry = self.transactional_ids.get(request.transactional_id)
        if entry is None:
            return answer(token, respond(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
        producer, commit = Producer(request.producer_id, request.producer_epoch), request.committed
        if client_version < transitions.EPOCH_BUMP_FROM:
            target = checks.end_without_bump(entry, producer, commit, now_ms)
            if isinstance(target, ErrorCode):
                return answer(token, respond(target))
            return self._change(entry, target, token, respond(ErrorCode.NONE), respond)
        target = checks.end_with_bump(entry, producer, commit, client_version, self._new_producer_id, now_ms)
        if target is ErrorCode.NONE:
            return answer(token, _next_epoch(entry.current))
        if isinstance(target, ErrorCode):
            return answer(token, respond(target))
        return self._change(entry, target, token, _next_epoch(transitions.complete(target, now_ms)), respond)

    def on_markers_written(self, markers: Markers, errors: Mapping[TopicPartition, ErrorCode], now_ms: int) -> Result:
        """Markers are in the logs of their partitions, or could not be written there."""
        entry = self.transactional_ids.get(markers.transactional_id)
        if entry is None or not _belong(markers, entry.current):
            return Result()
        again = after_writing(entry, markers, errors)
        if again is not None:
            return Result(markers=[again])
        return self._complete(entry) if not entry.current.partitions else Result()

    # Administration

    def describe_transaction(self, transactional_id: str) -> describe_transactions.TransactionState:
        return describe(transactional_id, self.transactional_ids.get(transactional_id))

    def list_transactions(self, wanted: Filter, now_ms: int) -> list[list_transactions.TransactionState]:
        return listed(self.transactional_ids.values(), wanted, now_ms)

    # Time

    def next_deadline_ms(self) -> int | None:
        return self._deadlines.next_ms()

    def on_timer(self, now_ms: int) -> list[Result]:
        """Do what is due."""
        results = []
        if self._deadlines.is_timeout_check_due(now_ms):
            results += self._abort_timed_out(now_ms)
        if self._deadlines.is_expiry_due(now_ms):
            results += self._expire(now_ms)
        if self._deadlines.is_retry_due(now_ms):
            unfinished, self._unfinished = self._unfinished, {}
            results += [self._complete(entry) for entry in unfinished.values()]
        return results

    def on_clock_set(self, delta_ms: int) -> None:
        """Somebody set the wall clock: checks stay as far away as they were."""
        self._deadlines.shift(delta_ms)

    def _abort_timed_out(self, now_ms: int) -> list[Result]:
        results = []
        is_open = False
        for entry in self.transactional_ids.values():
            current = entry.current
            if current.state is not TransactionState.ONGOING:
                continue
            is_open = True
            if entry.pending is None and current.start_ms + current.timeout_ms < now_ms:
                results.append(self._fence(entry, None, lambda error: None, now_ms))
        if is_open:
            self._deadlines.watch_timeouts(now_ms)
        return results

    def _expire(self, now_ms: int) -> list[Result]:
        self._deadlines.watch_expiry(now_ms)
        return expire(self.transactional_ids.values(), now_ms - self.config.transactional_id_expiration_ms)

    # Durable state

    def settle(self, result: Result, error: ErrorCode, now_ms: int) -> Result:
        """The append of a result ended: with NONE its records are in the log, else they are not and never will be."""
        if error is ErrorCode.NONE:
            for record in result.records:
                self.replay(record)
        follow_up = Result()
        for settle in result.settles:
            follow_up.take(settle(error, now_ms))
        return follow_up

    def replay(self, record: TransactionRecord) -> None:
        """Take over one record of the log, while loading as well as right after its append."""
        if record.transaction is None:
            self.transactional_ids.pop(record.transactional_id, None)
            return
        entry = self.transactional_ids.get(record.transactional_id)
        if entry is None:
            self.transactional_ids[record.transactional_id] = TransactionalId(
                record.transactional_id, record.transaction
            )
            return
        entry.current = record.transaction
        entry.pending = None

    def on_loaded(self, now_ms: int) -> Result:
        """Everything is replayed: what was prepared is carried to its end."""
        result = Result()
        self._deadlines.watch_expiry(now_ms)
        for entry in self.transactional_ids.values():
            if entry.current.state in PREPARED:
                result.take(self._carry_on(entry, now_ms))
            elif entry.current.state is TransactionState.ONGOING:
                self._deadlines.watch_timeouts(now_ms)
        return result

    # Steps

    def _get_or_create(self, name: str, timeout_ms: int, now_ms: int) -> TransactionalId | None:
        entry = self.transactional_ids.get(name)
        if entry is None:
            producer_id = self._new_producer_id()
            if producer_id is None:
                return None
            entry = TransactionalId(name, Transaction(producer_id, timeout_ms, last_update_ms=now_ms))
            self.transactional_ids[name] = entry
        return entry

    def _change(
        self, entry: TransactionalId, target: Transaction, token: Token | None, response: object, respond: Respond
    ) -> Result:
        """Have a transaction written; once it is, answer, and go on if it is a prepared one."""
        entry.pending = target

        def settle(error: ErrorCode, now_ms: int) -> Result:
            if error is not ErrorCode.NONE:
                entry.pending = None
            result = Result()
            if token is not None:
                result.complete(token, response if error is ErrorCode.NONE else respond(coordinator_error(error)))
            if error is ErrorCode.NONE and target.state in PREPARED:
                result.take(self._carry_on(entry, now_ms))
            elif error is ErrorCode.NONE and target.state is TransactionState.ONGOING:
                self._deadlines.watch_timeouts(now_ms)
            return result

        return Result(records=[TransactionRecord(entry.name, target)], settles=[settle])

    def _fence(self, entry: TransactionalId, token: Token | None, respond: Respond, now_ms: int) -> Result:
        """Abort what a producer left open. Whoever asked for its id shall ask again when that is done."""
        version = self.server_version()
        target = checks.fence(entry, version, self._new_producer_id, now_ms)
        if isinstance(target, ErrorCode):
            return answer(token, respond(target)) if token is not None else Result()
        result = self._change(entry, target, token, respond(ErrorCode.CONCURRENT_TRANSACTIONS), respond)

        def settle(error: ErrorCode, now_ms: int) -> Result:
            entry.fence_failed = error is not ErrorCode.NONE and version < transitions.EPOCH_BUMP_FROM
            return Result()

        result.settles.append(settle)
        return result

    def _carry_on(self, entry: TransactionalId, now_ms: int) -> Result:
        """The outcome is in the log: write it into the partitions, then say that this is done."""
        entry.pending = transitions.complete(entry.current, now_ms)
        if not entry.current.partitions:
            return self._complete(entry)
        return Result(markers=[markers_of(entry, self._coordinator_epoch)])

    def _complete(self, entry: TransactionalId) -> Result:
        target = entry.pending
        assert target is not None

        def settle(error: ErrorCode, now_ms: int) -> Result:
            if error is ErrorCode.NONE:
                self.committed += target.state is TransactionState.COMPLETE_COMMIT
                self.aborted += target.state is TransactionState.COMPLETE_ABORT
            elif coordinator_error(error) is not ErrorCode.NOT_COORDINATOR:
                self._unfinished[entry.name] = entry
                self._deadlines.retry_at(now_ms + COMPLETION_RETRY_MS)
            return Result()

        return Result(records=[TransactionRecord(entry.name, target)], settles=[settle])


def _belong(markers: Markers, current: Transaction) -> bool:
    """Whether markers are those of the transaction that waits for them now."""
    return current.state in PREPARED and (markers.producer_id, markers.producer_epoch) == (
        current.producer_id,
        current.producer_epoch,
    )


def _next_epoch(transaction: Transaction) -> EndTxnResponse:
    return EndTxnResponse(producer_id=transaction.producer_id, producer_epoch=transaction.producer_epoch)
