"""Everything that a broker serves, read over the wire as plain data, so that two brokers can be compared.

`contents(port)` asks any Kafka: topics with ids and epochs, settings, the bytes of every partition, offsets, groups with members and
commits, transactions and producers. `differences` says what a copy of the data shows differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from headrace.broker.internal_topic import partition_for
from headrace.replica.topic_names import CONSUMER_OFFSETS
from headrace.testing import wait_until
from headrace.wire.batch import iter_batches
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from headrace.wire.messages.describe_groups import DescribeGroupsRequest
from headrace.wire.messages.describe_producers import DescribeProducersRequest
from headrace.wire.messages.describe_producers import TopicRequest as ProducersOfTopic
from headrace.wire.messages.describe_transactions import DescribeTransactionsRequest
from headrace.wire.messages.fetch import PartitionData
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.list_groups import ListGroupsRequest
from headrace.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from headrace.wire.messages.list_transactions import ListTransactionsRequest
from headrace.wire.messages.metadata import MetadataRequest, MetadataResponseTopic
from headrace.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from headrace.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.raw import RawClient

Plain = Any
TOPIC, BROKER = 2, 4
SET_BY_SOMEBODY = {1, 2, 3}  # the topic's, the broker's and all brokers' settings, as opposed to files and defaults
WITH_COMMITS = {"classic", "consumer"}
EARLIEST, LATEST, MAX_TIMESTAMP = -2, -1, -3


@dataclass
class PartitionContents:
    leader_epoch: int
    records: bytes
    start: int
    end: int
    last_stable: int
    latest_timestamp: tuple[int, int]
    aborted: list[tuple[int, int]]
    epoch_ends: list[tuple[int, int]]
    """For every earlier epoch of the leader: (the epoch that answers, where it ends)."""
    producers: list[Plain]


@dataclass
class Contents:
    cluster_id: str
    topic_ids: dict[str, bytes]
    settings: dict[tuple[int, str], dict[str, str | None]]
    partitions: dict[tuple[str, int], PartitionContents]
    groups: dict[str, Plain]
    commits: dict[str, Plain]
    transactions: dict[str, Plain]


def contents(port: int) -> Contents:
    with RawClient(port, timeout_s=30) as client:
        metadata = client.call(MetadataRequest(topics=None, allow_auto_topic_creation=False), 12)
        topics: list[MetadataResponseTopic] = sorted(metadata.topics, key=lambda topic: topic.name)
        assert all(topic.error_code == 0 for topic in topics)
        names = [topic.name for topic in topics]
        wait_for_groups(client, {topic.name: len(topic.partitions) for topic in topics}.get(CONSUMER_OFFSETS, 0))
        groups, commits = read_groups(client)
        return Contents(
            cluster_id=metadata.cluster_id,
            topic_ids={topic.name: topic.topic_id for topic in topics},
            settings=read_settings(client, [(TOPIC, name) for name in names] + [(BROKER, "1"), (BROKER, "")]),
            partitions={
                (topic.name, one.partition_index): read_partition(client, topic.name, one)
                for topic in topics
                for one in topic.partitions
            },
            groups=groups,
            commits=commits,
            transactions=read_transactions(client),
        )


def read_settings(client: RawClient, resources: list[tuple[int, str]]) -> dict[tuple[int, str], dict[str, str | None]]:
    """What was set on the topics and brokers; files and defaults do not travel with the data."""
    wanted = [
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        for kind, name in resources
    ]
    answer = client.call(DescribeConfigsRequest(resources=wanted, include_synonyms=False), 4)
    assert all(one.error_code == 0 for one in answer.results), answer
    return {
        (one.resource_type, one.resource_name): {
            config.name: config.value
            for config in sorted(one.configs, key=lambda config: config.name)
            if config.config_source in SET_BY_SOMEBODY
        }
        for one in answer.results
    }


# Partitions


def read_partition(client: RawClient, topic: str, described: Any) -> PartitionContents:
    partition = described.partition_index
    start = list_offset(client, topic, partition, EARLIEST)[1]
    end = list_offset(client, topic, partition, LATEST)[1]
    parts, aborted = [], set()
    position = start
    while position < end:
        data = read(client, topic, partition, position)
        if not data.records:
            break  # the end has been compacted away
        parts.append(bytes(data.records))
        aborted |= read_aborted(client, topic, partition, position)
        position = _next_offset(parts[-1])
    return PartitionContents(
        leader_epoch=described.leader_epoch,
        records=b"".join(parts),
        start=start,
        end=end,
        last_stable=list_offset(client, topic, partition, LATEST, isolation_level=1)[1],
        latest_timestamp=latest_timestamp(client, topic, partition, start),
        aborted=sorted(aborted),
        epoch_ends=read_epochs(client, topic, partition, described.leader_epoch),
        producers=read_producers(client, topic, partition),
    )


def read(client: RawClient, topic: str, partition: int, offset: int, **options: Any) -> PartitionData:
    data = client.fetch(topic, offset, partition=partition, **options)
    assert data.error_code == 0, (topic, partition, offset, ErrorCode(data.error_code))
    return data


def read_aborted(client: RawClient, topic: str, partition: int, offset: int) -> set[tuple[int, int]]:
    data = read(client, topic, partition, offset, isolation_level=1)
    return {(one.producer_id, one.first_offset) for one in data.aborted_transactions or ()}


def _next_offset(data: bytes) -> int:
    return max(header.last_offset for _, header in iter_batches(memoryview(data))) + 1


def list_offset(
    client: RawClient, topic: str, partition: int, timestamp: int, isolation_level: int = 0
) -> tuple[int, int]:
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    request = ListOffsetsRequest(
        replica_id=-1, isolation_level=isolation_level, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])]
    )
    answer = client.call(request, 8).topics[0].partitions[0]
    assert answer.error_code == 0, (topic, partition, ErrorCode(answer.error_code))
    return answer.timestamp, answer.offset


def latest_timestamp(client: RawClient, topic: str, partition: int, start: int) -> tuple[int, int]:
    """Apache Kafka may name a record that has been deleted; Headrace then names none."""
    found = list_offset(client, topic, partition, MAX_TIMESTAMP)
    return found if found[1] >= start else (-1, -1)


def read_epochs(client: RawClient, topic: str, partition: int, current: int) -> list[tuple[int, int]]:
    ends = []
    for epoch in range(current):
        wanted = OffsetForLeaderPartition(partition=partition, current_leader_epoch=-1, leader_epoch=epoch)
        request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[wanted])])
        answer = client.call(request, 4).topics[0].partitions[0]
        assert answer.error_code == 0
        ends.append((answer.leader_epoch, answer.end_offset))
    return ends


def read_producers(client: RawClient, topic: str, partition: int) -> list[Plain]:
    request = DescribeProducersRequest(topics=[ProducersOfTopic(name=topic, partition_indexes=[partition])])
    (answer,) = client.call(request, 0).topics[0].partitions
    assert answer.error_code == 0
    return sorted(
        (
            one.producer_id,
            one.producer_epoch,
            one.last_sequence,
            one.last_timestamp,
            one.coordinator_epoch,
            one.current_txn_start_offset,
        )
        for one in answer.active_producers
    )


# Coordinators


def wait_for_groups(client: RawClient, partitions: int) -> None:
    """Apache Kafka lists the groups of the partitions that are loaded, and says nothing of the others."""
    probes = {partition_for(name, partitions): name for name in map(str, range(50 * partitions))} if partitions else {}
    assert len(probes) == partitions

    def loaded(group: str) -> bool:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
        error = client.call(request, 9).groups[0].error_code
        assert error in (ErrorCode.NONE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
        return error == 0

    for group in probes.values():
        wait_until(partial(loaded, group), timeout_s=60)


def read_groups(client: RawClient) -> tuple[dict[str, Plain], dict[str, Plain]]:
    def listed() -> Any:
        answer = client.call(ListGroupsRequest(), 5)
        return answer if answer.error_code == 0 else None

    types = {group.group_id: group.group_type for group in wait_until(listed, timeout_s=30).groups}
    for name in types:
        find_coordinator(client, name, 0)
    classic = sorted(name for name, kind in types.items() if kind == "classic")
    described = client.call(DescribeGroupsRequest(groups=classic), 5).groups if classic else []
    groups = {
        one.group_id: (
            one.error_code,
            one.group_state,
            one.protocol_type,
            one.protocol_data,
            sorted(
                (
                    member.member_id,
                    member.group_instance_id,
                    member.client_id,
                    bytes(member.member_metadata),
                    bytes(member.member_assignment),
                )
                for member in one.members
            ),
        )
        for one in described
    }
    return groups, {name: read_commits(client, name) for name, kind in types.items() if kind in WITH_COMMITS}


def read_commits(client: RawClient, group: str) -> Plain:
    found = {}
    for stable in (False, True):
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=group, topics=None)], require_stable=stable
        )
        answer = client.call(request, 9).groups[0]
        assert answer.error_code == 0
        for topic in answer.topics:
            for one in topic.partitions:
                found[stable, topic.name, one.partition_index] = (
                    one.committed_offset,
                    one.committed_leader_epoch,
                    one.metadata,
                    one.error_code,
                )
    return found


def read_transactions(client: RawClient) -> dict[str, Plain]:
    def listed() -> Any:
        answer = client.call(ListTransactionsRequest(), 1)
        return answer if answer.error_code == 0 else None

    names = sorted(one.transactional_id for one in wait_until(listed, timeout_s=30).transaction_states)
    if not names:
        return {}
    for name in names:
        find_coordinator(client, name, 1)
    return {
        one.transactional_id: (
            one.error_code,
            one.transaction_state,
            one.transaction_timeout_ms,
            one.transaction_start_time_ms,
            one.producer_id,
            one.producer_epoch,
            sorted((topic.topic, index) for topic in one.topics for index in topic.partitions),
        )
        for one in client.call(DescribeTransactionsRequest(transactional_ids=names), 0).transaction_states
    }


def find_coordinator(client: RawClient, key: str, key_type: int) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    wait_until(lambda: client.call(request, 4).coordinators[0].error_code == 0, timeout_s=30)


# Comparison


def differences(before: Contents, after: Contents) -> list[str]:
    """What another broker shows differently on a copy of the same data: empty when it is all the same."""
    found = []
    for field in ("cluster_id", "topic_ids", "settings", "commits", "transactions"):
        found += _differences(field, getattr(before, field), getattr(after, field))
    # Of a group of a newer protocol Headrace knows the commits alone.
    groups = {name: one for name, one in after.groups.items() if name in before.groups or name not in before.commits}
    found += _differences("groups", before.groups, groups)
    for key, one in before.partitions.items():
        if key in after.partitions:
            found += _partition_differences(f"{key[0]}-{key[1]}", one, after.partitions[key])
        else:
            found.append(f"{key[0]}-{key[1]} is gone")
    return found


def _differences(what: str, before: Plain, after: Plain) -> list[str]:
    if not isinstance(before, dict):
        return [] if before == after else [f"{what}: {before!r} became {after!r}"]
    return [
        f"{what} of {key}: {before.get(key)!r} became {after.get(key)!r}"
        for key in {**before, **after}
        if before.get(key) != after.get(key)
    ]


def _partition_differences(name: str, before: PartitionContents, after: PartitionContents) -> list[str]:
    found = []
    for field in ("start", "end", "last_stable", "latest_timestamp", "aborted", "producers"):
        found += _differences(f"{name}: {field}", getattr(before, field), getattr(after, field))
    if after.records != before.records:
        found.append(f"{name}: {len(before.records)} bytes of records became {len(after.records)} other ones")
    if after.leader_epoch < before.leader_epoch:
        found.append(f"{name}: leader epoch {before.leader_epoch} became {after.leader_epoch}")
    known = len(before.epoch_ends)
    if after.epoch_ends[:known] != before.epoch_ends:
        found.append(f"{name}: ends of epochs {before.epoch_ends} became {after.epoch_ends[:known]}")
    return found


def producer_ids(seen: Contents) -> set[int]:
    """Every producer id that the data speaks of."""
    ids = {producer[0] for one in seen.partitions.values() for producer in one.producers}
    return ids | {one[4] for one in seen.transactions.values()}
