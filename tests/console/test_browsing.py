"""Finding records in a real topic: newest first and backwards, from a place forwards, with filters, in bounded pieces; and the live tail."""

from __future__ import annotations

import json

import pytest

from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem
from headrace.admin.positions import Position
from headrace.console import browsing
from headrace.console.browsing import Filter, Query, find
from headrace.console.masking import Masking
from headrace.console.tail import Glimpse, Tail
from headrace.testing import wait_until
from headrace.testing.clients import Clients


@pytest.fixture(scope="module")
def cluster(kafka: Clients) -> Cluster:
    return Cluster(kafka.bootstrap_servers, "a test", timeout_s=10)


@pytest.fixture(scope="module")
def orders(kafka: Clients) -> str:
    topic = kafka.create_topic("browse-orders", 3)
    kafka.produce(topic, [(f"k{index % 7}", json.dumps({"id": index, "sum": index * 2})) for index in range(300)])
    return topic


def ids(found: browsing.Found) -> list[int]:
    return [json.loads(one.value or b"{}")["id"] for one in found.records]


def test_the_newest_and_then_older_ones(cluster: Cluster, orders: str) -> None:
    query = Query(orders, Position("last"), limit=30)
    found = find(cluster, query)
    assert len(found.records) == 30 and max(ids(found)) == 299
    seen = set(ids(found))
    while found.rest:
        found = find(cluster, found.next(query))
        assert not seen & set(ids(found))
        seen |= set(ids(found))
    assert seen == set(range(300))


def test_forwards_from_a_place(cluster: Cluster, orders: str) -> None:
    query = Query(orders, Position("offset", 10), partitions=(1,), limit=5)
    found = find(cluster, query)
    assert sorted(one.offset for one in found.records) == [10, 11, 12, 13, 14]
    following = find(cluster, found.next(query))
    assert sorted(one.offset for one in following.records) == [15, 16, 17, 18, 19]
    assert len(find(cluster, Query(orders, Position("beginning"), limit=1000)).records) == 300
    first = min(found.records, key=lambda one: one.offset)
    by_time = find(cluster, Query(orders, Position("time", first.timestamp_ms or 0), limit=1000))
    assert len(by_time.records) >= 300 - 10 * 3
    assert find(cluster, Query(orders, Position("time", 99999999999999))).records == ()


@pytest.mark.parametrize("begin", ["last", "beginning"])
def test_filters(cluster: Cluster, orders: str, begin: str) -> None:
    def search(wanted: Filter) -> list[int]:
        return sorted(ids(find(cluster, Query(orders, Position(begin), filter=wanted, limit=500))))  # type: ignore[arg-type]

    assert search(Filter('"ID": 7,', "value")) == [7]
    assert search(Filter("K3", "key")) == list(range(3, 300, 7))
    assert search(Filter(expression='value.sum > 590 and key != "k0"')) == [296, 297, 298, 299]
    assert search(Filter("k3", "key", "value.id < 12")) == [3, 10]
    assert search(Filter("k3", "headers")) == []


def test_a_search_is_bounded(cluster: Cluster, orders: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browsing, "MOST_SCANNED", 100)
    query = Query(orders, Position("beginning"), filter=Filter("no such thing"))
    found = find(cluster, query)
    assert found.records == () and 100 <= found.scanned < 250 and found.rest
    monkeypatch.setattr(browsing, "LOOKED_BACK", 60)
    backwards = Query(orders, Position("last"), filter=Filter("no such thing"))
    found = find(cluster, backwards)
    assert found.scanned <= 160 and found.rest


def test_what_is_not_there(cluster: Cluster, orders: str) -> None:
    with pytest.raises(Problem, match="no partition 9"):
        find(cluster, Query(orders, Position("last"), partitions=(9,)))
    with pytest.raises(Problem, match="no topic 'browse-order'"):
        find(cluster, Query("browse-order", Position("last")))


def test_masked_fields_cannot_be_searched_for(cluster: Cluster, kafka: Clients) -> None:
    topic = kafka.create_topic("browse-secret")
    kafka.produce(topic, [json.dumps({"id": 1, "email": "ann@example.com"})])
    masking = Masking(["email"])
    assert find(cluster, Query(topic, Position("last"), filter=Filter("ann@")), masking).records == ()
    assert (
        find(
            cluster, Query(topic, Position("last"), filter=Filter(expression='contains(value.email, "ann")')), masking
        ).records
        == ()
    )
    (one,) = find(cluster, Query(topic, Position("last")), masking).records
    assert b"ann@" not in (one.value or b"")


def test_transactions_that_were_aborted_are_not_shown(cluster: Cluster, kafka: Clients) -> None:
    topic = kafka.create_topic("browse-transactions")
    producer = kafka.producer(transactional_id="browse-tx")
    producer.init_transactions(20)
    for value, keep in ((b"no", False), (b"yes", True)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.commit_transaction(20) if keep else producer.abort_transaction(20)
    assert [one.value for one in find(cluster, Query(topic, Position("last"))).records] == [b"yes"]


def test_the_tail_shows_what_comes_and_counts_what_it_passes_over(cluster: Cluster, kafka: Clients) -> None:
    topic = kafka.create_topic("browse-tail", 2)
    kafka.produce(topic, [b"old"])
    came: list[Glimpse] = []
    wanted = True
    tail = Tail(cluster, topic, [0, 1], came.append, wanted=lambda: wanted)
    tail.start()
    try:
        wait_until(lambda: bool(tail._positions), timeout_s=15)
        kafka.produce(topic, [f"new {index}" for index in range(500)])
        wait_until(lambda: sum(len(one.records) + one.passed_over for one in came) == 500, timeout_s=15)
        shown = [record for one in came for record in one.records]
        assert len(shown) < 300 and all((record.value or b"").startswith(b"new") for record in shown)
        assert not any(one.problem for one in came)
    finally:
        tail.stop()
        tail.join()
