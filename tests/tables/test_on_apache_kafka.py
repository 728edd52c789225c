"""The same table on Apache Kafka: loading, waiting, transactions, restarts, and a topic that is truncated, grows and is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewPartitions

from conformance.apache_kafka import apache_kafka
from headrace.tables import ChangelogTable, State, TopicMissing
from headrace.testing import wait_until
from headrace.testing.clients import Clients

pytestmark = [pytest.mark.peer("apache-kafka"), pytest.mark.timeout(240)]


class Cluster(Clients):
    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    def table(self, topic: str, directory: Path) -> ChangelogTable[bytes, bytes]:
        return ChangelogTable(self.bootstrap_servers, topic, directory=directory, refresh_s=0.2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with apache_kafka({"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}) as kafka:
        yield Cluster(kafka.bootstrap_servers)


def contents(table: ChangelogTable[bytes, bytes]) -> dict[bytes, bytes]:
    table.wait_until_current(30)
    return {row.key: row.value for row in table.all().rows}


def test_a_table_on_apache_kafka(cluster: Cluster, tmp_path: Path) -> None:
    cluster.create_topic("t", 2, cleanup_policy="compact")
    cluster.produce("t", [(f"{number}", "1") for number in range(300)] + [("7", None)])
    with cluster.table("t", tmp_path) as table:
        assert len(contents(table)) == 299
        transactional = cluster.producer(transactional_id="tables")
        transactional.init_transactions()
        for end in (transactional.abort_transaction, transactional.commit_transaction):
            transactional.begin_transaction()
            transactional.produce("t", end.__name__, b"7")
            transactional.flush(10)
            assert b"7" not in contents(table)
            end()
        assert contents(table)[b"7"] == b"commit_transaction"
    cluster.produce("t", [("8", None)])
    with cluster.table("t", tmp_path) as table:
        assert len(contents(table)) == 299
        assert table.status.records == 1 and table.status.rebuilds == 0


def test_a_topic_that_changes_on_apache_kafka(cluster: Cluster, tmp_path: Path) -> None:
    admin = cluster.admin()
    with cluster.table("changing", tmp_path) as table:
        wait_until(lambda: table.status.state is State.MISSING, timeout_s=30)
        cluster.create_topic("changing", 1)
        cluster.produce("changing", [("a", "1"), ("b", "1")])
        assert len(contents(table)) == 2
        admin.create_partitions([NewPartitions("changing", 2)])["changing"].result(30)
        wait_until(lambda: table.status.warning, timeout_s=30)
    producer = cluster.producer()
    for key in (b"c", b"d"):
        producer.produce("changing", b"1", key, partition=0)
    assert producer.flush(30) == 0
    (deleted,) = admin.delete_records([TopicPartition("changing", 0, 3)]).values()
    deleted.result(30)
    with cluster.table("changing", tmp_path) as table:
        wait_until(lambda: table.status.rebuilds == 1, timeout_s=30)
        assert contents(table) == {b"d": b"1"}
        admin.delete_topics(["changing"])["changing"].result(30)
        wait_until(lambda: table.status.state is State.MISSING, timeout_s=30)
        with pytest.raises(TopicMissing):
            table.get(b"d")
        cluster.create_topic("changing", 1)
        cluster.produce("changing", [("new", "1")])
        assert contents(table) == {b"new": b"1"}
