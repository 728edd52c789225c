"""Transactions as coordinators and partitions know them: asking for them and ending them.

A coordinator knows a transaction by its transactional id. A partition knows only producers and where their open
transactions began; one that no coordinator will end any more hangs, and holds read_committed readers for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from headrace.admin import direct
from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem, from_kafka, near_misses
from headrace.admin.times import iso, now_ms
from headrace.wire.errors import ErrorCode

# The lowest versions: every Kafka that has these APIs knows them.
_VERSION = 0
_MARKERS_VERSION = 1
_IDS_AT_ONCE = 500
OPEN_STATES = ("Ongoing", "PrepareCommit", "PrepareAbort")
"""A coordinator that has a transaction in one of these will end it by itself."""
_UNKNOWN_HERE = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
)


@dataclass(slots=True)
class Transaction:
    """A transactional id and what became of it last."""

    transactional_id: str
    coordinator: int
    producer_id: int
    state: str
    producer_epoch: int = -1
    timeout_ms: int = 0
    started_ms: int | None = None
    partitions: list[tuple[str, int]] = field(default_factory=list)

    @property
    def duration_ms(self) -> int | None:
        """How long it has been open; None once it has ended."""
        if self.started_ms is None or self.state not in OPEN_STATES:
            return None
        return max(0, now_ms() - self.started_ms)

    def document(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "coordinator": self.coordinator,
            "state": self.state,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
            "timeout_ms": self.timeout_ms,
            "started": None if self.started_ms is None else iso(self.started_ms),
            "duration_ms": self.duration_ms,
            "partitions": [{"topic": topic, "partition": index} for topic, index in self.partitions],
        }


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that a partition waits to see the end of."""

    topic: str
    partition: int
    leader: direct.Address
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_timestamp_ms: int

    def document(self) -> dict[str, Any]:
        return {
            "topic": self.topic,
            "partition": self.partition,
            "start_offset": self.start_offset,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
            "coordinator_epoch": self.coordinator_epoch,
            "last_write": iso(self.last_timestamp_ms) if self.last_timestamp_ms >= 0 else None,
        }


def listed(cluster: Cluster, states: Iterable[str] = (), producer_ids: Iterable[int] = ()) -> list[Transaction]:
    """All transactional ids of the cluster with their state, by name."""
    from headrace.wire.messages.list_transactions import ListTransactionsRequest

    doing = "Listing transactions"
    request = ListTransactionsRequest(state_filters=list(states), producer_id_filters=list(producer_ids))
    found: dict[str, Transaction] = {}
    for address in direct.brokers(cluster, doing):
        response = direct.ask_or_fail(cluster, address, request, _VERSION, doing)
        _check(response.error_code, doing)
        names = [each.transactional_id for each in response.transaction_states]
        details = _described_by(cluster, address, names)
        for each in response.transaction_states:
            plain = Transaction(each.transactional_id, address.id, each.producer_id, each.transaction_state)
            found[each.transactional_id] = details.get(each.transactional_id, plain)
    return [found[name] for name in sorted(found)]


def described(cluster: Cluster, transactional_ids: Iterable[str]) -> list[Transaction]:
    """These transactional ids, each from its coordinator; the error names similar ones when one is unknown."""
    wanted = list(dict.fromkeys(transactional_ids))
    found: dict[str, Transaction] = {}
    for address in direct.brokers(cluster, "Describing transactions"):
        found |= _described_by(cluster, address, [name for name in wanted if name not in found])
    for name in wanted:
        if name not in found:
            matches = near_misses(name, [each.transactional_id for each in listed(cluster)])
            hint = f"Did you mean '{matches[0]}'?" if matches else "See them with `headrace transactions list`"
            raise Problem(f"There is no transactional id '{name}'", hint)
    return [found[name] for name in wanted]


def _described_by(cluster: Cluster, address: direct.Address, names: list[str]) -> dict[str, Transaction]:
    """What one broker knows of these: only a coordinator knows anything."""
    from headrace.wire.messages.describe_transactions import DescribeTransactionsRequest

    found = {}
    for first in range(0, len(names), _IDS_AT_ONCE):
        request = DescribeTransactionsRequest(transactional_ids=names[first : first + _IDS_AT_ONCE])
        response = direct.ask_or_fail(cluster, address, request, _VERSION, "Describing transactions")
        for each in response.transaction_states:
            if each.error_code in _UNKNOWN_HERE:
                continue
            _check(each.error_code, f"Describing '{each.transactional_id}'")
            found[each.transactional_id] = Transaction(
                each.transactional_id,
                address.id,
                each.producer_id,
                each.transaction_state,
                each.producer_epoch,
                each.transaction_timeout_ms,
                each.transaction_start_time_ms if each.transaction_start_time_ms >= 0 else None,
                [(topic.topic, index) for topic in each.topics for index in topic.partitions],
            )
    return found


