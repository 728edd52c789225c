"""The metadata log on disk: formatting, replay, epochs, snapshots, crashes, and directories that Kafka wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.clock import ManualClock
from headrace.fs import Fs
from headrace.replica import controller
from headrace.replica.features import UnknownMetadata
from headrace.replica.image import BROKER_RESOURCE, TOPIC_RESOURCE, ClusterImage
from headrace.replica.metadata_log import MAX_BATCH_BYTES, MetadataLog
from headrace.replica.quorum_state import QuorumState, read_quorum_state
from headrace.replica.snapshot import list_snapshots
from headrace.settings import BrokerSettings
from headrace.storage.directory import LogDirectory
from headrace.wire.batch import Record, decode_records, encode_batch, iter_batches
from headrace.wire.messages.create_topics import CreateTopicsRequest
from headrace.wire.records import metadata as md
from headrace.wire.schema import Message
from headrace.wire.uuids import from_text
from tests.replica.cluster import creatable, registration

GOLDEN = Path(__file__).parent / "golden"
SEGMENT = "__cluster_metadata-0/00000000000000000000.log"


class Node:
    """A directory with its metadata log, opened and closed as a broker does it."""

    def __init__(self, path: Path, **settings: object) -> None:
        self.path = path
        self.clock = ManualClock()
        self.settings = BrokerSettings.parse({name.replace("_", "."): value for name, value in settings.items()})
        self.log: MetadataLog
        self.directory: LogDirectory

    def start(self) -> Node:
        self.directory = LogDirectory.open(self.path, node_id=1, clock=self.clock)
        try:
            self.directory.format("cluster-of-one-node-00")
            self.log = MetadataLog.open(self.directory, settings=self.settings)
        except BaseException:
            self.directory.unlock()
            raise
        return self

    def stop(self) -> None:
        self.log.close()
        self.directory.unlock()

    def crash(self) -> None:
        """Let go of the files as kill -9 does: nothing more is written."""
        self.log._log.drop()
        self.directory.unlock()

    def restart(self) -> ClusterImage:
        self.stop()
        return self.start().image

    @property
    def image(self) -> ClusterImage:
        return self.log.image

    def register(self) -> None:
        directory_id = from_text(self.directory.directory_id or "")
        self.log.append(controller.on_register_broker(self.image, registration(log_dirs=[directory_id])))

    def create(self, *names: str, partitions: int = 1) -> None:
        request = CreateTopicsRequest(topics=[creatable(name, partitions) for name in names])
        records, response = controller.on_create_topics(self.image, request, self.settings)
        assert all(result.error_code == 0 for result in response.topics)
        self.log.append(records)


@pytest.fixture
def node(tmp_path: Path):
    started = Node(tmp_path / "data").start()
    started.register()
    yield started
    started.stop()


def content(image: ClusterImage) -> ClusterImage:
    return replace(image, offset=-1, epoch=0)


def test_a_new_directory_is_formatted_as_kafka_does(tmp_path: Path) -> None:
    node = Node(tmp_path).start()
    assert node.image.features == {
        "metadata.version": 30,
        "kraft.version": 1,
        "eligible.leader.replicas.version": 1,
        "transaction.version": 2,
    }
    assert node.image.config(BROKER_RESOURCE, "") == {"min.insync.replicas": "1"}
    assert [voter.voter_id for voter in node.image.voters] == [1]
    assert node.image.voters[0].voter_directory_id == from_text(node.directory.directory_id or "")
    assert (node.image.epoch, node.image.offset) == (1, 8)
    node.stop()
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {"meta.properties", "bootstrap.checkpoint", "__cluster_metadata-0/quorum-state", SEGMENT} <= names
    assert "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint" in names
    assert json.loads((tmp_path / "__cluster_metadata-0/quorum-state").read_text()) == {
        "leaderId": 1,
        "leaderEpoch": 1,
        "votedId": -1,
        "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA",
        "data_version": 1,
    }


def test_replay_gives_back_what_was_there(node: Node) -> None:
    node.create("a", "b.c", partitions=3)
    before = node.image
    after = node.restart()
    assert content(after) == content(before)
    assert after.epoch == before.epoch + 1
    assert after.offset == before.offset + 1, "a new epoch begins with its LeaderChange record"


def test_every_append_is_on_disk_when_it_returns(node: Node) -> None:
    for number in range(20):
        node.create(f"t{number}")
    before = node.image
    node.crash()
    assert content(node.start().image) == content(before)


def test_the_epoch_is_written_down_before_it_is_used(node: Node) -> None:
    for expected in range(2, 5):
        node.restart()
        assert read_quorum_state(Fs(), node.log.folder) == QuorumState(1, expected)
        assert node.image.epoch == expected


def test_snapshots_replace_the_log_before_them(node: Node) -> None:
    node.create("a", partitions=2)
    first = node.log.snapshot()
    node.create("b")
    before = node.image
    assert first.end_offset <= before.offset
    after = node.restart()
    assert content(after) == content(before)
    node.log.snapshot()
    assert content(node.restart()) == content(before)


def test_a_snapshot_is_due_by_size_or_time(tmp_path: Path) -> None:
    node = Node(
        tmp_path, metadata_log_max_record_bytes_between_snapshots=5_000, metadata_log_max_snapshot_interval_ms=1_000
    )
    node.start().register()
    assert not node.log.maybe_snapshot()
    node.create(*(f"t{number}" for number in range(50)))
    assert node.log.maybe_snapshot()
    assert not node.log.maybe_snapshot(), "nothing is new"
    node.create("late")
    node.clock.advance(1_000)
    assert node.log.maybe_snapshot()
    node.stop()


def test_old_snapshots_and_segments_go(tmp_path: Path) -> None:
    node = Node(tmp_path, metadata_max_retention_bytes=1, metadata_log_segment_bytes=8 * 1024 * 1024)
    node.start().register()
    for number in range(3):
        node.create(*(f"{number}-{index}" for index in range(20)))
        node.log.snapshot()
    assert len(list_snapshots(Fs(), node.log.folder)) == 1
    before = node.image
    assert content(node.restart()) == content(before)
    node.stop()


def test_a_snapshot_that_was_not_finished_is_nobodys(node: Node) -> None:
    node.create("a")
    snapshot = node.log.snapshot()
    whole = node.log.folder / snapshot.file_name
    half = node.log.folder / "00000000000000000099-0000000001.checkpoint.part"
    half.write_bytes(whole.read_bytes()[:100])
    before = node.image
    assert content(node.restart()) == content(before)


@pytest.mark.parametrize("keep", [0, 30, 200])
def test_a_damaged_snapshot_stops_the_start(node: Node, keep: int) -> None:
    path = node.log.folder / node.log.snapshot().file_name
    node.stop()
    whole = path.read_bytes()
    path.write_bytes(whole[:keep])
    with pytest.raises(UnknownMetadata, match="checkpoint"):
        node.start()
    path.write_bytes(whole)
    node.start()


def test_formatting_cut_short_is_done_again(tmp_path: Path) -> None:
    node = Node(tmp_path).start()
    node.stop()
    for path in (tmp_path / "__cluster_metadata-0").iterdir():
        path.unlink()
    assert node.start().image.features["metadata.version"] == 30
    node.stop()


def test_a_crash_before_the_bootstrap_records_is_made_good(tmp_path: Path) -> None:
    node = Node(tmp_path).start()
    node.stop()
    segment = tmp_path / SEGMENT
    first_batch = next(header for _, header in iter_batches(segment.read_bytes()))
    segment.write_bytes(segment.read_bytes()[: first_batch.size])
    assert node.start().image.features["metadata.version"] == 30
    node.stop()


def test_a_cut_at_every_byte_of_the_last_batch_loses_only_that_batch(node: Node) -> None:
    node.create("kept")
    before = node.image
    segment = node.path / SEGMENT
    size = segment.stat().st_size
    node.create("lost")
    node.stop()
    whole = segment.read_bytes()
    for length in [size, size + 1, size + 12, (size + len(whole)) // 2, len(whole) - 1]:
        segment.write_bytes(whole[:length])
        for leftover in (node.path / "__cluster_metadata-0").glob("*.*index"):
            leftover.unlink()
        assert content(node.start().image) == content(before)
        node.crash()
        segment.write_bytes(whole)
    node.start()


def test_a_change_larger_than_a_batch_counts_whole_or_not_at_all(node: Node) -> None:
    node.create("large")
    segment = node.path / SEGMENT
    start = segment.stat().st_size
    before = node.image
    after = node.log.append(
        [
            md.ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name="large", name=f"name-{number}", value=value)
            for number, value in enumerate(["x" * 30_000] * (3 * MAX_BATCH_BYTES // 30_000))
        ]
    )
    # Compared apart from the assertions, which would print tens of megabytes.
    kept = content(node.restart()) == content(after)
    assert kept, "not the whole of it counts"
    node.stop()
    whole = segment.read_bytes()
    batches = [header.size for _, header in iter_batches(whole[start:])]
    assert len(batches) > 3
    segment.write_bytes(whole[: start + sum(batches[:2])])
    for leftover in (node.path / "__cluster_metadata-0").glob("*.*index"):
        leftover.unlink()
    gone = content(node.start().image) == content(before)
    assert gone, "a part of it counts"
    node.create("small")
    assert len(node.restart().topics) == 2


def test_what_cannot_be_applied_is_not_written(node: Node) -> None:
    before, size = node.image, (node.path / SEGMENT).stat().st_size
    with pytest.raises(UnknownMetadata):
        node.log.append([md.FeatureLevelRecord(name="quantum.version", feature_level=1)])
    assert (node.image, (node.path / SEGMENT).stat().st_size) == (before, size)


def append_raw(node: Node, value: bytes) -> None:
    """Write a record as a newer version might have."""
    end = node.image.offset + 1
    batch = encode_batch([Record(end, 1, None, value, [])], base_offset=end)
    node.log._log.append(memoryview(batch), leader_epoch=node.image.epoch, now_ms=1, origin="coordinator")
    node.log._log.flush()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"\x01\x63\x00\x00", "type 99"),
        (b"\x02\x02\x00", "frame version 2"),
        (
            md.encode_record(md.FeatureLevelRecord(name="metadata.version", feature_level=31)),
            "metadata.version at level 31",
        ),
        (md.encode_record(md.FeatureLevelRecord(name="new.version", feature_level=1)), "new.version"),
    ],
)
def test_what_this_version_does_not_know_stops_the_start(node: Node, value: bytes, says: str) -> None:
    append_raw(node, value)
    segment = node.path / SEGMENT
    node.stop()
    whole = segment.read_bytes()
    with pytest.raises(UnknownMetadata, match=says):
        node.start()
    assert segment.read_bytes() == whole, "and nothing was written"
    last = list(iter_batches(whole))[-1][0]
    segment.write_bytes(whole[:last])
    for leftover in (node.path / "__cluster_metadata-0").glob("*.*index"):
        leftover.unlink()
    node.start()


def test_settings_follow_dynamic_broker_configs(node: Node) -> None:
    record = md.ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="1", name="message.max.bytes", value="77")
    node.log.append([record])
    assert node.settings["message.max.bytes"] == 77
    node.settings = BrokerSettings.parse({})
    node.restart()
    assert node.settings["message.max.bytes"] == 77, "from the start on"


def kafka_directory(path: Path, keep: Callable[[str], bool] = lambda name: True) -> Path:
    """What Apache Kafka 4.3 left behind after `format --standalone`, a few commands, and a clean stop."""
    for name, content_hex in json.loads((GOLDEN / "kafka_4_3_directory.json").read_text()).items():
        if keep(name):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(bytes.fromhex(content_hex))
    return path


def test_a_directory_of_apache_kafka_opens(tmp_path: Path) -> None:
    node = Node(kafka_directory(tmp_path)).start()
    image = node.image
    assert list(image.topics) == ["beta"]
    assert len(image.topics["beta"].partitions) == 3
    assert image.topic_config("beta") == {"segment.bytes": "2000000"}
    assert image.config(BROKER_RESOURCE, "") == {"min.insync.replicas": "1", "num.io.threads": "9"}
    assert node.settings["num.io.threads"] == 9
    assert image.features["transaction.version"] == 2, "kept, though not implemented"
    assert all(partition.leader == -1 for partition in image.topics["beta"].partitions)
    node.register()
    assert all((p.leader, p.isr) == (1, (1,)) for p in node.image.topics["beta"].partitions)
    node.log.snapshot()
    before = node.image
    assert content(node.restart()) == content(before)
    node.stop()


def test_a_directory_that_kafka_formatted_and_never_started_opens(tmp_path: Path) -> None:
    kept = (
        "meta.properties",
        "bootstrap.checkpoint",
        "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
    )
    node = Node(kafka_directory(tmp_path, lambda name: name in kept)).start()
    assert node.image.features["share.version"] == 1, "the levels that it was formatted with"
    assert node.image.offset == 11
    node.stop()


def test_every_record_kafka_wrote_is_written_back_as_it_was() -> None:
    segment = bytes.fromhex(json.loads((GOLDEN / "kafka_4_3_directory.json").read_text())[SEGMENT])
    types: set[type[Message]] = set()
    for position, header in iter_batches(segment):
        if header.is_control:
            continue
        for record in decode_records(segment, position):
            message, version = md.decode_record(record.value or b"")
            types.add(type(message))
            assert md.encode_record(message, version) == record.value
    assert len(types) >= 11


def test_a_quorum_with_other_voters_is_refused(tmp_path: Path) -> None:
    node = Node(kafka_directory(tmp_path), node_id=1).start()
    other = replace(node.image, voters=())
    voter = node.image.voters[0]
    voter.voter_id = 2
    with pytest.raises(UnknownMetadata, match="other voters"):
        node.log._with_raft_state(other, 1, (voter,))
    node.stop()
