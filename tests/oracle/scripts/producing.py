"""Produce and the producers behind it."""

from __future__ import annotations

import time
from typing import Any

from headrace.wire.frame import RequestHeader, encode_request
from headrace.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.produce import ProduceRequest
from tests.oracle.requests import (
    TIME,
    UNKNOWN_ID,
    batch,
    edited,
    fetch,
    list_offsets,
    old_message,
    produce,
    produce_many,
    versions,
    wanted,
)
from tests.oracle.script import Script, wait_until

DAY_MS = 86_400_000
LAST_SEQUENCE = 2**31 - 1
NEWEST = versions(ProduceRequest)[-1]


def produce_versions(s: Script) -> None:
    """Good and bad, in every version."""
    s.create("p", "zstd", partitions=2)
    topic_id = s.topics["p"]
    for version in versions(ProduceRequest):
        s.call(produce("p", batch(b"a", b"b"), topic_id=topic_id), version)
        s.call(produce("p", batch(), acks=1, topic_id=topic_id), version, "acks 1")
        s.call(produce("p", batch(), acks=2, topic_id=topic_id), version, "acks 2")
        s.call(produce("p", batch(), acks=-2, topic_id=topic_id), version, "acks -2")
        s.call(produce("nowhere", batch(), topic_id=UNKNOWN_ID), version, "unknown topic")
        s.call(produce("p", batch(), 7, topic_id=topic_id), version, "unknown partition")
        s.call(produce("p", batch(), -1, topic_id=topic_id), version, "partition -1")
        s.call(produce("p", edited(batch(), crc=1, keep_crc=True), topic_id=topic_id), version, "bad CRC")
        s.call(produce("zstd", batch(codec=4), topic_id=s.topics["zstd"]), version, "zstd")
        s.call(produce("p", b"", topic_id=topic_id), version, "empty records")
        both = {"p": [(0, batch()), (1, edited(batch(), crc=1, keep_crc=True))]}
        s.call(produce_many(both, topic_id=topic_id), version, "one good, one bad")
    s.call(produce("p", None, topic_id=topic_id), NEWEST, "null records", patience_s=1)
    s.call(ProduceRequest(acks=-1, timeout_ms=1000), NEWEST, "no topics")
    s.call(produce_many({"p": []}, topic_id=topic_id), NEWEST, "no partitions")
    s.call(produce("", batch()), 12, "no name")
    s.call(produce("bad/name", batch()), 12, "invalid name")
    s.call(produce("p", batch()), NEWEST, "zero id")


