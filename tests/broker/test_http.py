"""/metrics and /healthz: every declared metric with the right value, health with reasons, and only for those who may ask."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from headrace.broker.metrics import LATENCY, METRICS
from headrace.testing import LocalBroker, broker, wait_until
from headrace.testing.clients import read
from headrace.testing.faults import FailingFs
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.api_versions import ApiVersionsRequest
from tests.broker.raw import RawClient, batch
from tests.broker.transactional_client import TransactionalClient

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(scope="module")
def server() -> Iterator[LocalBroker]:
    with broker(headrace_http_port=0) as running:
        running.create_topic("t", 2)
        yield running


def get(server: LocalBroker, path: str, *, host: str = "", headers: dict[str, str] | None = None) -> tuple[int, str]:
    port = server.call(lambda b: b.http.port)
    connection = http.client.HTTPConnection(host or "127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def scrape(server: LocalBroker) -> Samples:
    status, text = get(server, "/metrics")
    assert status == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


def test_every_declared_metric_is_there_with_its_kind_and_help(server: LocalBroker) -> None:
    _, text = get(server, "/metrics")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    for measure in METRICS:
        family = families[measure.name]
        assert (family.type, family.documentation) == (measure.kind, measure.doc)
        for sample in family.samples:
            assert set(sample.labels) == set(measure.labels)
    assert families[LATENCY].type == "histogram"
    assert families["process_resident_memory_bytes"].samples[0].value > 1_000_000


def test_values_follow_the_traffic(server: LocalBroker) -> None:
    before = scrape(server)
    first, second = batch(b"x" * 1000), batch(b"y" * 500)
    with RawClient(server.port) as client:
        assert client.produce("t", first).error_code == ErrorCode.NONE
        assert client.produce("t", second, partition=1).error_code == ErrorCode.NONE
        assert client.produce("t", b"no batch").error_code != ErrorCode.NONE
        assert client.fetch("t", 0).records is not None
        after = scrape(server)
        assert value(after, "headrace_connections") >= 1

    def grown(name: str, **labels: str) -> float:
        return value(after, name, **labels) - value(before, name, **labels)

    assert grown("headrace_bytes_in_total") == len(first) + len(second)
    assert grown("headrace_bytes_out_total") == len(first)
    assert grown("headrace_failed_produce_total") == 1
    assert grown("headrace_requests_total", api="Produce") == 3
    assert grown("headrace_requests_total", api="Fetch") == 1
    assert grown("headrace_log_size_bytes", topic="t", partition="0") == len(first)
    assert grown("headrace_log_size_bytes", topic="t", partition="1") == len(second)
    assert grown("headrace_log_end_offset", topic="t", partition="0") == 1
    assert value(after, "headrace_log_start_offset", topic="t", partition="0") == 0
    assert value(after, "headrace_topics") == len(server.call(lambda b: b.image.topics))
    assert value(after, "headrace_partitions") == server.call(lambda b: b.replicas.partition_count)
    assert value(after, "headrace_offline_partitions") == 0
    assert value(after, "headrace_log_directory_offline", path=str(server.data_dir)) == 0


def test_latencies_are_a_histogram_that_adds_up(server: LocalBroker) -> None:
    with RawClient(server.port) as client:
        for _ in range(20):
            client.call(ApiVersionsRequest(), 0)
    samples = scrape(server)
    labels = {"api": "ApiVersions"}
    count = value(samples, f"{LATENCY}_count", **labels)
    assert count == value(samples, "headrace_requests_total", **labels) >= 20
    assert 0 < value(samples, f"{LATENCY}_sum", **labels) < 10
    buckets = sorted(
        (float(dict(names)["le"]), number)
        for (name, names), number in samples.items()
        if name == f"{LATENCY}_bucket" and ("api", "ApiVersions") in names
    )
    assert buckets[-1] == (float("inf"), count)
    assert [number for _, number in buckets] == sorted(number for _, number in buckets)


def test_lag_of_a_group(server: LocalBroker) -> None:
    server.create_topic("lagging")
    server.produce("lagging", [b"%d" % number for number in range(10)])
    odd = 'a "quoted" \\group\nwith lines'
    consumer = server.consumer(odd, enable_auto_commit=False)
    try:
        consumer.subscribe(["lagging"])
        last = read(consumer, 10)[3]
        consumer.commit(last, asynchronous=False)
        samples = scrape(server)
        assert value(samples, "headrace_group_lag", group=odd, topic="lagging", partition="0") == 6
        assert value(samples, "headrace_groups", state="Stable") == 1
    finally:
        consumer.close()


def test_transactions_are_counted(server: LocalBroker) -> None:
    with RawClient(server.port) as client:
        for commit in (True, False, True):
            producer = TransactionalClient(client, f"by-{commit}", v2=True)
            producer.write("t", b"x")
            assert producer.end(commit) == 0
        last = TransactionalClient(client, "open", v2=True)
        last.write("t", b"x")

        def ended() -> bool:
            samples = scrape(server)
            counts = [value(samples, "headrace_transactions_ended_total", outcome=each) for each in ("commit", "abort")]
            return counts == [2, 1] and value(samples, "headrace_transaction_markers_pending") == 0

        wait_until(ended)
        samples = scrape(server)
        states = {"CompleteCommit": 1, "CompleteAbort": 1, "Ongoing": 1}
        assert {each: value(samples, "headrace_transactions", state=each) for each in states} == states
        assert last.end(True) == 0


def test_compaction_is_counted() -> None:
    with broker(headrace_http_port=0, log_cleaner_backoff_ms=100) as server:
        server.create_topic("c", cleanup_policy="compact", min_cleanable_dirty_ratio=0)
        assert value(scrape(server), "headrace_log_cleaner_rounds_total") == 0
        producer = server.producer()
        for number in range(10):
            producer.produce("c", key=b"k", value=b"%d" % number)
        assert producer.flush(20) == 0
        server.call(lambda b: b.replicas.topics["c"][0].log.roll(b.clock.now_ms()))
        wait_until(lambda: value(scrape(server), "headrace_log_cleaner_rounds_total") == 1, timeout_s=30)
        wait_until(lambda: value(scrape(server), "headrace_log_cleaner_max_dirty_percent") == 0)
        samples = scrape(server)
        written = value(samples, "headrace_log_cleaner_bytes_written_total")
        assert 0 < written < value(samples, "headrace_log_cleaner_bytes_read_total")
        assert 0 <= value(samples, "headrace_log_cleaner_time_since_last_run_ms") < 60_000
        assert value(samples, "headrace_log_cleaner_uncleanable_partitions") == 0


def test_refused_connections_and_malformed_requests_are_counted() -> None:
    with broker(headrace_http_port=0, max_connections_per_ip=1) as server, RawClient(server.port) as client:
        client.call(ApiVersionsRequest(), 0)
        with RawClient(server.port) as refused:
            assert refused.closed()
        client.socket.sendall(b"\xff\xff\xff\xff")
        assert client.closed()
        samples = scrape(server)
        assert value(samples, "headrace_connections_refused_total") == 1
        assert value(samples, "headrace_malformed_requests_total") == 1
        assert value(samples, "headrace_connections") == 0


def test_health(server: LocalBroker) -> None:
    status, text = get(server, "/healthz")
    body = json.loads(text)
    assert (status, body["status"], body["problems"], body["node_id"]) == (200, "ok", [], 1)
    assert body["cluster_id"] == server.call(lambda b: b.cluster_id)
    assert get(server, "/nothing")[0] == 404


def test_an_offline_directory_is_unhealthy(tmp_path: Path) -> None:
    disk = FailingFs(matching=str(tmp_path / "b"), active=False)
    directories = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    with broker(log_dirs=directories, headrace_http_port=0, fs=disk) as server:
        server.create_topic("t", 2)
        disk.active = True
        with RawClient(server.port) as client:
            codes = {client.produce("t", batch(b"x"), partition=index).error_code for index in (0, 1)}
        assert codes == {ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR}
        status, text = get(server, "/healthz")
        assert status == 503
        (problem,) = json.loads(text)["problems"]
        assert str(tmp_path / "b") in problem
        samples = scrape(server)
        assert value(samples, "headrace_offline_partitions") == 1
        assert value(samples, "headrace_log_directory_offline", path=str(tmp_path / "b")) == 1


@pytest.mark.parametrize("path", ["/metrics", "/healthz"])
def test_a_page_of_another_name_cannot_read_a_loopback_port(server: LocalBroker, path: str) -> None:
    port = server.call(lambda b: b.http.port)
    for name in ("evil.example.com", f"evil.example.com:{port}", "127.0.0.1.evil.example.com", ""):
        assert get(server, path, headers={"Host": name})[0] == 400, name
    for name in ("localhost", f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "LOCALHOST"):
        assert get(server, path, headers={"Host": name})[0] == 200, name


def test_on_every_address_any_name_is_taken() -> None:
    with broker(headrace_http_port=0, headrace_http_host="0.0.0.0") as server:
        assert get(server, "/healthz", headers={"Host": "metrics.example.com"})[0] == 200


def test_without_the_setting_there_is_no_port() -> None:
    with broker() as server:
        assert server.call(lambda b: b.http.port) == -1


def test_an_open_connection_does_not_hold_up_the_shutdown() -> None:
    with broker(headrace_http_port=0) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.call(lambda b: b.http.port), timeout=10)
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        begin = time.monotonic()
        server.stop()
        assert time.monotonic() - begin < 3
        connection.close()


def test_many_partitions_do_not_stop_the_event_loop() -> None:
    """The text is made in slices, so that clients wait for one of them at most. (10,000 partitions: 25 ms in one go.)"""
    with broker(headrace_http_port=0) as server:
        server.create_topic("many", 1000, timeout_s=60)
        gaps = server.call(_watch)
        wait_until(lambda: len(gaps) > 20)
        gaps.clear()
        samples = scrape(server)
        assert value(samples, "headrace_partitions") == 1000
        assert max(gaps) < 0.02


async def _watch(b: Any) -> list[float]:
    """A list that grows by the processor time that the loop gave to others in one go, until the broker stops."""
    gaps: list[float] = []

    async def watch() -> None:
        last = time.thread_time()
        while not b._stopping:
            await asyncio.sleep(0.001)
            now = time.thread_time()
            gaps.append(now - last)
            last = now

    b._later(watch())
    return gaps
