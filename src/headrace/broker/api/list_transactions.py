"""ListTransactions (key 66): the transactional ids that this broker coordinates.

Behaviour: filters by state, producer id, duration and pattern must all match; states that do not exist are named in the
answer. While transactions are being loaded the answer is COORDINATOR_LOAD_IN_PROGRESS, as a list with gaps would mislead.
Versions: 0-2; 1 filters by duration, 2 by a regular expression of RE2, as in Kafka. A thread
matches it without the interpreter's lock, in time linear in a name, so that no pattern keeps the event loop busy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.coordinator.transactions.describing import STATE_NAMES, Filter
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = ListTransactionsRequest
# What a pattern may take once compiled, which bounds the time that one name takes; patterns of names need far less.
PATTERN_BYTES = 64 << 10


async def handle(broker: Broker, request: ListTransactionsRequest, context: RequestContext) -> ListTransactionsResponse:
    transactions = broker.transactions
    if transactions.is_loading:
        return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    wanted = Filter(request.state_filters, request.producer_id_filters, request.duration_filter)
    now_ms = transactions.now_ms()
    states = [
        each for shard in transactions.loaded_shards for each in shard.transactions.list_transactions(wanted, now_ms)
    ]
    if request.transactional_id_pattern:
        names = [each.transactional_id for each in states]
        try:
            matching = await asyncio.to_thread(_matching, request.transactional_id_pattern, names)
        except ValueError:
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
        states = [each for each in states if each.transactional_id in matching]
    return ListTransactionsResponse(
        unknown_state_filters=[each for each in dict.fromkeys(request.state_filters) if each not in STATE_NAMES],
        transaction_states=states,
    )


def _matching(pattern: str, names: Iterable[str]) -> set[str]:
    """The names that match all of a pattern; ValueError when that is no regular expression of RE2."""
    import re2  # takes 40 ms, which only those who use a pattern wait for

    options = re2.Options()
    options.log_errors = False
    options.max_mem = PATTERN_BYTES
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(str(error)) from error
    return {name for name in names if compiled.fullmatch(name) is not None}
