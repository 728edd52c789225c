"""`headrace bench` measures, and leaves nothing behind."""

from __future__ import annotations

from tests.cli.conftest import Run


def test_it_measures_and_deletes_its_topic(cli: Run) -> None:
    arguments = ["-n", "2000", "-s", "100", "-p", "2", "--rate", "200", "--latency-seconds", "0.5"]
    outcome = cli("bench", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    result = outcome.json
    assert result["produce"]["records_per_second"] > 0
    assert result["consume"]["bytes_per_second"] > 0
    assert 0 < result["latency_ms"]["p50"] <= result["latency_ms"]["p99"] <= result["latency_ms"]["max"]
    assert not [row for row in cli("topic", "list", "--json").json if row["topic"].startswith("headrace-bench")]


def test_it_prints_a_table(cli: Run) -> None:
    outcome = cli("bench", "-n", "500", "--latency-seconds", "0", "--compression", "lz4", "--acks", "1")
    assert outcome.code == 0, outcome.err
    assert "produce" in outcome.out
    assert "RECORDS/S" in outcome.out
    assert "latency" not in outcome.out
