"""`headrace.testing.broker`: a real broker in this process, with a clock and settings of the test's choice."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from headrace.settings import SettingError
from headrace.testing import LocalBroker, ManualClock, broker, wait_until


def test_a_record_goes_in_and_comes_out() -> None:
    with broker() as b:
        b.create_topic("orders", partitions=2)
        assert b.produce("orders", [("k", "one"), ("k", "two"), (None, b"three")]) == 3
        assert sorted(message.value() for message in b.records("orders", 3)) == [b"one", b"three", b"two"]


def test_it_starts_quickly() -> None:
    with broker():
        pass  # the first start pays for imports
    begin = time.monotonic()
    with broker():
        took = time.monotonic() - begin
    assert took < 1.0, "about 100 ms on a quiet machine"


def test_nothing_is_left_behind() -> None:
    threads = set(threading.enumerate())
    with broker() as b:
        directory, port = b.data_dir, b.port
        assert directory.exists()
    assert not directory.exists()
    assert not b.running
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 1)
    assert not [thread for thread in set(threading.enumerate()) - threads if thread.name.startswith("headrace")]


def test_a_restart_keeps_port_and_data_and_takes_settings() -> None:
    with broker(num_partitions=3) as b:
        port = b.port
        b.create_topic("kept")
        b.produce("kept", ["before"])
        b.restart(num_partitions=5)
        assert b.port == port
        assert [message.value() for message in b.records("kept", 1)] == [b"before"]
        assert b.call(lambda server: server.settings["num.partitions"]) == 5
        b.stop()
        b.stop()
        assert not b.running


def test_settings_come_as_keywords_or_with_their_own_names(tmp_path: Path) -> None:
    with broker({"num.partitions": 7}, data_dir=tmp_path / "data", auto_create_topics_enable=False) as b:
        assert b.call(lambda server: server.settings["num.partitions"]) == 7
        assert b.call(lambda server: server.settings["auto.create.topics.enable"]) is False
    assert (tmp_path / "data" / "meta.properties").exists()
    with pytest.raises(SettingError, match=r"num\.partitoins"), broker(num_partitoins=7):
        pass


def test_the_clock_is_the_tests() -> None:
    clock = ManualClock(1_700_000_000_000)
    with broker(clock=clock) as b:
        b.create_topic("stamped", message_timestamp_type="LogAppendTime")
        b.produce("stamped", ["first"])
        clock.advance(3_600_000)
        b.produce("stamped", ["second"])
        first, second = b.records("stamped", 2)
    assert first.timestamp()[1] == 1_700_000_000_000
    assert second.timestamp()[1] == 1_700_003_600_000


def test_a_week_passes_in_a_moment() -> None:
    clock = ManualClock()
    with broker(clock=clock, log_retention_check_interval_ms=1000) as b:
        b.create_topic("orders")
        b.produce("orders", ["old"])
        consumer = b.consumer()

        def start() -> int:
            return consumer.get_watermark_offsets(TopicPartition("orders", 0), timeout=10)[0]

        assert start() == 0
        clock.advance(8 * 24 * 3_600_000)
        wait_until(start, message="retention")
        consumer.close()


async def _loop_thread(_server: object) -> str:
    return threading.current_thread().name


def test_call_runs_on_the_brokers_own_loop(headrace_broker: LocalBroker) -> None:
    assert headrace_broker.call(_loop_thread) == "headrace-broker"
    assert headrace_broker.call(lambda server: server.port) == headrace_broker.port


@pytest.mark.headrace(num_partitions=9)
def test_the_fixture_takes_settings_from_its_mark(headrace_broker: LocalBroker) -> None:
    assert headrace_broker.call(lambda server: server.settings["num.partitions"]) == 9


def test_the_shared_fixture_is_one_broker(headrace_shared_broker: LocalBroker, request: pytest.FixtureRequest) -> None:
    assert request.getfixturevalue("headrace_shared_broker") is headrace_shared_broker
    assert headrace_shared_broker.running


def test_too_few_records_fail_with_a_sentence() -> None:
    with broker() as b:
        b.create_topic("empty")
        with pytest.raises(AssertionError, match="0 of 1 records came within"):
            b.records("empty", 1, timeout_s=0.3)
