"""The transaction coordinator: who gets which epoch, who is fenced, what ends how, and what is told of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from headrace.wire.messages.describe_transactions import DescribeTransactionsRequest
from headrace.wire.messages.end_txn import EndTxnRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.list_transactions import ListTransactionsRequest
from tests.oracle.script import Script, wait_until

SETTINGS = {"transaction.state.log.num.partitions": "3", "offsets.topic.num.partitions": "3"}
AT_REST = ("Empty", "CompleteCommit", "CompleteAbort")


class Producer(NamedTuple):
    producer_id: int
    epoch: int

    def at(self, epoch: int) -> Producer:
        return Producer(self.producer_id, self.epoch + epoch)


def prepare(s: Script) -> None:
    """Both coordinators are there."""
    for key_type in (0, 1):

        def found(key_type: int = key_type) -> bool:
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x"])
            return s.client().call(request, 4).coordinators[0].error_code == 0

        wait_until(found)

    def ready() -> bool:
        request = InitProducerIdRequest(transactional_id="prepare", transaction_timeout_ms=1000)
        return s.client().call(request, 5).error_code == 0

    wait_until(ready)


def init(s: Script, name: str, before: Producer | None = None, version: int = 5, what: str = "") -> Producer:
    known = before or Producer(-1, -1)
    request = InitProducerIdRequest(
        transactional_id=name, transaction_timeout_ms=60_000, producer_id=known.producer_id, producer_epoch=known.epoch
    )
    answer = s.call(request, version, what)
    return Producer(answer.producer_id, answer.producer_epoch)


def add(
    s: Script, name: str, producer: Producer, topics: dict[str, list[int]], version: int = 3, what: str = ""
) -> None:
    rows = [AddPartitionsToTxnTopic(name=topic, partitions=indexes) for topic, indexes in topics.items()]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=rows,
    )
    if version > 3:
        request = AddPartitionsToTxnRequest(transactions=[transaction(name, producer, rows, verify_only=False)])
    s.call(request, version, what)


def transaction(
    name: str, producer: Producer, rows: list[AddPartitionsToTxnTopic], *, verify_only: bool
) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=name,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        verify_only=verify_only,
        topics=rows,
    )


def verify(s: Script, name: str, producer: Producer, topic: str, indexes: list[int], what: str = "") -> None:
    rows = [AddPartitionsToTxnTopic(name=topic, partitions=indexes)]
    request = AddPartitionsToTxnRequest(transactions=[transaction(name, producer, rows, verify_only=True)])
    s.call(request, 5, f"verify {what}")


def end(s: Script, name: str, producer: Producer, commit: bool, version: int, what: str = "") -> Producer:
    request = EndTxnRequest(
        transactional_id=name, producer_id=producer.producer_id, producer_epoch=producer.epoch, committed=commit
    )
    answer = s.call(request, version, f"{'commit' if commit else 'abort'} {what}")
    settle(s, name)
    return Producer(answer.producer_id, answer.producer_epoch)


def settle(s: Script, name: str) -> None:
    """Markers follow the answer in their own time."""

    def settled() -> bool:
        state = s.client("setup").call(DescribeTransactionsRequest(transactional_ids=[name]), 0).transaction_states[0]
        return state.error_code != 0 or state.transaction_state in (*AT_REST, "Ongoing")

    wait_until(settled)


def describe(s: Script, *names: str) -> None:
    s.call(DescribeTransactionsRequest(transactional_ids=list(names)), 0, ", ".join(names))


def transactional_epochs(s: Script) -> None:
    """InitProducerId."""
    for version in range(6):
        init(s, "te", version=version)
    first = init(s, "te-own")
    second = init(s, "te-own", first, what="own epoch")
    init(s, "te-own", first, what="own epoch, again")
    third = init(s, "te-own", what="another one")
    for version in (3, 4, 5):
        init(s, "te-own", second, version, "fenced")
        init(s, "te-own", third.at(1), version, "an epoch to come")
        init(s, "te-own", Producer(987_654, 0), version, "a stranger")
    init(s, "te-new", Producer(987_654, 5), what="a new id with a past")
    init(s, "", what="empty")
    for producer in (Producer(5, -1), Producer(-1, 5)):
        init(s, "te-half", producer, what=f"half of an identity: {producer.epoch}")
    for timeout_ms in (0, -1, 900_001, 900_000):
        request = InitProducerIdRequest(transactional_id="te-timeout", transaction_timeout_ms=timeout_ms)
        s.call(request, 5, f"timeout {timeout_ms}")
    describe(s, "te", "te-own", "te-new", "te-timeout", "te-half", "")


def transactions_ended(s: Script) -> None:
    """EndTxn in every state, by the present and by the last epoch, of both protocols."""
    s.create("ended", partitions=2)
    for version in (0, 1, 2, 4, 5):
        for outcome in (None, True, False):
            for commit in (True, False):
                for epoch in (0, -1, 1):
                    name = f"ended-{version}-{outcome}-{commit}-{epoch}"
                    producer = init(s, name, init(s, name))
                    if outcome is not None:
                        add(s, name, producer, {"ended": [0]}, 3 if version < 5 else 4)
                        after = end(s, name, producer, outcome, version)
                        producer = after if version == 5 else producer
                    end(s, name, producer.at(epoch), commit, version, f"after {outcome}, epoch {epoch:+}")
                    describe(s, name)


def transactions_open(s: Script) -> None:
    """AddPartitionsToTxn, AddOffsetsToTxn and what is told of an open transaction."""
    s.create("open", "other", partitions=2)
    producer = init(s, "open")
    for version in range(6):
        add(s, "open", producer.at(1), {"open": [0]}, version, "an epoch to come")
        add(s, "open", Producer(987_654, 0), {"open": [0]}, version, "a stranger")
        add(s, "nobody", producer, {"open": [0]}, version, "an unknown id")
        add(s, "", producer, {"open": [0]}, version, "an empty id")
        add(s, "open", producer, {"open": [0, 7], "nowhere": [0]}, version, "partitions that do not exist")
    verify(s, "open", producer, "open", [0], "before")
    describe(s, "open")
    add(s, "open", producer, {"open": [1]})
    add(s, "open", producer, {"open": [1], "other": [0]})
    add(s, "open", producer, {"open": [1]}, what="again")
    verify(s, "open", producer, "open", [0, 1])
    verify(s, "open", producer.at(1), "open", [1], "an epoch to come")
    verify(s, "open", Producer(987_654, 0), "open", [1], "a stranger")
    verify(s, "nobody", producer, "open", [1], "an unknown id")
    verify(s, "", producer, "open", [1], "an empty id")
    verify(s, "open", producer, "nowhere", [1], "a topic that does not exist")
    for version in range(5):
        for what, name, who in (
            ("", "open", producer),
            ("fenced", "open", producer.at(1)),
            ("unknown", "nobody", producer),
        ):
            request = AddOffsetsToTxnRequest(
                transactional_id=name, producer_id=who.producer_id, producer_epoch=who.epoch, group_id="group"
            )
            s.call(request, version, what)
    describe(s, "open", "open", "nobody")
    _list(s, producer)
    init(s, "open", producer, what="while it is open")
    settle(s, "open")
    init(s, "open", producer, what="after it was fenced")
    fresh = init(s, "open", what="another one")
    add(s, "open", producer, {"open": [1]}, what="fenced")
    end(s, "open", fresh, False, 4, "nothing")
    describe(s, "open")


def _list(s: Script, producer: Producer) -> None:
    filters: list[dict[str, Any]] = [
        {"state_filters": ["Ongoing"]},
        {"state_filters": ["ongoing"]},
        {"state_filters": ["Ongoing", "Sleeping", ""]},
        {"state_filters": ["Dead", "PrepareEpochFence"]},
        {"producer_id_filters": [producer.producer_id]},
        {"producer_id_filters": [producer.producer_id, 987_654], "state_filters": ["Empty"]},
    ]
    for each in filters:
        s.call(ListTransactionsRequest(**each), 0, str(sorted(each)) + str(each.get("state_filters")))
    for duration in (-1, 0, 3_600_000):
        s.call(ListTransactionsRequest(state_filters=["Ongoing"], duration_filter=duration), 1, f"for {duration}")
    for pattern in ("open", "op.*", "ope", "", None, "(", "OPEN"):
        request = ListTransactionsRequest(state_filters=["Ongoing"], transactional_id_pattern=pattern)
        s.call(request, 2, f"like {pattern}")


def transactions_by_version_2(s: Script) -> None:
    """Each transaction has an epoch of its own."""
    s.create("two", partitions=2)
    producer = init(s, "two")
    for commit in (True, False, True):
        add(s, "two", producer, {"two": [0, 1]}, 5)
        after = end(s, "two", producer, commit, 5)
        describe(s, "two")
        end(s, "two", producer, commit, 5, "again")
        end(s, "two", producer, not commit, 5, "again, the other way")
        end(s, "two", producer.at(-1), commit, 5, "an older one")
        add(s, "two", producer, {"two": [0]}, 5, "the epoch before")
        init(s, "two", producer, what="the epoch before")
        producer = init(s, "two", after, what="the epoch now")
        init(s, "two", after, what="the epoch now, again")
    for _ in range(3):
        producer = end(s, "two", producer, False, 5, "without anything")
    add(s, "two", producer, {"two": [0]}, 3, "by version 1")
    end(s, "two", producer, True, 4, "by version 1")
    describe(s, "two")
    producer = end(s, "two", producer, False, 5, "by version 2")
    add(s, "two", producer, {"two": [0]}, 4)
    end(s, "two", producer, True, 4, "by version 1 what version 2 began")
    end(s, "two", producer, True, 5, "by version 2, same epoch")
    describe(s, "two")


SCRIPTS = (transactional_epochs, transactions_ended, transactions_open, transactions_by_version_2)
