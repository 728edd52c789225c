"""Fetch, its sessions, and the APIs about offsets."""

from __future__ import annotations

from typing import Any

from headrace.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from headrace.wire.messages.fetch import FetchRequest, FetchTopic, ReplicaState
from headrace.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsTopic
from headrace.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.oracle.requests import TIME, UNKNOWN_ID, batch, fetch, list_offsets, produce, versions, wanted
from tests.oracle.script import Script

LARGEST = 2**63 - 1


def _fill(s: Script, topic: str, partition: int = 0, batches: int = 3) -> None:
    """Batches of three records each, without a note."""
    for _ in range(batches):
        made = s.client("setup").call(produce(topic, batch(b"a", b"b", b"c"), partition), 12)
        assert made.responses[0].partition_responses[0].error_code == 0


def fetch_versions(s: Script) -> None:
    """Good and bad, in every version."""
    s.create("f", partitions=2)
    _fill(s, "f")
    topic_id = s.topics["f"]
    for version in versions(FetchRequest):
        named = {"topic_id": topic_id}
        s.call(fetch(("f", [wanted(0), wanted(1)]), **named), version, "all")
        s.call(fetch(("f", [wanted(0, 4)]), **named), version, "inside a batch")
        s.call(fetch(("f", [wanted(0, 9)]), **named), version, "at the end")
        s.call(fetch(("f", [wanted(0, 10)]), **named), version, "beyond the end")
        s.call(fetch(("f", [wanted(0, -1)]), **named), version, "offset -1")
        s.call(fetch(("nowhere", [wanted(0)]), topic_id=UNKNOWN_ID), version, "unknown topic")
        s.call(fetch(("f", [wanted(9)]), **named), version, "unknown partition")
        s.call(fetch(("f", [wanted(0, 3)]), isolation_level=1, **named), version, "read committed")
        s.call(fetch(**named), version, "nothing")
        for epoch in (0, 3):
            s.call(fetch(("f", [wanted(0, current_leader_epoch=epoch)]), **named), version, f"leader epoch {epoch}")


def fetch_limits(s: Script) -> None:
    """Sizes, in bytes."""
    s.create("l", partitions=3)
    for partition in (0, 1):
        _fill(s, "l", partition)
    size = len(batch(b"a", b"b", b"c"))
    for limit in (0, 1, size - 1, size, size + 1, 2 * size, 3 * size - 1, 3 * size, -1, 2**31 - 1, -(2**31)):
        s.call(fetch(("l", [wanted(0, partition_max_bytes=limit)])), 12, f"partition max bytes {limit}")
        s.call(fetch(("l", [wanted(0), wanted(1)]), max_bytes=limit), 12, f"max bytes {limit}")
        rows = [wanted(0, partition_max_bytes=limit), wanted(1, partition_max_bytes=limit)]
        s.call(fetch(("l", rows)), 12, f"partition max bytes {limit}, two partitions")
    s.call(fetch(("l", [wanted(2), wanted(0)]), max_bytes=1), 12, "an empty partition first")
    s.call(fetch(("l", [wanted(2, 50), wanted(0), wanted(1)]), max_bytes=1), 12, "an error first")
    for least in (0, -1, 1, 3 * size, 3 * size + 1, 10**6):
        s.call(fetch(("l", [wanted(0)]), min_bytes=least, max_wait_ms=50), 12, f"min bytes {least}")
        s.call(fetch(("l", [wanted(0, 9)]), min_bytes=least, max_wait_ms=50), 12, f"min bytes {least}, at the end")
    s.call(fetch(("l", [wanted(0, 9)]), max_wait_ms=-1), 12, "negative wait")
    s.call(fetch(("l", [wanted(0, 9), wanted(7)]), min_bytes=10**6, max_wait_ms=20_000), 12, "an error ends the wait")
    s.call(fetch(("l", [wanted(0), wanted(0, 3)])), 12, "a partition twice")
    s.call(fetch(("l", [wanted(0)]), ("l", [wanted(1)])), 12, "a topic twice")
    s.call(fetch(("l", [])), 12, "no partitions")
    s.call(fetch(("", [wanted(0)])), 12, "no name")
    s.call(fetch(("l", [wanted(0)])), 13, "zero id")
    s.call(fetch(("l", [wanted(0)]), isolation_level=2), 12, "isolation level 2")
    s.call(fetch(("l", [wanted(0, last_fetched_epoch=0)])), 12, "last fetched epoch 0")
    s.call(fetch(("l", [wanted(0, 3, last_fetched_epoch=5)])), 12, "last fetched epoch 5")
    s.call(fetch(("l", [wanted(0, 3, last_fetched_epoch=0, current_leader_epoch=0)])), 12, "both epochs")
    s.call(fetch(("l", [wanted(0, 12, last_fetched_epoch=0, current_leader_epoch=0)])), 12, "both epochs, beyond")
    s.call(fetch(("l", [wanted(0)]), cluster_id="another"), 12, "cluster id")
    s.call(fetch(("l", [wanted(0)]), rack_id="r"), 12, "rack")
    s.call(fetch(("l", [wanted(0)]), replica_id=-2), 12, "debugging consumer")
    s.call(fetch(("l", [wanted(0)]), replica_id=9), 12, "unknown replica")
    state = ReplicaState(replica_id=9, replica_epoch=1)
    s.call(fetch(("l", [wanted(0)]), topic_id=s.topics["l"], replica_state=state), 15, "unknown replica")
    s.call(fetch(("l", [wanted(0, log_start_offset=5)])), 12, "log start offset")


