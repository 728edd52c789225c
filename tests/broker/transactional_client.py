"""A transactional producer as bare requests, one at a time, of either protocol: TV1 registers partitions, TV2 only writes."""

from __future__ import annotations

import itertools
import time
from typing import Any

from headrace.testing import wait_until
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from headrace.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from headrace.wire.messages.end_txn import EndTxnRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from headrace.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.broker.raw import RawClient, batch

GROUPS, TRANSACTIONS = 0, 1
NOT_YET = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}


class TransactionalClient:
    """`v2` chooses the protocol. Sequences are counted here, as long as they are not given."""

    def __init__(self, client: RawClient, transactional_id: str, *, v2: bool, timeout_ms: int = 60_000) -> None:
        self.client = client
        self.timeout_ms = timeout_ms
        self.transactional_id = transactional_id
        self.v2 = v2
        self.producer_id, self.epoch = -1, -1
        self.sequences: dict[tuple[str, int], int] = {}
        self._find(transactional_id, TRANSACTIONS)
        self.init()

    def _find(self, key: str, key_type: int) -> None:
        def found() -> bool:
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
            return self.client.call(request, 4).coordinators[0].error_code == 0

        wait_until(found)

    def init(self) -> None:
        def given() -> bool:
            request = InitProducerIdRequest(
                transactional_id=self.transactional_id, transaction_timeout_ms=self.timeout_ms
            )
            answer = self.client.call(request, 4)
            assert answer.error_code == 0 or answer.error_code in NOT_YET
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            return answer.error_code == 0

        wait_until(given)
        self.sequences.clear()

    def add(self, topic: str, partition: int = 0) -> int:
        """AddPartitionsToTxn, again while the last transaction is being ended."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[partition])],
        )
        answers: list[int] = []

        def settled() -> bool:
            topics = self.client.call(request, 3).results_by_topic_v3_and_below
            answers.append(topics[0].results_by_partition[0].partition_error_code)
            return answers[-1] not in NOT_YET

        wait_until(settled)
        return answers[-1]

    def produce(
        self, topic: str, *values: bytes, partition: int = 0, version: int | None = None, sequence: int | None = None
    ) -> PartitionProduceResponse:
        version = (12 if self.v2 else 9) if version is None else version
        following = self.sequences.get((topic, partition), 0)
        first = following if sequence is None else sequence
        sent = batch(
            *values,
            timestamp=time.time_ns() // 1_000_000,  # as markers have: a log that jumps years begins a new segment
            is_transactional=True,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=first,
        )
        request = ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=30_000,
            topic_data=[
                TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=sent)])
            ],
        )
        answer = self.client.call(request, version).responses[0].partition_responses[0]
        if answer.error_code == 0:
            self.sequences[topic, partition] = first + len(values)
        return answer

    def write(self, topic: str, *values: bytes, partition: int = 0) -> int:
        """Write in a transaction as a client of this protocol does; the first record's offset."""
        if not self.v2:
            assert self.add(topic, partition) == 0
        answer = self.produce(topic, *values, partition=partition)
        assert answer.error_code == 0, ErrorCode(answer.error_code)
        return answer.base_offset

    def end(self, commit: bool) -> int:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        answer = self.client.call(request, 5 if self.v2 else 4)
        if answer.error_code == 0 and self.v2:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return answer.error_code

    # Offsets

    def add_offsets(self, group: str) -> int:
        self._find(group, GROUPS)
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        answers = (self.client.call(request, 4).error_code for _ in itertools.count())
        return next(answer for answer in answers if answer not in NOT_YET)

    def commit_offset(self, group: str, topic: str, offset: int, *, version: int | None = None, **member: Any) -> int:
        version = (5 if self.v2 else 4) if version is None else version
        self._find(group, GROUPS)
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])],
            **member,
        )
        return self.client.call(request, version).topics[0].partitions[0].error_code

    def fetch_offset(self, group: str, topic: str, require_stable: bool) -> tuple[int, int]:
        """(committed offset, error)."""
        topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)], require_stable=require_stable
        )
        answer = self.client.call(request, 8).groups[0].topics[0].partitions[0]
        return answer.committed_offset, answer.error_code
