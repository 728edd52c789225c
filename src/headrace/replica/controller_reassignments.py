"""The controller's decisions about where replicas live.

Pure: an image and a request in, records and a response out. There is nobody to copy a replica to, so a partition can only keep the
replica that it has here. What several brokers have left behind in the metadata can be settled: replicas on brokers that are gone
are given up, and a reassignment that they began is called off.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.replica.controller_error import Refused
from headrace.replica.controller_topics import check_assignments
from headrace.replica.image import ClusterImage, PartitionImage
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from headrace.wire.records.metadata import PartitionChangeRecord
from headrace.wire.schema import Message


def on_alter_partition_reassignments(
    image: ClusterImage, request: AlterPartitionReassignmentsRequest, node_id: int
) -> tuple[list[Message], AlterPartitionReassignmentsResponse]:
    """Each partition is decided on its own; what a request says twice is done twice, as Kafka does."""
    records: list[Message] = []
    response = AlterPartitionReassignmentsResponse(error_message=None)
    if request.topics:
        response.allow_replication_factor_change = request.allow_replication_factor_change
    for topic in request.topics:
        answer = ReassignableTopicResponse(name=topic.name)
        for wanted in topic.partitions:
            row = ReassignablePartitionResponse(partition_index=wanted.partition_index, error_message=None)
            try:
                partition = _find(image, topic.name, wanted.partition_index)
                keep = _remaining(image, partition, wanted.replicas, request.allow_replication_factor_change, node_id)
                change = _settle(partition, keep)
            except Refused as refused:
                row.error_code, row.error_message = refused.code, refused.message
            else:
                if change is not None:
                    change.topic_id = image.topics[topic.name].id
                    records.append(change)
            answer.partitions.append(row)
        response.responses.append(answer)
    return records, response


def _find(image: ClusterImage, topic: str, index: int) -> PartitionImage:
    if topic not in image.topics:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {topic!r}.")
    partition = image.partition(topic, index)
    if partition is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {topic!r} has no partition {index}.")
    return partition


def _remaining(
    image: ClusterImage,
    partition: PartitionImage,
    wanted: Sequence[int] | None,
    allow_replication_factor_change: bool,
    node_id: int,
) -> Sequence[int]:
    """The replicas that the partition shall have; refused where others than those it has would be needed."""
    if wanted is None:
        if not partition.in_reassignment:
            raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        return [replica for replica in partition.replicas if replica not in partition.adding_replicas]
    check_assignments([wanted], image, len(wanted))
    target = {*partition.replicas, *partition.adding_replicas} - {*partition.removing_replicas}
    if not allow_replication_factor_change and len(wanted) != len(target):
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The request does not allow to change the replication factor from {len(target)} to {len(wanted)}.",
        )
    if list(wanted) != [node_id] or node_id not in partition.replicas:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Broker {node_id} is the only one that runs, so replicas cannot move between brokers.",
        )
    return wanted


def _settle(partition: PartitionImage, keep: Sequence[int]) -> PartitionChangeRecord | None:
    """The record that leaves `keep` and nothing in progress; None when that is so already. The leader stays."""
    if list(partition.replicas) == list(keep) and not partition.in_reassignment:
        return None
    if partition.leader not in keep or partition.leader not in partition.isr:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Partition {partition.partition} is led by {partition.leader}, which would not be among its replicas in sync.",
        )

    def kept(replicas: Sequence[int]) -> list[int]:
        return [replica for replica in replicas if replica in keep]

    places = dict(zip(partition.replicas, partition.directories, strict=False))
    return PartitionChangeRecord(
        partition_id=partition.partition,
        isr=kept(partition.isr),
        replicas=list(keep),
        removing_replicas=[],
        adding_replicas=[],
        directories=[places[replica] for replica in keep] if places else None,
        eligible_leader_replicas=kept(partition.elr) if partition.elr else None,
        last_known_elr=kept(partition.last_known_elr) if partition.last_known_elr else None,
    )
