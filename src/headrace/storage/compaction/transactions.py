"""Which transactions compaction has passed through, so that it knows whose records and markers may go.

Records of an aborted transaction go at once. A marker stays until no record of its transaction is left; then it gets a
delete horizon as a tombstone would. What is known of aborted transactions comes from the transaction indexes.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct as Layout

from headrace.storage.transaction_index import AbortedTransaction
from headrace.wire.batch import BatchHeader, decode_records
from headrace.wire.fields import Buffer
from headrace.wire.records.control import ControlType

_KEY = Layout(">hh")


class PassedTransactions:
    """Fed every batch from `start` on, in the order of the log."""

    def __init__(self, aborted: Iterable[AbortedTransaction], start: int) -> None:
        overlapping = [one for one in aborted if one.last_offset >= start]
        # Popped from the end: the one that begins first is last.
        self._coming = sorted(overlapping, key=lambda one: one.first_offset, reverse=True)
        self._aborted: dict[int, AbortedTransaction] = {}
        self._has_records: set[int] = set()
        self._committed: set[int] = set()
        # Aborted transactions of which records were seen before their marker: what a new index must hold.
        self.retained: list[AbortedTransaction] = []

    def on_batch(self, header: BatchHeader) -> bool:
        """A batch of records: whether it was aborted."""
        if self._coming:
            self._begin_up_to(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborted:
            self._has_records.add(header.producer_id)
            return True
        self._committed.add(header.producer_id)
        return False

    def on_marker(self, header: BatchHeader, batch: Buffer) -> bool:
        """A control batch: whether nothing is left of what it ends."""
        self._begin_up_to(header.last_offset)
        records = decode_records(batch) if header.record_count else []
        if not records:
            # Emptied by an earlier round.
            return True
        kind = _KEY.unpack_from(records[0].key or b"\0\0\xff\xff")[1]
        if kind == ControlType.ABORT:
            return self._on_abort(header.producer_id)
        if kind == ControlType.COMMIT:
            left = header.producer_id in self._committed
            self._committed.discard(header.producer_id)
            return not left
        return False

    def _on_abort(self, producer_id: int) -> bool:
        transaction = self._aborted.pop(producer_id, None)
        if transaction is None or producer_id not in self._has_records:
            return True
        self._has_records.discard(producer_id)
        self.retained.append(transaction)
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._coming and self._coming[-1].first_offset <= offset:
            transaction = self._coming.pop()
            self._aborted.setdefault(transaction.producer_id, transaction)

    def take_retained(self) -> list[AbortedTransaction]:
        """What was retained since this was last asked."""
        retained, self.retained = self.retained, []
        return retained