def fetch_sessions(s: Script) -> None:
    """The life of incremental sessions, by name."""
    s.create("s", "t", partitions=3)
    _fill(s, "s", 0)
    _session_life(s, 12, {})


def fetch_sessions_by_id(s: Script) -> None:
    """The same by topic id."""
    s.create("s", "t", partitions=3)
    _fill(s, "s", 0)
    _session_life(s, versions(FetchRequest)[-1], {"topic_id": s.topics["s"]})
    _unknown_in_session(s)


def _session_life(s: Script, version: int, named: dict[str, Any]) -> None:
    session = 0

    def step(what: str, epoch: int, *topics: Any, **fields: Any) -> int:
        request = fetch(*topics, session_epoch=epoch, **{"session_id": session} | named | fields)
        answer = s.call(request, version, what)
        return answer.session_id if answer is not None else 0

    session = step("open", 0, ("s", [wanted(0), wanted(1)]))
    step("nothing asked for", 1)
    step("moved on", 2, ("s", [wanted(0, 9)]))
    step("nothing new", 3)
    _fill(s, "s", 1, 1)
    step("another has grown", 4)
    step("it is sent again", 5)
    step("moved on", 6, ("s", [wanted(1, 3)]))
    step("one more partition", 7, ("s", [wanted(2)]))
    step("quiet", 8)
    step("forget", 9, forget=[("s", [1])])
    _fill(s, "s", 1, 1)
    step("forgotten has grown", 10)
    step("forget unknown", 11, forget=[("s", [7]), ("t", [0])])
    step("forget and ask", 12, ("s", [wanted(1, 0)]), forget=[("s", [1])])
    step("out of range", 13, ("s", [wanted(1, 100)]))
    step("still out of range", 14)
    step("mended", 15, ("s", [wanted(1, 6)]))
    step("quiet", 16)
    step("unknown partition", 17, ("s", [wanted(8)]))
    step("still unknown", 18)
    step("forget it", 19, forget=[("s", [8])])
    step("wrong epoch", 25)
    step("right epoch after all", 20)
    step("old epoch", 20)
    step("negative epoch", -5)
    step("unknown session", 1, session_id=12345)
    step("unknown session, epoch 0", 0, ("s", [wanted(0)]), session_id=12345)
    step("session 0, epoch 5", 5, session_id=0)
    step("forget all", 21, forget=[("s", [0, 1, 2])])
    step("empty session", 22)
    step("ask again", 23, ("s", [wanted(0), wanted(1, 6)]))
    step("wait in vain", 24, ("s", [wanted(0, 9)]), max_wait_ms=20)
    replaced = step("open again in its place", 0, ("s", [wanted(0, 9), wanted(1, 6)]))
    step("the old one", 25)
    session = replaced
    step("the new one", 1)
    step("close", -1)
    step("closed", 2)
    step("open without partitions", 0, session_id=0)
    session = step("open to close", 0, ("s", [wanted(0)]), session_id=0)
    step("close and read", -1, ("s", [wanted(0, 3)]))
    step("closed", 1)
    session = step("open with an error", 0, ("s", [wanted(0, 50), wanted(9)]), session_id=0)
    step("errors again", 1)
    session = step("open with a partition twice", 0, ("s", [wanted(0, 3), wanted(0, 6)]), session_id=0)
    step("and again", 1)
    other = 13 if version < 13 else 12
    answer = fetch(("s", [wanted(0)]), session_id=session, session_epoch=2, topic_id=s.topics["s"])
    s.call(answer, other, "names and ids mixed")
    step("after mixing", 2)
    session = step("open at another limit", 0, ("s", [wanted(0), wanted(1)]), session_id=0, max_bytes=1)
    step("in turns", 1, max_bytes=1)
    step("in turns", 2, max_bytes=1)
    step("in turns", 3, max_bytes=1)