def produce_batches(s: Script) -> None:
    """Everything that can be wrong with a batch."""
    s.create("b", partitions=100)
    good = batch(b"a", b"b", b"c")
    partition = 0

    def attempt(what: str, records: Any) -> None:
        """To a partition of its own, which shows what became of it."""
        nonlocal partition
        s.call(produce("b", records, partition), 12, what)
        s.call(fetch(("b", [wanted(partition)])), 12, f"after {what}")
        partition += 1

    attempt("good", good)
    attempt("two batches", good + good)
    attempt("bytes behind", good + b"\0" * 5)
    attempt("one byte short", good[:-1])
    attempt("a header only", good[:61])
    attempt("less than a header", good[:60])
    attempt("less than a length", good[:9])
    attempt("offset and length only", good[:12])
    attempt("magic and no more", good[:17])
    for magic in (0, 1):
        attempt(f"message of magic {magic}", old_message(magic))
        attempt(f"two messages of magic {magic}", old_message(magic) * 2)
    for magic in (0, 1, 3, -1, 127):
        attempt(f"magic {magic}", edited(good, magic=magic))
    for length in (0, -1, 1, 13, 48, 49, 2**31 - 1, -(2**31), len(good), len(good) - 11):
        attempt(f"length {length}", edited(good, batch_length=length, keep_crc=True))
    for offset in (1, -1, 100):
        attempt(f"base offset {offset}", edited(good, base_offset=offset))
    attempt("leader epoch 9", edited(good, partition_leader_epoch=9))
    for count in (0, 1, 2, 4, -1, 2**31 - 1):
        attempt(f"count {count}", edited(good, record_count=count))
    for delta in (-1, 0, 1, 3, 2**31 - 1):
        attempt(f"last offset delta {delta}", edited(good, last_offset_delta=delta))
    attempt("no records", edited(good, record_count=0, last_offset_delta=-1))
    attempt("empty batch", edited(good[:61], record_count=0, last_offset_delta=-1, batch_length=49))
    attempt("empty batch, delta 0", edited(good[:61], record_count=0, last_offset_delta=0, batch_length=49))
    for codec in (1, 2, 3, 4):
        attempt(f"codec {codec}", batch(b"a" * 100, codec=codec))
    for codec in (5, 6, 7):
        attempt(f"codec {codec}", edited(good, attributes=codec))
    attempt("log append time", edited(good, attributes=8))
    attempt("transactional, no producer", edited(good, attributes=16))
    attempt("control", edited(good, attributes=32))
    attempt("control of a producer", edited(good, attributes=32, producer_id=5, producer_epoch=0, base_sequence=0))
    attempt("delete horizon", edited(good, attributes=64))
    attempt("unused attributes", edited(good, attributes=0x7F80))
    attempt("no time", batch(time=-1))
    attempt("time 0", batch(time=0))
    attempt("time -5", batch(time=-5))
    attempt("null value", batch(None))
    attempt("no key", batch(key=None))
    attempt("tomorrow", batch(time=now() + DAY_MS))
    attempt("tomorrow, some", batch(b"a", b"b", b"c", time=now(), step=DAY_MS // 2))
    attempt("max timestamp tomorrow, records not", edited(good, max_timestamp=now() + DAY_MS))
    attempt("producer without sequence", edited(good, producer_id=5, producer_epoch=0))
    attempt("producer without epoch", edited(good, producer_id=5, base_sequence=0))
    attempt("sequence without producer", edited(good, base_sequence=0))
    attempt("epoch without producer", edited(good, producer_epoch=0))
    attempt("producer -2", edited(good, producer_id=-2, producer_epoch=0, base_sequence=0))


def produce_inner_records(s: Script) -> None:
    """Batches whose header is right and whose records are not."""
    s.create("i", partitions=20)
    good = batch(b"abc", b"def")
    partition = 0

    def attempt(what: str, records: bytearray) -> None:
        nonlocal partition
        s.call(produce("i", edited(records), partition), 12, what)
        partition += 1

    def at(position: int, value: int) -> bytearray:
        changed = bytearray(good)
        changed[61 + position] = value
        return changed

    attempt("record length too large", at(0, 0x7E))
    attempt("record length too small", at(0, 2))
    attempt("record length negative", at(0, 1))
    attempt("offset delta 1 first", at(3, 2))
    attempt("key length", at(4, 0x7E))
    attempt("header count", at(10, 4))
    garbage = bytearray(batch(b"a" * 100, codec=1))
    garbage[70:80] = b"x" * 10
    attempt("gzip that is none", garbage)
    for codec in (2, 3, 4):
        attempt(f"codec {codec}, not compressed", edited(good, attributes=codec))
    attempt("max timestamp wrong", edited(good, max_timestamp=TIME + 500))
    s.call(list_offsets("i", (partition - 1, -3)), 7, "max timestamp")


def produce_topic_configs(s: Script) -> None:
    """What topic configs refuse and change."""
    s.create("small", max_message_bytes=1000)
    s.create("segment", max_message_bytes=3_000_000, segment_bytes=1_048_576)
    s.create("append", message_timestamp_type="LogAppendTime")
    s.create("old", message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=1000)
    s.create("compact", cleanup_policy="compact")
    s.create("both", cleanup_policy="compact,delete")
    for size in (700, 922, 923, 924, 925, 1000, 1100):
        s.call(produce("small", batch(b"x" * size)), 12, f"{size} bytes")
    s.call(produce("small", batch(b"x" * 5000, codec=1)), 12, "5000 bytes, compressed")
    s.call(produce("segment", batch(b"x" * 1_500_000)), 12, "larger than a segment")
    s.call(produce("segment", batch(b"x" * 1_048_400)), 12, "a segment")
    for version in versions(ProduceRequest):
        topic_id = s.topics["append"]
        s.call(produce("append", batch(b"a", b"b"), topic_id=topic_id), version, "log append time")
        s.call(produce("compact", batch(b"a", b"b", key=None), topic_id=s.topics["compact"]), version, "keyless")
        tomorrow = batch(time=now() + DAY_MS)
        s.call(produce("old", tomorrow, topic_id=s.topics["old"]), version, "tomorrow")
    s.call(produce("append", edited(batch(), attributes=8)), 12, "log append time sent")
    s.call(produce("append", batch(time=now() + DAY_MS)), 12, "tomorrow")
    s.call(produce("append", batch(codec=1)), 12, "gzip")
    s.call(produce("append", batch(time=-1)), 12, "no time")
    s.call(fetch(("append", [wanted(0, 20)])), 12, "log append time")
    s.call(produce("old", batch(b"a", b"b")), 12, "too old")
    s.call(produce("old", batch(time=now())), 12, "in time")
    s.call(produce("old", batch(time=-1)), 12, "no time")
    s.call(produce("old", batch(b"a", b"b", time=now(), step=-DAY_MS)), 12, "one too old")
    s.call(produce("compact", batch(b"a", None)), 12, "keys")
    s.call(produce("compact", batch(key=b"")), 12, "empty key")
    s.call(produce("compact", batch(key=None, codec=1)), 12, "keyless gzip")
    s.call(produce("compact", batch(b"a", key=None, time=now() + DAY_MS)), 12, "keyless from tomorrow")
    s.call(produce("both", batch(key=None)), 12, "keyless")
    mixed = batch(b"a", b"b") + b""
    s.call(produce_many({"compact": [(0, mixed)], "both": [(0, batch(key=None))]}), 12, "one of two")


def produce_without_answer(s: Script) -> None:
    """acks=0: nothing comes back, except the end of the connection when something went wrong."""
    s.create("z")
    cases = {
        "good": produce("z", batch(), acks=0),
        "unknown topic": produce("nowhere", batch(), acks=0),
        "unknown partition": produce("z", batch(), 9, acks=0),
        "bad CRC": produce("z", edited(batch(), crc=1, keep_crc=True), acks=0),
        "null records": produce("z", None, acks=0),
        "keyless": produce("z", batch(key=None), acks=0),
    }
    for what, request in cases.items():
        for version in (3, 12):
            s.frame(f"Produce v{version}, acks 0: {what}", encode_request(request, RequestHeader(0, version, 1, "raw")))
    s.call(list_offsets("z", (0, -1)), 7)


def idempotent_producers(s: Script) -> None:
    """Sequences and epochs."""
    s.create("q", partitions=4)
    producer_id = s.call(InitProducerIdRequest(transactional_id=None), 4).producer_id

    def send(what: str, sequence: int, count: int = 1, *, epoch: int = 0, partition: int = 0, **more: Any) -> None:
        identity = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence} | more
        s.call(produce("q", batch(*[b"v"] * count, **identity), partition), 12, what)

    send("first", 0, 3)
    send("duplicate", 0, 3)
    send("part of it", 0, 2)
    send("part of it", 1, 2)
    send("gap", 5)
    send("next", 3)
    for sequence in range(4, 10):
        send("next", sequence)
    for sequence in range(10):
        send(f"again {sequence}", sequence)
    send("first again", 0, 3)
    send("same start, longer", 9, 2)
    send("negative epoch", 10, epoch=-1)
    send("new epoch, sequence 10", 10, epoch=1)
    send("new epoch", 0, 2, epoch=1)
    send("new epoch again", 0, 2, epoch=1)
    send("stale epoch", 10)
    send("stale duplicate", 9)
    send("jump of epochs", 0, epoch=7)
    send("unknown producer, sequence 5", 5, producer_id=producer_id + 100_000)
    send("its next", 6, producer_id=producer_id + 100_000)
    send("its past", 4, producer_id=producer_id + 100_000)
    send("at the wrap", LAST_SEQUENCE - 1, 2, partition=1)
    send("wrapped", 0, 2, partition=1)
    send("wrapped again", 0, 2, partition=1)
    send("before the wrap again", LAST_SEQUENCE - 1, 2, partition=1)
    send("over the wrap", LAST_SEQUENCE - 1, 4, partition=2)
    send("over the wrap again", LAST_SEQUENCE - 1, 4, partition=2)
    send("behind it", 2, partition=2)
    send("at the end", LAST_SEQUENCE, partition=3)
    send("wrapped to 1", 1, partition=3)
    send("wrapped to 0", 0, partition=3)
    asked = [TopicRequest(name="q", partition_indexes=[0, 1, 2, 3])]
    s.call(DescribeProducersRequest(topics=asked), 0)
    s.call(fetch(("q", [wanted(2)])), 12)


def producer_ids(s: Script) -> None:
    """InitProducerId without transactions."""
    for version in versions(InitProducerIdRequest):
        s.call(InitProducerIdRequest(transactional_id=None), version)
        s.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1), version, "timeout -1")
        s.call(InitProducerIdRequest(transactional_id=""), version, "empty transactional id")
        had = {"transactional_id": None, "transaction_timeout_ms": 1000}
        s.call(InitProducerIdRequest(producer_id=5, producer_epoch=3, **had), version, "had one")
        s.call(InitProducerIdRequest(producer_id=5, producer_epoch=32767, **had), version, "epochs used up")
        s.call(InitProducerIdRequest(producer_id=5, **had), version, "no epoch")
        s.call(InitProducerIdRequest(producer_epoch=5, **had), version, "no id")
        s.call(InitProducerIdRequest(producer_id=-5, producer_epoch=3, **had), version, "id -5")


