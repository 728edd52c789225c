"""WriteTxnMarkers (key 27): the ends of transactions, for partitions that are led here.

Behaviour: one marker per producer and partition. Sent by transaction coordinators of other brokers, and by admins who abort a
transaction that hangs. A partition that is not here is UNKNOWN_TOPIC_OR_PARTITION.
Versions: 1-2; 2 says by which version of transactions the marker is to be judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.broker.markers import write_markers
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = WriteTxnMarkersRequest


async def handle(broker: Broker, request: WriteTxnMarkersRequest, context: RequestContext) -> WriteTxnMarkersResponse:
    outcomes: dict[int, dict[tuple[str, int], ErrorCode]] = {}
    for marker in request.markers:
        written = await write_markers(
            broker,
            marker.producer_id,
            marker.producer_epoch,
            marker.transaction_result,
            marker.coordinator_epoch,
            marker.transaction_version,
            [(topic.name, index) for topic in marker.topics for index in topic.partition_indexes],
            late_is_done=False,
        )
        outcomes.setdefault(marker.producer_id, {}).update(written)
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(producer_id=producer_id, topics=_topics(written))
            for producer_id, written in outcomes.items()
        ]
    )


def _topics(written: dict[tuple[str, int], ErrorCode]) -> list[WritableTxnMarkerTopicResult]:
    topics: dict[str, list[WritableTxnMarkerPartitionResult]] = {}
    for (topic, index), error in written.items():
        result = WritableTxnMarkerPartitionResult(partition_index=index, error_code=error)
        topics.setdefault(topic, []).append(result)
    return [WritableTxnMarkerTopicResult(name=name, partitions=results) for name, results in topics.items()]