def _unknown_in_session(s: Script) -> None:
    topics = [
        FetchTopic(topic_id=s.topics["t"], partitions=[wanted(0)]),
        FetchTopic(topic_id=UNKNOWN_ID, partitions=[wanted(0)]),
    ]
    version = versions(FetchRequest)[-1]
    session = s.call(FetchRequest(session_epoch=0, topics=topics), version, "open with an unknown id").session_id
    s.call(FetchRequest(session_id=session, session_epoch=1), version, "unknown id again")
    s.call(FetchRequest(session_id=session, session_epoch=2), version, "and again")


def listed_offsets(s: Script) -> None:
    """ListOffsets."""
    s.create("o", partitions=3)
    s.create("append", message_timestamp_type="LogAppendTime")
    client = s.client("setup")
    for start in (TIME, TIME + 1000, TIME + 500):
        client.call(produce("o", batch(b"a", b"b", b"c", time=start, step=100)), 12)
    client.call(produce("o", batch(b"a", b"b", time=TIME, codec=3), 1), 12)
    client.call(produce("o", batch(b"a", b"b", time=-1), 2), 12)
    client.call(produce("append", batch(b"a", b"b")), 12)
    moments = (0, TIME - 1, TIME, TIME + 1, TIME + 100, TIME + 201, TIME + 1150, TIME + 1200, TIME + 1201, LARGEST)
    for version in versions(ListOffsetsRequest):
        for timestamp in range(-1, -9, -1):
            s.call(list_offsets("o", (0, timestamp), (1, timestamp)), version, f"timestamp {timestamp}")
        s.call(list_offsets("o", (0, -1), (0, -2)), version, "twice")
        s.call(list_offsets("o", (0, -1), (0, -2), (1, -1)), version, "twice and another")
        s.call(list_offsets("nowhere", (0, -1)), version, "unknown topic")
        s.call(list_offsets("o", (9, -1), (0, -1)), version, "unknown partition")
        for epoch in (0, 1, -2):
            s.call(list_offsets("o", (0, -1, epoch), (1, TIME, epoch)), version, f"leader epoch {epoch}")
        for timestamp in moments:
            s.call(list_offsets("o", (0, timestamp)), version, f"time {timestamp - TIME}")
    for timestamp in (*range(-1, -8, -1), *moments):
        for isolation in (0, 1, 2):
            request = list_offsets("o", (0, timestamp), (1, timestamp), (2, timestamp), isolation_level=isolation)
            s.call(request, 11, f"{timestamp} at isolation level {isolation}")
        s.call(list_offsets("append", (0, timestamp)), 11, f"{timestamp} in log append time")
    for replica in (-1, -2, -3, 0, 1, 7):
        s.call(list_offsets("o", (0, -1), replica_id=replica), 11, f"replica {replica}")
        s.call(list_offsets("o", (0, TIME), replica_id=replica), 11, f"replica {replica}, by time")
    s.call(ListOffsetsRequest(replica_id=-1), 11, "nothing")
    s.call(ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="o")]), 11, "no partitions")
    s.call(list_offsets("", (0, -1)), 11, "no name")
    s.call(list_offsets("bad/name", (0, -1)), 11, "invalid name")
    _delete(s, "o", (0, 4))
    for timestamp in (*range(-1, -8, -1), *moments):
        s.call(list_offsets("o", (0, timestamp)), 11, f"{timestamp} behind deleted records")
    _delete(s, "o", (0, -1))
    for timestamp in (-1, -2, -3, -4, TIME):
        s.call(list_offsets("o", (0, timestamp)), 11, f"{timestamp} with all deleted")


