"""Transactions on this broker: which partition of `__transaction_state` a transactional id belongs to, and that topic's life.

Owns: the shards, their loading, and the topic's creation on first need. The rules of transactions are in
`headrace.coordinator.transactions`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from headrace.wire.errors import ErrorCode

if TYPE_CHECKING:
    from headrace.broker.server import Broker

TopicPartition = tuple[str, int]


class Transactions:
    """All transaction coordinators of this node."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        verify_only: bool,
    ) -> dict[TopicPartition, ErrorCode] | Awaitable[dict[TopicPartition, ErrorCode]]:
        """What the leader of partitions asks before a transaction writes to them.

        Verified, a partition must be in the transaction (TRANSACTION_ABORTABLE if not). Otherwise it is added, as a
        client of transaction version 2 has it; CONCURRENT_TRANSACTIONS is tried again for a short while before it is
        an answer. Answers are the coordinator's own: what a client hears of them is the caller's to decide.
        """
        raise NotImplementedError
