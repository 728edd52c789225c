"""The sender of the streams driver: times as they are said, places as Java's producer chooses them."""

from __future__ import annotations

import pytest

from headrace.testing import LocalBroker
from headrace.testing.record_sender import RecordSender, murmur2


def test_records_arrive_in_order_with_their_times(headrace_shared_broker: LocalBroker) -> None:
    broker = headrace_shared_broker
    broker.create_topic("sender-times", 2, retention_ms=-1)
    sender = RecordSender(broker.bootstrap_servers)
    for number in range(20_000):
        sender.send(
            "sender-times", 2, b"k", b"x" * 50, number, partition=1, headers={"h": b"1"} if number == 0 else None
        )
    sender.send("sender-times", 2, None, None, 5)
    sender.flush()
    sender.close()
    records = broker.records("sender-times", 20_001)
    placed = [record.timestamp()[1] for record in records if record.partition() == 1]
    assert placed == list(range(20_000))
    assert [(r.key(), r.value()) for r in records if r.partition() == 0] == [(None, None)]
    assert [record.headers() for record in records if record.headers()] == [[("h", b"1")]]


def test_keys_are_placed_as_by_every_other_producer(headrace_shared_broker: LocalBroker) -> None:
    broker = headrace_shared_broker
    broker.create_topic("sender-places", 7)
    keys = [b"", b"a", b"ab", b"abc", b"abcd", b"card-1", bytes(range(256)), "Straße".encode()]
    keys += [str(number).encode() for number in range(500)]
    broker.produce("sender-places", [(key, b"") for key in keys])
    places = {record.key(): record.partition() for record in broker.records("sender-places", len(keys))}
    assert {key: (murmur2(key) & 0x7FFFFFFF) % 7 for key in keys if key} == {key: places[key] for key in keys if key}


def test_what_the_broker_refuses_is_said(headrace_shared_broker: LocalBroker) -> None:
    sender = RecordSender(headrace_shared_broker.bootstrap_servers)
    sender.send("no-such-topic-at-all", 1, None, b"x", 0)
    with pytest.raises(AssertionError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        sender.flush()
    sender.close()