def epoch_end_offsets(s: Script) -> None:
    """OffsetForLeaderEpoch."""
    s.create("e", partitions=2)
    _fill(s, "e")

    def ask(topic: str, *asked: tuple[int, int, int]) -> OffsetForLeaderEpochRequest:
        rows = [OffsetForLeaderPartition(partition=p, current_leader_epoch=c, leader_epoch=e) for p, c, e in asked]
        return OffsetForLeaderEpochRequest(replica_id=-1, topics=[OffsetForLeaderTopic(topic=topic, partitions=rows)])

    for version in versions(OffsetForLeaderEpochRequest):
        for current in (-1, 0, 1, -2):
            for epoch in (-1, 0, 1, 7, -2):
                s.call(ask("e", (0, current, epoch), (1, current, epoch)), version, f"{epoch}, current {current}")
        s.call(ask("e", (9, -1, 0)), version, "unknown partition")
        s.call(ask("nowhere", (0, -1, 0)), version, "unknown topic")
        s.call(ask("", (0, -1, 0)), version, "no name")
        s.call(ask("e", (0, -1, 0), (0, -1, 5)), version, "twice")
        s.call(ask("e"), version, "no partitions")
        s.call(OffsetForLeaderEpochRequest(replica_id=-1), version, "nothing")
    for replica in (-2, 0, 1, 9):
        request = ask("e", (0, -1, 0))
        request.replica_id = replica
        s.call(request, 4, f"replica {replica}")
    _delete(s, "e", (0, -1))
    s.call(ask("e", (0, -1, 0)), 4, "all deleted")


def deleted_records(s: Script) -> None:
    """DeleteRecords."""
    s.create("d", partitions=2)
    s.create("compact", cleanup_policy="compact")
    s.create("both", cleanup_policy="compact,delete")
    for topic in ("d", "compact", "both"):
        _fill(s, topic)
    for version in versions(DeleteRecordsRequest):
        _delete(s, "d", (0, version), version=version)
        _delete(s, "d", (0, 4 + version), version=version)
        _delete(s, "d", (0, 1), version=version)
        _delete(s, "d", (0, 10), version=version)
        _delete(s, "d", (0, -2), version=version)
        _delete(s, "d", (1, 0), (1, 1), (1, -1), (5, 0), version=version)
        _delete(s, "nowhere", (0, 0), version=version)
        _delete(s, "compact", (0, 1), version=version)
        _delete(s, "both", (0, 1), version=version)
        s.call(fetch(("d", [wanted(0, 0)])), 12, "deleted")
        s.call(fetch(("d", [wanted(0, 4 + version)])), 12, "what is left")
        s.call(list_offsets("d", (0, -2)), 7)
    s.call(produce("d", batch()), 12, "log start offset")
    _delete(s, "d", (0, -1))
    s.call(produce("d", batch()), 12, "log start offset")
    s.call(DeleteRecordsRequest(timeout_ms=1000), 2, "nothing")
    _delete(s, "d")
    _delete(s, "", (0, 0))
    _delete(s, "bad/name", (0, 0))
    _delete(s, "__cluster_metadata", (0, 0))


def _delete(s: Script, topic: str, *asked: tuple[int, int], version: int = 2) -> None:
    rows = [DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in asked]
    request = DeleteRecordsRequest(timeout_ms=10_000, topics=[DeleteRecordsTopic(name=topic, partitions=rows)])
    s.call(request, version, f"{topic} {asked}")


SCRIPTS = (
    fetch_versions,
    fetch_limits,
    fetch_sessions,
    fetch_sessions_by_id,
    listed_offsets,
    epoch_end_offsets,
    deleted_records,
)
