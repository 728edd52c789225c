"""DescribeTransactions (key 65): the state of transactional ids.

Behaviour: while a transaction is being ended, its partitions are those that have no marker yet.
Versions: 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = DescribeTransactionsRequest


def handle(
    broker: Broker, request: DescribeTransactionsRequest, context: RequestContext
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[_describe(broker, each) for each in request.transactional_ids]
    )


def _describe(broker: Broker, transactional_id: str) -> TransactionState:
    shard = broker.transactions.shard(transactional_id)
    if isinstance(shard, ErrorCode):
        return TransactionState(transactional_id=transactional_id, error_code=shard)
    return shard.transactions.describe_transaction(transactional_id)
