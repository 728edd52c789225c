"""TxnOffsetCommit (key 28): how far a group has read, once the producer's transaction is committed.

Behaviour: the offsets wait for the transaction's marker. The group fences by member, instance and generation; the transaction
coordinator is asked whether the transaction is open, as for a produced batch.
Versions: 0-5; 3 names the group's member and generation, 5 adds the group's partition to the transaction by itself.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.broker.group_shard import GroupShard
from headrace.broker.verification import Guard, client_error, is_open
from headrace.coordinator.committing import refuse_txn_commit
from headrace.coordinator.result import coordinator_error
from headrace.storage.errors import AppendError
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = TxnOffsetCommitRequest

KNOWS_LOADING_FROM = 2
KNOWS_ABORTABLE_FROM = 4
ADDS_FROM = 5
NO_SEQUENCE = -1

Answer = TxnOffsetCommitResponse | Awaitable[TxnOffsetCommitResponse]


def handle(broker: Broker, request: TxnOffsetCommitRequest, context: RequestContext) -> Answer:
    unknown = _take_out_unknown(broker, request)
    if not request.topics:
        return TxnOffsetCommitResponse(topics=unknown)
    answer = _Commit(broker, request, context).run()
    if isinstance(answer, TxnOffsetCommitResponse):
        return _merged(answer, unknown, context.api_version)
    return _later(answer, unknown, context.api_version)


class _Commit:
    """One request on its way past the transaction coordinator to the group's."""

    def __init__(self, broker: Broker, request: TxnOffsetCommitRequest, context: RequestContext) -> None:
        self.broker = broker
        self.request = request
        self.context = context
        self.guard: Guard | None = None

    def run(self) -> Answer:
        request, adds = self.request, self.context.api_version >= ADDS_FROM
        shard = self._shard()
        if isinstance(shard, ErrorCode):
            return refuse_txn_commit(request, shard)
        partition = shard.partition
        try:
            self.guard = self.broker.verifications.begin(
                partition, request.producer_id, request.producer_epoch, NO_SEQUENCE, adds
            )
        except AppendError as error:
            return refuse_txn_commit(request, error.error_code)
        if self.guard is None:
            return self._submit(ErrorCode.NONE)
        key = (partition.topic, partition.partition)
        answer = self.broker.transactions.add_partitions(
            request.transactional_id, request.producer_id, request.producer_epoch, [key], verify_only=not adds
        )
        if isinstance(answer, dict):
            return self._submit(answer.get(key, ErrorCode.NONE))
        return self._submit_later(answer, key)

    async def _submit_later(
        self, answer: Awaitable[dict[tuple[str, int], ErrorCode]], key: tuple[str, int]
    ) -> TxnOffsetCommitResponse:
        submitted = self._submit((await answer).get(key, ErrorCode.NONE))
        return submitted if isinstance(submitted, TxnOffsetCommitResponse) else await submitted

    def _submit(self, error: ErrorCode) -> Answer:
        """The transaction coordinator has answered."""
        request = self.request
        if error is ErrorCode.NETWORK_EXCEPTION:
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        if error is not ErrorCode.NONE:
            code = client_error(error, self.context.api_version >= KNOWS_ABORTABLE_FROM)
            return refuse_txn_commit(request, coordinator_error(code))
        shard = self._shard()
        if isinstance(shard, ErrorCode):
            return refuse_txn_commit(request, shard)
        verifications, partition = self.broker.verifications, shard.partition
        try:
            verifications.check(partition, request.producer_id, request.producer_epoch, self.guard)
        except AppendError as refused:
            return refuse_txn_commit(request, refused.error_code)
        answer: Answer = shard.submit(shard.groups.on_txn_offset_commit, request, self.context)
        if self.guard is not None and is_open(partition, request.producer_id, request.producer_epoch):
            verifications.on_appended(partition, request.producer_id)
        return answer

    def _shard(self) -> GroupShard | ErrorCode:
        if not self.request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        return self.broker.groups.shard(self.request.group_id)


async def _later(
    answer: Awaitable[TxnOffsetCommitResponse], unknown: list[TxnOffsetCommitResponseTopic], api_version: int
) -> TxnOffsetCommitResponse:
    return _merged(await answer, unknown, api_version)


def _merged(
    response: TxnOffsetCommitResponse, unknown: list[TxnOffsetCommitResponseTopic], api_version: int
) -> TxnOffsetCommitResponse:
    """Unknown partitions first, one entry per topic."""
    topics = {topic.name: topic for topic in unknown}
    for topic in response.topics:
        known = topics.setdefault(topic.name, topic)
        if known is not topic:
            known.partitions += topic.partitions
        if api_version < KNOWS_LOADING_FROM:
            _hide_loading(topic)
    response.topics = list(topics.values())
    return response


def _hide_loading(topic: TxnOffsetCommitResponseTopic) -> None:
    """Producers before Kafka 2.0 fail for good when they hear that a coordinator is loading."""
    for partition in topic.partitions:
        if partition.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            partition.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE


def _take_out_unknown(broker: Broker, request: TxnOffsetCommitRequest) -> list[TxnOffsetCommitResponseTopic]:
    """Leave only partitions that exist in the request; answers for the others."""
    unknown: list[TxnOffsetCommitResponseTopic] = []
    existing: list[TxnOffsetCommitRequestTopic] = []
    for topic in request.topics:
        found = broker.image.topics.get(topic.name)
        count = len(found.partitions) if found is not None else 0
        missing = [each.partition_index for each in topic.partitions if not 0 <= each.partition_index < count]
        if missing:
            unknown.append(_refuse(topic.name, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            topic.partitions = [each for each in topic.partitions if 0 <= each.partition_index < count]
        if topic.partitions:
            existing.append(topic)
    request.topics = existing
    return unknown


def _refuse(name: str, partitions: list[int], error: ErrorCode) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name=name,
        partitions=[TxnOffsetCommitResponsePartition(partition_index=index, error_code=error) for index in partitions],
    )
