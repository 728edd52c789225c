"""What topic settings do on a running broker, seen through real clients: retention, rolling, flushing, sizes, timestamps."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, OffsetSpec, ResourceType

from headrace.fs import Fs
from headrace.testing import LocalBroker, ManualClock, broker, wait_until

NOW = 1_700_000_000_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
MIB = 1024 * 1024


class CountingFs(Fs):
    """Counts the times that a segment was forced to disk."""

    __slots__ = ("_lock", "_paths", "syncs")

    def __init__(self) -> None:
        super().__init__()
        self.syncs: list[str] = []
        self._paths: dict[int, str] = {}
        self._lock = threading.Lock()

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        fd = super().open(path, flags, mode)
        with self._lock:
            self._paths[fd] = path
        return fd

    def fsync(self, fd: int) -> None:
        super().fsync(fd)
        with self._lock:
            self.syncs.append(self._paths[fd])

    def of(self, topic: str) -> int:
        with self._lock:
            return sum(f"/{topic}-0/" in path and path.endswith(".log") for path in self.syncs)


@pytest.fixture(scope="module")
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture(scope="module")
def disk() -> CountingFs:
    return CountingFs()


@pytest.fixture(scope="module")
def server(clock: ManualClock, disk: CountingFs) -> Iterator[LocalBroker]:
    with broker(clock=clock, fs=disk, log_retention_check_interval_ms=1000) as running:
        yield running


def send(server: LocalBroker, topic: str, *values: bytes, timestamp: int, **config: Any) -> list[Any]:
    """Send values one request each; the error of each, or nothing."""
    outcomes: list[Any] = []
    producer = server.producer(linger_ms=0, enable_idempotence=False, **config)
    for value in values:
        producer.produce(topic, value, timestamp=timestamp, on_delivery=lambda error, _: outcomes.append(error))
        assert producer.flush(20) == 0
    return outcomes


def start_offset(server: LocalBroker, topic: str) -> int:
    return server.consumer().get_watermark_offsets(TopicPartition(topic, 0), timeout=10, cached=False)[0]


def segments(server: LocalBroker, topic: str, suffix: str = ".log") -> list[str]:
    return sorted(path.name for path in (server.data_dir / f"{topic}-0").glob(f"*{suffix}"))


def file(base_offset: int, suffix: str = ".log") -> str:
    return f"{base_offset:020d}{suffix}"


def alter(server: LocalBroker, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    admin = server.admin()
    (future,) = admin.incremental_alter_configs(
        [ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])]
    ).values()
    future.result(10)


def test_retention_by_time_and_files_that_go_later(server: LocalBroker, clock: ManualClock) -> None:
    server.create_topic("timed", retention_ms=HOUR, segment_ms=10 * MINUTE, file_delete_delay_ms=5 * MINUTE)
    for _ in range(3):
        send(server, "timed", b"a", b"b", timestamp=clock.now_ms())
        clock.advance(20 * MINUTE)
    assert segments(server, "timed") == [file(0), file(2), file(4)]
    clock.advance(15 * MINUTE)  # the first records are 75 minutes old, the next 55
    wait_until(lambda: start_offset(server, "timed") == 2)
    # Renamed at once, removed once the delay is over.
    wait_until(lambda: segments(server, "timed") == [file(2), file(4)])
    assert file(0, ".log.deleted") in segments(server, "timed", ".deleted")
    clock.advance(5 * MINUTE)
    wait_until(lambda: not segments(server, "timed", ".deleted"))
    clock.advance(2 * HOUR)
    # The last one goes, too: what is written to is old.
    wait_until(lambda: start_offset(server, "timed") == 6)
    assert send(server, "timed", b"new", timestamp=clock.now_ms()) == [None]
    (record,) = server.records("timed", 1)
    assert (record.offset(), record.value()) == (6, b"new")


def test_retention_for_ever_until_somebody_changes_it(server: LocalBroker, clock: ManualClock) -> None:
    server.create_topic("kept", retention_ms=-1, segment_ms=MINUTE)
    server.create_topic("gone", retention_ms=HOUR)
    for topic in ("kept", "gone"):
        send(server, topic, b"x", timestamp=clock.now_ms())
    clock.advance(5 * 365 * DAY)
    wait_until(lambda: start_offset(server, "gone") == 1)
    assert start_offset(server, "kept") == 0
    assert [one.value() for one in server.records("kept", 1)] == [b"x"]
    alter(server, "kept", "retention.ms", str(DAY))
    clock.advance(2000)
    wait_until(lambda: start_offset(server, "kept") == 1)


def test_the_default_is_seven_days(server: LocalBroker, clock: ManualClock) -> None:
    server.create_topic("week")
    send(server, "week", b"x", timestamp=clock.now_ms())
    server.create_topic("watch", retention_ms=HOUR)
    send(server, "watch", b"x", timestamp=clock.now_ms())
    clock.advance(7 * DAY - HOUR)
    wait_until(lambda: start_offset(server, "watch") == 1)
    assert start_offset(server, "week") == 0
    clock.advance(2 * HOUR)
    wait_until(lambda: start_offset(server, "week") == 1)


def test_retention_by_size(server: LocalBroker, clock: ManualClock) -> None:
    server.create_topic("sized", segment_bytes=MIB, retention_bytes=3 * MIB, max_message_bytes=2 * MIB)
    send(server, "sized", *[b"x" * 600_000] * 12, timestamp=clock.now_ms(), compression_type="none")
    assert len(segments(server, "sized")) == 12
    clock.advance(2000)
    # Segments go while what is left stays above the limit.
    wait_until(lambda: start_offset(server, "sized") == 6)
    wait_until(lambda: len(segments(server, "sized")) == 6)  # files are renamed behind the start offset
    sizes = [path.stat().st_size for path in (server.data_dir / "sized-0").glob("*.log")]
    assert 3 * MIB <= sum(sizes) < 3 * MIB + 2 * 600_100


def test_segments_roll_by_time(server: LocalBroker, clock: ManualClock) -> None:
    server.create_topic("rolled", segment_ms=MINUTE, retention_ms=-1)
    send(server, "rolled", b"a", b"b", timestamp=clock.now_ms())
    clock.advance(MINUTE + 1)
    send(server, "rolled", b"c", timestamp=clock.now_ms())
    assert segments(server, "rolled") == [file(0), file(2)]
    assert [one.value() for one in server.records("rolled", 3)] == [b"a", b"b", b"c"]


def test_delete_records(server: LocalBroker, clock: ManualClock) -> None:
    server.create_topic("cut")
    send(server, "cut", *[b"%d" % number for number in range(10)], timestamp=clock.now_ms())
    admin = server.admin()

    def delete_before(offset: int) -> int:
        (future,) = admin.delete_records([TopicPartition("cut", 0, offset)]).values()
        return future.result(10).low_watermark

    assert delete_before(4) == 4
    assert start_offset(server, "cut") == 4
    assert [one.offset() for one in server.records("cut", 6)] == [4, 5, 6, 7, 8, 9]
    with pytest.raises(KafkaException) as raised:
        delete_before(11)
    assert raised.value.args[0].code() == KafkaError.OFFSET_OUT_OF_RANGE
    assert delete_before(-1) == 10  # -1: all of it
    (future,) = admin.list_offsets({TopicPartition("cut", 0): OffsetSpec.earliest()}).values()
    assert future.result(10).offset == 10
    server.restart()
    assert start_offset(server, "cut") == 10


def test_flush_messages_forces_before_the_answer(server: LocalBroker, clock: ManualClock, disk: CountingFs) -> None:
    server.create_topic("safe", flush_messages=1)
    server.create_topic("loose")
    for number in range(1, 4):
        before = disk.of("safe")
        assert send(server, "safe", b"x", timestamp=clock.now_ms()) == [None]
        assert disk.of("safe") == before + 1, f"record {number} was acknowledged before it was on disk"
        send(server, "loose", b"x", timestamp=clock.now_ms())
    assert disk.of("loose") == 0
    assert server.call(lambda b: b.replicas.get("safe", 0).log.recovery_point) == 3


def test_flush_ms_forces_in_time(server: LocalBroker, clock: ManualClock, disk: CountingFs) -> None:
    server.create_topic("soon", flush_ms=10_000)
    send(server, "soon", b"x", timestamp=clock.now_ms())
    clock.advance(5_000)
    server.call(lambda b: b.replicas.flush_due())
    assert disk.of("soon") == 0
    clock.advance(6_000)
    wait_until(lambda: disk.of("soon") == 1)
    wait_until(lambda: server.call(lambda b: b.replicas.get("soon", 0).log.recovery_point) == 1)


def test_max_message_bytes(server: LocalBroker, clock: ManualClock) -> None:
    server.create_topic("small", max_message_bytes=2000)
    (error,) = send(server, "small", b"x" * 3000, timestamp=clock.now_ms(), compression_type="none")
    assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert send(server, "small", b"x" * 1500, timestamp=clock.now_ms()) == [None]
    alter(server, "small", "max.message.bytes", "5000")
    assert send(server, "small", b"x" * 3000, timestamp=clock.now_ms(), compression_type="none") == [None]
    assert len(server.records("small", 2)) == 2


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_log_append_time(server: LocalBroker, clock: ManualClock, codec: str) -> None:
    topic = server.create_topic(f"stamped-{codec}", message_timestamp_type="LogAppendTime")
    producer = server.producer(compression_type=codec, linger_ms=200)
    stamped: list[tuple[int, int]] = []
    for number in range(3):
        producer.produce(
            topic, b"x" * 200, timestamp=1000 + number, on_delivery=lambda _, m: stamped.append(m.timestamp())
        )
    assert producer.flush(20) == 0
    now = clock.now_ms()
    assert {one.timestamp() for one in server.records(topic, 3)} == {(TIMESTAMP_LOG_APPEND_TIME, now)}
    assert {timestamp for _, timestamp in stamped} == {now}
    admin = server.admin()
    (future,) = admin.list_offsets({TopicPartition(topic, 0): OffsetSpec.for_timestamp(now)}).values()
    assert future.result(10).offset == 0
    alter(server, topic, "message.timestamp.type", "CreateTime")
    send(server, topic, b"y", timestamp=now - 5)
    assert server.records(topic, 4)[3].timestamp() == (TIMESTAMP_CREATE_TIME, now - 5)


def test_timestamps_out_of_bounds(server: LocalBroker, clock: ManualClock) -> None:
    topic = server.create_topic(
        "bounded", message_timestamp_before_max_ms=10 * MINUTE, message_timestamp_after_max_ms=5 * MINUTE
    )
    now = clock.now_ms()
    for timestamp, fits in (
        (now, True),
        (now - 10 * MINUTE, True),
        (now + 5 * MINUTE, True),
        (now - 10 * MINUTE - 1, False),
        (now + 5 * MINUTE + 1, False),
    ):
        (error,) = send(server, topic, b"x", timestamp=timestamp)
        assert (error is None) == fits, timestamp - now
        if error is not None:
            assert error.code() == KafkaError.INVALID_TIMESTAMP
    assert len(server.records(topic, 3)) == 3


def test_an_hour_ahead_is_the_default_bound(server: LocalBroker, clock: ManualClock) -> None:
    topic = server.create_topic("clocks")
    assert send(server, topic, b"x", timestamp=clock.now_ms() + HOUR) == [None]
    (error,) = send(server, topic, b"x", timestamp=clock.now_ms() + HOUR + 1)
    assert error.code() == KafkaError.INVALID_TIMESTAMP
    assert send(server, topic, b"x", timestamp=1) == [None]


def test_records_without_a_key_on_a_compacted_topic(server: LocalBroker, clock: ManualClock) -> None:
    topic = server.create_topic("compacted", cleanup_policy="compact")
    (error,) = send(server, topic, b"no key", timestamp=clock.now_ms())
    assert error.code() == KafkaError.INVALID_RECORD
    producer = server.producer()
    producer.produce(topic, b"v", b"k", timestamp=clock.now_ms())
    assert producer.flush(10) == 0
    assert len(server.records(topic, 1)) == 1


def test_settings_of_a_topic_are_there_after_a_restart(server: LocalBroker, clock: ManualClock, tmp_path: Path) -> None:
    topic = server.create_topic("again", max_message_bytes=1000, retention_ms=HOUR)
    server.restart()
    (error,) = send(server, topic, b"x" * 2000, timestamp=clock.now_ms(), compression_type="none")
    assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    send(server, topic, b"x", timestamp=clock.now_ms())
    clock.advance(2 * HOUR)
    wait_until(lambda: start_offset(server, topic) == 1)
