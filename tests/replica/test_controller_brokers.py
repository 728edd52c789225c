"""A node's start: its registration, and which partitions it leads afterwards."""

from __future__ import annotations

from headrace.replica import controller
from headrace.wire.records.metadata import PartitionChangeRecord, RegisterBrokerRecord
from tests.replica.cluster import DIRECTORY_ID, NODE_ID, Cluster, registration


def test_registration() -> None:
    cluster = Cluster()
    broker = cluster.image.brokers[NODE_ID]
    assert (broker.fenced, broker.log_dirs) == (False, (DIRECTORY_ID,))
    assert [(one.name, one.host, one.port) for one in broker.end_points] == [("PLAINTEXT", "broker", 9092)]
    assert NODE_ID in cluster.image.carried.controllers


def test_the_broker_epoch_is_the_offset_of_the_registration() -> None:
    image = Cluster().image.apply([], offset=41)
    first = controller.on_register_broker(image, registration())[0]
    assert isinstance(first, RegisterBrokerRecord)
    assert first.broker_epoch == 42


def test_a_clean_restart_leaves_leaders_alone() -> None:
    cluster = Cluster()
    cluster.create("t", 2)
    before = cluster.image.topics
    cluster.take(controller.on_register_broker(cluster.image, registration(clean=True)))
    assert cluster.image.topics == before


def test_an_unclean_restart_begins_a_new_leader_epoch() -> None:
    cluster = Cluster()
    cluster.create("t", 2)
    cluster.take(controller.on_register_broker(cluster.image, registration(clean=False)))
    assert [(p.leader, p.leader_epoch, p.isr) for p in cluster.image.topics["t"].partitions] == [(1, 1, (1,))] * 2


def test_partitions_that_kafkas_shutdown_left_without_a_leader_are_taken_up() -> None:
    cluster = Cluster()
    topic_id = cluster.create("t").topic_id
    shutdown = PartitionChangeRecord(
        partition_id=0, topic_id=topic_id, isr=[], leader=-1, eligible_leader_replicas=[1], last_known_elr=[1]
    )
    cluster.take([shutdown])
    cluster.take(controller.on_register_broker(cluster.image, registration()))
    partition = cluster.image.topics["t"].partitions[0]
    assert (partition.leader, partition.isr, partition.elr, partition.leader_epoch) == (1, (1,), (), 2)


def test_a_node_leads_nothing_that_it_does_not_hold() -> None:
    cluster = Cluster()
    topic_id = cluster.create("t").topic_id
    cluster.take([PartitionChangeRecord(partition_id=0, topic_id=topic_id, isr=[], leader=-1, replicas=[2])])
    cluster.take(controller.on_register_broker(cluster.image, registration(clean=False)))
    assert cluster.image.topics["t"].partitions[0].leader == -1


def test_producer_ids_come_in_blocks_and_never_twice() -> None:
    cluster = Cluster()
    blocks = []
    for _ in range(3):
        records, block = controller.on_allocate_producer_ids(cluster.image, NODE_ID)
        cluster.take(records)
        blocks.append(block)
    assert blocks == [(0, 1000), (1000, 1000), (2000, 1000)]
    assert cluster.image.next_producer_id == 3000