def transactional_producers(s: Script) -> None:
    """What belongs to transactions."""
    s.create("tx")
    producer_id = s.call(InitProducerIdRequest(transactional_id=None), 4).producer_id
    identity = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
    for version in (3, 9, 11, 12):
        s.call(produce("tx", batch(), transactional_id="me"), version, "plain batch, transactional id")
        s.call(produce("tx", batch(**identity), transactional_id="me"), version, "idempotent batch, transactional id")
        transactional = batch(is_transactional=True, **identity)
        s.call(produce("tx", transactional, transactional_id="me"), version, "no transaction")
        s.call(produce("tx", transactional), version, "no transactional id")
    s.call(InitProducerIdRequest(transactional_id="me", transaction_timeout_ms=1000), 5, "transactional id")


def described_producers(s: Script) -> None:
    """DescribeProducers."""
    s.create("dp", partitions=2)
    s.call(produce("dp", batch()), 12)
    identity = {"producer_id": 77, "producer_epoch": 2, "base_sequence": 10}
    s.call(produce("dp", batch(b"a", b"b", **identity)), 12)
    for topics in (
        [("dp", [0])],
        [("dp", [0, 1])],
        [("dp", [5, -1])],
        [("nowhere", [0])],
        [("", [0])],
        [("bad/name", [0])],
        [("dp", [])],
        [],
        [("dp", [0]), ("dp", [1])],
        [("dp", [0, 0])],
    ):
        rows = [TopicRequest(name=name, partition_indexes=indexes) for name, indexes in topics]
        s.call(DescribeProducersRequest(topics=rows), 0, str(topics))


def now() -> int:
    return int(time.time() * 1000)


def prepare(s: Script) -> None:
    """A new Kafka has no producer ids for a moment."""
    client = s.client("setup")
    wait_until(lambda: client.call(InitProducerIdRequest(transactional_id=None), 4).error_code == 0)


SCRIPTS = (
    produce_versions,
    produce_batches,
    produce_inner_records,
    produce_topic_configs,
    produce_without_answer,
    idempotent_producers,
    producer_ids,
    transactional_producers,
    described_producers,
)
