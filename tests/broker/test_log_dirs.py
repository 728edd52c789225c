"""Several log directories: where partitions go, that the metadata says so, and what remains when one of them fails."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from headrace.storage.directory import LogDirectory
from headrace.testing import LocalBroker, broker
from headrace.testing.faults import FailingFs
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from headrace.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResult
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.records.metadata import PartitionChangeRecord
from tests.broker.raw import Closed, RawClient, batch

UNASSIGNED = bytes(15) + b"\x01"
Place = dict[int, str]


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    return [tmp_path / name for name in "abc"]


def dirs(paths: list[Path]) -> str:
    return ",".join(map(str, paths))


def on_disk(paths: list[Path], topic: str) -> Place:
    """Partition → name of the directory that holds it; each is in one only."""
    found = [(int(log.name.rpartition("-")[2]), path.name) for path in paths for log in path.glob(f"{topic}-*")]
    assert len(dict(found)) == len(found)
    return dict(sorted(found))


def in_metadata(server: LocalBroker, topic: str) -> Place:
    names = server.call(lambda b: {one.id: one.files.path.name for one in b.replicas.directories})
    partitions = server.call(lambda b: b.image.topics[topic].partitions)
    return {one.partition: names.get(one.directories[0], "?") for one in partitions}


def described(server: LocalBroker) -> dict[str, DescribeLogDirsResult]:
    with RawClient(server.port) as client:
        results = client.call(DescribeLogDirsRequest(topics=None), 4).results
    return {Path(one.log_dir).name: one for one in results}


def described_places(server: LocalBroker, topic: str) -> Place:
    found = {
        row.partition_index: name
        for name, result in described(server).items()
        for one in result.topics
        if one.name == topic
        for row in one.partitions
    }
    return dict(sorted(found.items()))


def test_partitions_spread_and_the_metadata_knows_where(paths: list[Path]) -> None:
    with broker(log_dirs=dirs(paths)) as server:
        server.create_topic("t", 7)
        assert sorted(Counter(on_disk(paths, "t").values()).values()) == [2, 2, 3]
        server.create_topic("u", 2)
        both = Counter(on_disk(paths, "t").values()) + Counter(on_disk(paths, "u").values())
        assert sorted(both.values()) == [3, 3, 3]
        with RawClient(server.port) as client:
            growing = CreatePartitionsTopic(name="u", count=8, assignments=None)
            (result,) = client.call(CreatePartitionsRequest(topics=[growing], timeout_ms=1000), 3).results
            assert result.error_code == ErrorCode.NONE
        both = Counter(on_disk(paths, "t").values()) + Counter(on_disk(paths, "u").values())
        assert sorted(both.values()) == [5, 5, 5]
        for topic in ("t", "u"):
            assert in_metadata(server, topic) == on_disk(paths, topic) == described_places(server, topic)


def test_partitions_are_where_they_were_after_a_restart_in_any_order(paths: list[Path]) -> None:
    with broker(log_dirs=dirs(paths)) as server:
        server.create_topic("t", 6)
        with RawClient(server.port) as client:
            for index in range(6):
                client.produce("t", batch(b"%d" % index), partition=index)
        before = on_disk(paths, "t")
        epochs = server.call(lambda b: [one.partition_epoch for one in b.image.topics["t"].partitions])
        first, *others = paths
        server.restart(log_dirs=dirs([first, *reversed(others)]))
        assert on_disk(paths, "t") == before == in_metadata(server, "t")
        # Nothing to tell the controller, so nothing was written.
        assert server.call(lambda b: [one.partition_epoch for one in b.image.topics["t"].partitions]) == epochs
        assert sorted(record.value() for record in server.records("t", 6)) == [b"%d" % index for index in range(6)]


def test_places_that_the_metadata_does_not_know_are_told_at_the_start(paths: list[Path]) -> None:
    """As in a directory of an Apache Kafka that was stopped before its broker had told."""
    with broker(log_dirs=dirs(paths)) as server:
        server.create_topic("t", 3)
        before = on_disk(paths, "t")
        topic_id = server.call(lambda b: b.image.topics["t"].id)
        forget = [
            PartitionChangeRecord(partition_id=index, topic_id=topic_id, directories=[UNASSIGNED]) for index in range(3)
        ]
        server.call(lambda b: b.metadata.write(forget))
        assert set(in_metadata(server, "t").values()) == {"?"}
        server.restart()
        assert in_metadata(server, "t") == on_disk(paths, "t") == before


def test_a_moved_log_is_found_and_told(paths: list[Path]) -> None:
    with broker(log_dirs=dirs(paths)) as server:
        server.create_topic("t", 3)
        with RawClient(server.port) as client:
            client.produce("t", batch(b"moved"), partition=0)
        server.stop()
        place = on_disk(paths, "t")[0]
        source = next(path for path in paths if path.name == place)
        target = next(path for path in paths if path.name != place)
        shutil.move(source / "t-0", target / "t-0")
        server.start()
        assert on_disk(paths, "t")[0] == target.name == in_metadata(server, "t")[0]
        assert [record.value() for record in server.records("t", 1)] == [b"moved"]


def test_of_two_copies_the_one_that_the_metadata_names_counts(paths: list[Path]) -> None:
    with broker(log_dirs=dirs(paths)) as server:
        server.create_topic("t", 1)
        server.produce("t", [b"old"])
        server.stop()
        place = on_disk(paths, "t")[0]
        source = next(path for path in paths if path.name == place)
        copies = [path for path in paths if path.name != place]
        for other in copies:
            shutil.copytree(source / "t-0", other / "t-0")
        server.start()
        server.produce("t", [b"new"])
        assert [record.value() for record in server.records("t", 2)] == [b"old", b"new"]
        assert in_metadata(server, "t") == {0: place}
        assert all(list(other.glob("t-0.*-stray")) for other in copies)


def test_a_directory_that_fails_takes_its_own_partitions_only_and_comes_back_repaired(paths: list[Path]) -> None:
    disk = FailingFs(matching=str(paths[1]), active=False)
    with broker(log_dirs=dirs(paths), fs=disk) as server:
        server.create_topic("t", 6)
        place = on_disk(paths, "t")
        broken = {index for index, name in place.items() if name == "b"}
        assert len(broken) == 2
        with RawClient(server.port) as client:
            for index in range(6):
                assert client.produce("t", batch(b"before"), partition=index).error_code == ErrorCode.NONE
            disk.active = True
            codes = {index: client.produce("t", batch(b"during"), partition=index).error_code for index in range(6)}
            assert {index for index, code in codes.items() if code == ErrorCode.KAFKA_STORAGE_ERROR} == broken
            assert {index for index, code in codes.items() if code == ErrorCode.NONE} == set(range(6)) - broken
            assert client.fetch("t", 0, partition=min(broken)).error_code == ErrorCode.KAFKA_STORAGE_ERROR

            (topic,) = client.call(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 9).topics
            offline = {one.partition_index for one in topic.partitions if one.offline_replicas == [1]}
            assert offline == {one.partition_index for one in topic.partitions if one.leader_id == -1} == broken

        results = described(server)
        assert results["b"].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert not results["b"].topics
        assert results["a"].error_code == results["c"].error_code == ErrorCode.NONE

        # What is new goes elsewhere.
        server.create_topic("later", 4)
        assert set(on_disk(paths, "later").values()) == {"a", "c"}
        server.produce("later", [b"x"] * 8)

        disk.active = False
        server.restart()
        assert {one.error_code for one in described(server).values()} == {ErrorCode.NONE}
        with RawClient(server.port) as client:
            (topic,) = client.call(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 9).topics
            assert {one.leader_id for one in topic.partitions} == {1}
            assert {one.error_code for one in topic.partitions} == {ErrorCode.NONE}
            for index in range(6):
                assert client.produce("t", batch(b"after"), partition=index).error_code == ErrorCode.NONE
        assert on_disk(paths, "t") == place
        values = Counter(record.value() for record in server.records("t", 16))
        assert values == {b"before": 6, b"during": 4, b"after": 6}


def test_a_new_disk_in_place_of_a_lost_one_starts_empty(paths: list[Path], caplog: pytest.LogCaptureFixture) -> None:
    with broker(log_dirs=dirs(paths)) as server:
        server.create_topic("t", 3)
        with RawClient(server.port) as client:
            for index in range(3):
                client.produce("t", batch(b"x"), partition=index)
        place = on_disk(paths, "t")
        lost = next(index for index, name in place.items() if name == "c")
        server.stop()
        shutil.rmtree(paths[2])
        server.start()
        assert any(f"t-{lost}" in record.message and "start empty" in record.message for record in caplog.records)
        with RawClient(server.port) as client:
            ends = {index: client.fetch("t", 0, partition=index).high_watermark for index in range(3)}
        assert ends == {index: 0 if index == lost else 1 for index in range(3)}
        assert in_metadata(server, "t") == on_disk(paths, "t")


def test_the_directory_with_the_metadata_stops_the_broker(paths: list[Path]) -> None:
    disk = FailingFs(matching=f"{paths[0]}/__cluster_metadata-0", active=False)
    with broker(log_dirs=dirs(paths), fs=disk) as server:
        server.create_topic("t", 3)
        server.produce("t", [b"x"])
        disk.active = True
        with RawClient(server.port) as client, pytest.raises(Closed):
            client.call(
                CreateTopicsRequest(topics=[CreatableTopic(name="u", num_partitions=1, replication_factor=1)]), 5
            )
        assert server.call(lambda b: b.failed.is_set())
        server.stop()  # does not trip over the disk either
        assert not (paths[0] / ".kafka_cleanshutdown").exists()
        disk.active = False
        server.start()
        assert len(server.records("t", 1)) == 1
        server.create_topic("u")


def test_a_disk_that_fails_at_the_end_leaves_the_others_clean(paths: list[Path]) -> None:
    disk = FailingFs(matching=str(paths[1]), active=False)
    with broker(log_dirs=dirs(paths), fs=disk) as server:
        server.create_topic("t", 3)
        with RawClient(server.port) as client:
            for index in range(3):
                client.produce("t", batch(b"x"), partition=index)
        disk.active = True
        server.stop()
        disk.active = False
        assert [(path / ".kafka_cleanshutdown").exists() for path in paths] == [True, False, True]
        server.start()
        assert len(server.records("t", 3)) == 3


def test_directory_ids_are_those_of_the_registration(paths: list[Path]) -> None:
    with broker(log_dirs=dirs(paths)) as server:
        registered = server.call(lambda b: b.image.brokers[1].log_dirs)
        own = server.call(lambda b: [one.id for one in b.replicas.directories])
        assert sorted(own) == list(registered)
        server.stop()
        texts = []
        for path in paths:
            directory = LogDirectory.open(path, node_id=1)
            texts.append(directory.directory_id)
            directory.unlock()
        assert len(set(texts)) == 3