def open_in(cluster: Cluster, topic: str, partition: int) -> list[OpenTransaction]:
    """The open transactions of a partition, the oldest first."""
    leader = _leader(cluster, topic, partition, f"Asking for the producers of {topic}-{partition}")
    return _open_at(cluster, leader, {topic: [partition]})


def owners(cluster: Cluster, found: OpenTransaction) -> list[Transaction]:
    """Those that will end it: a transaction of the same producer with this partition in it, at its coordinator."""
    known = listed(cluster, OPEN_STATES, [found.producer_id])
    return [each for each in known if (found.topic, found.partition) in each.partitions]


def hanging(cluster: Cluster, topic: str | None, older_than_ms: int) -> list[OpenTransaction]:
    """Open transactions of a topic, or of all, that were not written to for a while and that no coordinator knows."""
    topics = {topic: cluster.topic(topic)} if topic else cluster.topics(internal=True)
    found = []
    for address in direct.brokers(cluster, "Looking for hanging transactions"):
        led = {
            name: [index for index, each in metadata.partitions.items() if each.leader == address.id]
            for name, metadata in topics.items()
        }
        found += _open_at(cluster, address, {name: indexes for name, indexes in led.items() if indexes})
    newest = now_ms() - older_than_ms
    old = [each for each in found if each.last_timestamp_ms <= newest]
    # Asked after the partitions: what began meanwhile is known by then.
    known = listed(cluster, OPEN_STATES, {each.producer_id for each in old}) if old else []
    owned = {(each.producer_id, place) for each in known for place in each.partitions}
    return [each for each in old if (each.producer_id, (each.topic, each.partition)) not in owned]


def _open_at(cluster: Cluster, leader: direct.Address, topics: dict[str, list[int]]) -> list[OpenTransaction]:
    """By topic, partition and age."""
    from headrace.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest

    doing = f"Asking broker {leader.id} for the producers of its partitions"
    wanted = [TopicRequest(name=name, partition_indexes=indexes) for name, indexes in topics.items()]
    response = direct.ask_or_fail(cluster, leader, DescribeProducersRequest(topics=wanted), _VERSION, doing)
    found = []
    for topic in response.topics:
        for partition in topic.partitions:
            _check(partition.error_code, f"Asking for the producers of {topic.name}-{partition.partition_index}")
            found += [
                OpenTransaction(
                    topic.name,
                    partition.partition_index,
                    leader,
                    each.producer_id,
                    each.producer_epoch,
                    each.coordinator_epoch,
                    each.current_txn_start_offset,
                    each.last_timestamp,
                )
                for each in partition.active_producers
                if each.current_txn_start_offset >= 0
            ]
    return sorted(found, key=lambda each: (each.topic, each.partition, each.start_offset))


def require_open(transaction: Transaction) -> None:
    if transaction.state != "Ongoing":
        raise Problem(
            f"'{transaction.transactional_id}' has no open transaction, it is {transaction.state}",
            "There is nothing to abort",
        )


def abort_by_id(cluster: Cluster, transaction: Transaction) -> None:
    """A new producer with the same id: its coordinator ends what the one before left open."""
    from confluent_kafka import KafkaException

    name = transaction.transactional_id
    settings = {"transactional.id": name, "transaction.timeout.ms": transaction.timeout_ms}
    try:
        cluster.producer(settings).init_transactions(cluster.timeout_s)
    except KafkaException as error:
        raise from_kafka(error.args[0], f"Cannot abort the transaction of '{name}'") from None


def abort(cluster: Cluster, hanging: OpenTransaction) -> None:
    """Write the marker that ends a transaction in one partition."""
    from headrace.wire.messages.write_txn_markers import (
        WritableTxnMarker,
        WritableTxnMarkerTopic,
        WriteTxnMarkersRequest,
    )

    doing = f"Aborting the transaction in {hanging.topic}-{hanging.partition}"
    marker = WritableTxnMarker(
        producer_id=hanging.producer_id,
        producer_epoch=hanging.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=hanging.topic, partition_indexes=[hanging.partition])],
        # No marker of this producer was ever written here: zero is below the epoch of any coordinator.
        coordinator_epoch=max(0, hanging.coordinator_epoch),
    )
    request = WriteTxnMarkersRequest(markers=[marker])
    response = direct.ask_or_fail(cluster, hanging.leader, request, _MARKERS_VERSION, doing)
    _check(response.markers[0].topics[0].partitions[0].error_code, doing)


def _leader(cluster: Cluster, topic: str, partition: int, doing: str) -> direct.Address:
    partitions = cluster.topic(topic).partitions
    if partition not in partitions:
        raise Problem(f"'{topic}' has no partition {partition}", f"It has {len(partitions)}, from 0 on")
    leader = partitions[partition].leader
    for address in direct.brokers(cluster, doing):
        if address.id == leader:
            return address
    raise Problem(f"{doing}: the partition has no leader now", "Try again later")


def _check(code: int, doing: str) -> None:
    if code:
        error = ErrorCode(code)
        raise Problem(f"{doing}: {error.name} ({error.message})")
