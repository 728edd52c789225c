"""`headrace transactions` against open, ended and hanging transactions."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException, Producer

from headrace import client
from headrace.testing import wait_until
from headrace.wire.batch import Record, encode_batch
from tests.cli.conftest import Run

TIMEOUT_S = 20


@pytest.fixture
def writer(bootstrap: str, topic: str, name: str) -> Iterator[Producer]:
    """A producer with one transaction committed and one open, in partition 1."""
    producer = client.producer(bootstrap, {"transactional.id": name, "transaction.timeout.ms": 50_000, "linger.ms": 0})
    producer.init_transactions(TIMEOUT_S)
    for value in ("committed", "open"):
        producer.begin_transaction()
        producer.produce(topic, value, partition=1)
        assert producer.flush(TIMEOUT_S) == 0
        if value == "committed":
            producer.commit_transaction(TIMEOUT_S)
    yield producer


def test_an_open_transaction_is_listed_and_described(cli: Run, writer: Producer, topic: str, name: str) -> None:
    (listed,) = [row for row in cli("transactions", "list", "--json").json if row["transactional_id"] == name]
    assert (listed["state"], listed["partitions"]) == ("Ongoing", [{"topic": topic, "partition": 1}])
    (described,) = cli("transactions", "describe", name, "--json").json
    assert described | {"duration_ms": 0} == listed | {"duration_ms": 0}
    assert described["timeout_ms"] == 50_000
    assert 0 <= described["duration_ms"] < 50_000
    assert described["started"].endswith("Z")
    text = cli("transactions", "describe", name)
    assert f"{name}  Ongoing, open for " in text.out
    assert topic in text.out
    assert "OPEN FOR" in cli("transactions", "list").out


def test_filters(cli: Run, writer: Producer, name: str) -> None:
    def names(*options: str) -> list[str]:
        return [row["transactional_id"] for row in cli("transactions", "list", "--json", *options).json]

    producer = str(cli("transactions", "describe", name, "--json").json[0]["producer_id"])
    assert name in names("--state", "ongoing")
    assert name not in names("--state", "Empty", "--state", "CompleteCommit")
    assert names("--producer-id", producer) == [name]
    assert name not in names("--longer-than", "1h")
    assert name in names("--longer-than", "1ms")
    wrong = cli("transactions", "list", "--state", "finished")
    assert (wrong.code, "CompleteCommit" in wrong.err) == (2, True)


def test_abort_by_id_fences_the_producer(cli: Run, writer: Producer, topic: str, name: str) -> None:
    nobody = cli("transactions", "abort", name)
    assert (nobody.code, "--yes" in nobody.err) == (2, True)
    rehearsed = cli("transactions", "abort", name, "--dry-run", "--json")
    assert (rehearsed.code, rehearsed.json["aborted"], rehearsed.json["state"]) == (0, False, "Ongoing")
    assert cli("transactions", "describe", name, "--json").json[0]["state"] == "Ongoing"
    assert cli("transactions", "abort", name, "--yes").code == 0
    described = wait_until(lambda: _ended(cli, name))
    assert described["partitions"] == []
    with pytest.raises(KafkaException):
        writer.commit_transaction(TIMEOUT_S)
    again = cli("transactions", "abort", name, "--yes")
    assert again.code == 1
    assert "no open transaction" in again.err
    values = cli("consume", topic, "--from-beginning", "-X", "isolation.level=read_committed")
    assert "committed" in values.out
    assert "open" not in values.out


def _ended(cli: Run, name: str) -> dict | None:
    (described,) = cli("transactions", "describe", name, "--json").json
    return described if described["state"] in ("CompleteAbort", "Empty") else None


def test_what_a_coordinator_knows_does_not_hang(cli: Run, writer: Producer, topic: str, name: str) -> None:
    assert cli("transactions", "find-hanging", "--topic", topic, "--older-than", "0s", "--json").json == []
    where = ("--topic", topic, "--partition", "1")
    refused = cli("transactions", "abort", *where, "--yes")
    assert refused.code == 1
    assert f"headrace transactions abort {name}" in refused.err
    forced = cli("transactions", "abort", *where, "--force", "--yes", "--json")
    assert (forced.code, forced.json["aborted"], forced.json["start_offset"]) == (0, True, 2)
    assert "No transaction is open" in cli("transactions", "abort", *where, "--force", "--yes").err


def test_what_has_ended_is_not_open(cli: Run, writer: Producer, topic: str, name: str) -> None:
    writer.commit_transaction(TIMEOUT_S)
    (described,) = wait_until(lambda: _completed(cli, name))
    assert described["started"] is not None
    assert described["duration_ms"] is None
    assert "open for" not in cli("transactions", "describe", name).out
    listed = cli("transactions", "list", "--longer-than", "0s", "--json").json
    assert name not in [row["transactional_id"] for row in listed]


def _completed(cli: Run, name: str) -> list[dict] | None:
    described = cli("transactions", "describe", name, "--json").json
    return described if described[0]["state"] == "CompleteCommit" else None


def test_hanging_transactions_are_found(cli: Run, writer: Producer, topic: str, hang) -> None:
    def found(*options: str) -> list[tuple[int, int]]:
        answer = cli("transactions", "find-hanging", "--topic", topic, "--json", *options).json
        return [(row["partition"], row["producer_id"]) for row in answer]

    assert found("--older-than", "0s") == []
    hang(topic, 0, producer_id=700_003)
    hang(topic, 2, producer_id=700_004)
    assert found() == []
    assert found("--older-than", "0s") == [(0, 700_003), (2, 700_004)]
    everywhere = cli("transactions", "find-hanging", "--older-than", "0s")
    assert (everywhere.code, everywhere.out.count(topic)) == (0, 2)
    assert cli("transactions", "abort", "--topic", topic, "--partition", "0", "--yes").code == 0
    assert found("--older-than", "0s") == [(2, 700_004)]
    assert cli("transactions", "abort", "--topic", topic, "--partition", "2", "--yes").code == 0
    assert "No transaction hangs" in cli("transactions", "find-hanging", "--topic", topic).out


@pytest.mark.parametrize("offset", [None, 0])
def test_a_hanging_transaction_is_aborted(cli: Run, bootstrap: str, topic: str, offset: int | None, hang) -> None:
    hang(topic, 2, producer_id=700_001)
    where = ["--topic", topic, "--partition", "2"]
    if offset is not None:
        hang(topic, 2, producer_id=700_002)
        several = cli("transactions", "abort", *where, "--yes")
        assert (several.code, "--start-offset: 0, 1" in several.err) == (2, True)
        where += ["--start-offset", str(offset)]
    rehearsed = cli("transactions", "abort", *where, "--dry-run")
    assert (rehearsed.code, rehearsed.out) == (0, "")
    assert rehearsed.err == f"Would abort the transaction of producer 700001 in {topic}-2 from offset 0\n"
    done = cli("transactions", "abort", *where, "--yes", "--json")
    assert (done.code, done.json["producer_id"], done.json["aborted"]) == (0, 700_001, True)
    missing = cli("transactions", "abort", "--topic", topic, "--partition", "2", "--start-offset", "0", "--yes")
    assert missing.code == 1


@pytest.fixture
def hang(request: pytest.FixtureRequest):
    """Puts a transactional batch into a log behind the back of all coordinators, as a lost marker leaves it."""
    if "HEADRACE_TEST_BOOTSTRAP" in os.environ:
        pytest.skip("only a broker in this process lets us reach into its logs")
    server = request.getfixturevalue("headrace_shared_broker")

    def append_alone(topic: str, partition: int, producer_id: int) -> None:
        def append(running) -> None:
            batch = encode_batch(
                [Record(timestamp=running.clock.now_ms(), value=b"v")],
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=0,
                is_transactional=True,
            )
            running.replicas.get(topic, partition).append(memoryview(batch), running.clock.now_ms(), "coordinator")

        server.call(append)

    return append_alone


def test_mistakes(cli: Run, writer: Producer, topic: str, name: str) -> None:
    unknown = cli("transactions", "describe", name + "x")
    assert (unknown.code, f"Did you mean '{name}'?" in unknown.err) == (1, True)
    assert cli("transactions", "abort").code == 2
    assert cli("transactions", "abort", name, "--topic", topic).code == 2
    assert cli("transactions", "abort", "--topic", topic, "--partition", "9").code == 1
    secured = cli("transactions", "list", "-X", "security.protocol=SASL_SSL")
    assert (secured.code, "plaintext" in secured.err) == (1, True)
