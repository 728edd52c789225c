"""ListTransactions (key 66): the transactional ids that this broker coordinates.

Behaviour: filters by state, producer id, duration and pattern must all match; states that do not exist are named in the
answer. While transactions are being loaded the answer is COORDINATOR_LOAD_IN_PROGRESS, as a list with gaps would mislead.
Versions: 0-2; 1 filters by duration, 2 by a regular expression, which has Python's syntax where that differs from Java's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.coordinator.transactions.describing import STATE_NAMES, Filter
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = ListTransactionsRequest


def handle(broker: Broker, request: ListTransactionsRequest, context: RequestContext) -> ListTransactionsResponse:
    transactions = broker.transactions
    if transactions.is_loading:
        return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    text = request.transactional_id_pattern
    try:
        pattern = re.compile(text) if text else None
    except re.error:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    wanted = Filter(request.state_filters, request.producer_id_filters, request.duration_filter, pattern)
    now_ms = transactions.now_ms()
    return ListTransactionsResponse(
        unknown_state_filters=[each for each in dict.fromkeys(request.state_filters) if each not in STATE_NAMES],
        transaction_states=[
            each
            for shard in transactions.loaded_shards
            for each in shard.transactions.list_transactions(wanted, now_ms)
        ],
    )
