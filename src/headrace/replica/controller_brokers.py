"""The controller's decisions about nodes: registration, who leads after a start, producer ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.replica.delta import UNCHANGED_LEADER
from headrace.replica.features import DIRECTORY_ASSIGNMENT, IMPLEMENTED, METADATA_VERSION
from headrace.replica.image import NO_LEADER, UNASSIGNED_DIRECTORY, ClusterImage, PartitionImage
from headrace.settings.listeners import PROTOCOLS, Listener
from headrace.wire.records.metadata import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    PartitionChangeRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from headrace.wire.schema import Message
from headrace.wire.uuids import random_uuid

PRODUCER_ID_BLOCK = 1000


@dataclass(frozen=True)
class Registration:
    """A node as it presents itself at start."""

    node_id: int
    listeners: Sequence[Listener]
    controller_listener: Listener
    log_dirs: Sequence[bytes]
    rack: str | None = None
    clean: bool = True  # whether the last stop was a clean one


def on_register_broker(image: ClusterImage, node: Registration) -> list[Message]:
    """Records of a single node that starts: it registers as controller and broker, unfenced at once, and leads what it can.

    The broker's epoch is the offset of its registration record, so that record comes first.
    """
    incarnation = random_uuid()
    broker = RegisterBrokerRecord(
        broker_id=node.node_id,
        incarnation_id=incarnation,
        broker_epoch=image.offset + 1,
        end_points=[
            BrokerEndpoint(name=one.name, host=one.host, port=one.port, security_protocol=PROTOCOLS.index(one.protocol))
            for one in node.listeners
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in IMPLEMENTED.items()
        ],
        rack=node.rack,
        fenced=False,
        log_dirs=sorted(node.log_dirs),
        cordoned_log_dirs=[],
    )
    controller_listener = node.controller_listener
    controller = RegisterControllerRecord(
        controller_id=node.node_id,
        incarnation_id=incarnation,
        end_points=[
            ControllerEndpoint(
                name=controller_listener.name,
                host=controller_listener.host or "localhost",
                port=controller_listener.port,
                security_protocol=PROTOCOLS.index(controller_listener.protocol),
            )
        ],
        features=[
            ControllerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in IMPLEMENTED.items()
        ],
    )
    return [broker, controller, *_elections(image, node)]


def _elections(image: ClusterImage, node: Registration) -> list[Message]:
    """Lead every partition that this node holds the data of.

    After an unclean stop the leader epoch of every partition rises: records that a power failure took back must be told from
    those written in their place (KIP-320). Kafka's own controlled shutdown leaves a single node's partitions without a leader
    and the node among the eligible replicas; they are taken up again.
    """
    changes: list[Message] = []
    for topic in image.topics_by_id.values():
        for partition in topic.partitions:
            change = _election(partition, node)
            if change is not None:
                change.topic_id = topic.id
                changes.append(change)
    return changes


def _election(partition: PartitionImage, node: Registration) -> PartitionChangeRecord | None:
    me = node.node_id
    if me not in partition.replicas:
        return None
    if partition.leader == me and me in partition.isr:
        if node.clean:
            return None
        return PartitionChangeRecord(partition_id=partition.partition, leader=me)
    eligible = me in partition.isr or (not partition.isr and me in (*partition.elr, *partition.last_known_elr))
    if partition.leader != NO_LEADER or not eligible:
        return None
    return PartitionChangeRecord(
        partition_id=partition.partition,
        leader=me,
        isr=None if me in partition.isr else [me],
        eligible_leader_replicas=[] if partition.elr else None,
        last_known_elr=[] if partition.last_known_elr else None,
    )


def on_directories_lost(image: ClusterImage, node_id: int, online: Sequence[bytes]) -> list[Message]:
    """A broker's disk failed: nothing new may be placed there until the broker registers again."""
    broker = image.brokers.get(node_id)
    # An empty list would say that nothing changed; without any directory the broker is about to end anyway.
    if broker is None or not online or set(broker.log_dirs) == set(online) or not _assigns_directories(image):
        return []
    return [BrokerRegistrationChangeRecord(broker_id=node_id, broker_epoch=broker.epoch, log_dirs=sorted(online))]


def on_assign_directories(
    image: ClusterImage, node_id: int, found: Iterable[tuple[bytes, int, bytes]]
) -> list[Message]:
    """A broker tells in which directory (last) it has partitions (topic id, index); a record for each that says otherwise.

    That is so for partitions of a directory formatted by an Apache Kafka with several, or of a disk that was replaced.
    """
    records: list[Message] = []
    if not _assigns_directories(image):
        return records
    for topic_id, index, directory in found:
        topic = image.topics_by_id.get(topic_id)
        partition = topic.partition(index) if topic is not None else None
        if partition is None or node_id not in partition.replicas:
            continue
        slot = partition.replicas.index(node_id)
        directories = list(partition.directories) or [UNASSIGNED_DIRECTORY] * len(partition.replicas)
        if directories[slot] != directory:
            directories[slot] = directory
            records.append(PartitionChangeRecord(partition_id=index, topic_id=topic_id, directories=directories))
    return records


def _assigns_directories(image: ClusterImage) -> bool:
    return image.features.get(METADATA_VERSION, 0) >= DIRECTORY_ASSIGNMENT


def on_allocate_producer_ids(image: ClusterImage, node_id: int) -> tuple[list[Message], tuple[int, int]]:
    """A block of producer ids for a broker: (first, how many)."""
    first = image.next_producer_id
    broker = image.brokers.get(node_id)
    record = ProducerIdsRecord(
        broker_id=node_id,
        broker_epoch=broker.epoch if broker is not None else -1,
        next_producer_id=first + PRODUCER_ID_BLOCK,
    )
    return [record], (first, PRODUCER_ID_BLOCK)


assert PartitionChangeRecord.FIELDS["leader"].default == UNCHANGED_LEADER
