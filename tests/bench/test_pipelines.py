"""The pure parts of the bench of pipelines: records, expectations, statistics, goals, the section of the page."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from bench.pipelines import latency_client, records, report, suite, verify
from bench.pipelines.goals import GOALS, medians, reached
from bench.pipelines.latency import quantiles, times
from bench.pipelines.measured_process import Mark, Marks, ProcessFailed, run
from bench.pipelines.records import BASE_MS, Backlog
from bench.pipelines.verify import WrongOutput

BACKLOG = Backlog(20_000, 1)


def test_events_are_json_of_100_bytes_with_a_tenth_below_the_limit() -> None:
    events = [json.loads(records.event(number)) for number in range(5_000)]
    assert {len(records.event(number)) for number in (0, 7, 123_456, 4_999_999)} == {records.SIZE}
    assert len({event["name"] for event in events}) == records.USERS
    assert sum(event["amount"] >= records.LEAST_AMOUNT for event in events) == Backlog(5_000, 1).passing()
    # Not always the same users.
    assert len({event["name"] for event in events if event["amount"] < records.LEAST_AMOUNT}) > records.USERS / 10


def test_a_backlog_knows_its_windows() -> None:
    assert BACKLOG.windows(10_000) == 2
    assert BACKLOG.seconds == 20


def test_counts_of_windows_are_those_of_the_records() -> None:
    wanted: Counter[tuple[int, int]] = Counter()
    for number in range(BACKLOG.count):
        wanted[records.user_of(number), BACKLOG.time_ms(number) // 10_000] += 1
    for (user, window), count in list(wanted.items())[:100]:
        assert verify._count_within(BACKLOG, user, window * 10_000, (window + 1) * 10_000) == count


def _counts(job_ms: int) -> dict[tuple[bytes, int], int]:
    return {
        (records.key(user).encode(), BASE_MS + start): 10
        for user in range(records.USERS)
        for start in range(0, BACKLOG.count, job_ms)
    }


def test_a_count_that_misses_a_record_is_wrong() -> None:
    right = _counts(10_000)
    verify._check_counts("count", right, BACKLOG)
    with pytest.raises(WrongOutput, match="19999 records"):
        verify._check_counts("count", {**right, next(iter(right)): 9}, BACKLOG)


def test_the_last_count_of_a_window_counts() -> None:
    rows = [(b"a", b'{"start":1,"n":1}'), (b"b", b'{"start":1,"n":5}'), (b"a", b'{"start":1,"n":2}')]
    assert verify._last_counts(rows) == {(b"a", 1): 2, (b"b", 1): 5}


def test_a_row_of_other_numbers_is_wrong() -> None:
    number = 123
    user = records.user_of(number)
    row = {"id": number, "amount": records.amount_of(number), "city": f"city-{user % 50}", "tier": user % 5}
    verify._check_rows("join", [(records.key(user).encode(), json.dumps(row).encode())])
    with pytest.raises(WrongOutput):
        verify._check_rows("join", [(records.key(user).encode(), json.dumps({**row, "tier": 9}).encode())])


def test_figures_of_a_run_leave_out_the_start_the_first_part_and_the_compiler() -> None:
    marks = Marks(
        ready=Mark(5.0, 8.0, 4.0),
        started=Mark(6.0, 9.0, 5.0),
        first=Mark(15.0, 18.0, 10.0, 1_000_000),
        done=Mark(25.0, 33.0, 15.0, 3_000_000),
        peak_rss_mb=700.0,
    )
    measured = marks.measured()
    assert measured["rate"] == 150_000
    assert measured["warm_rate"] == 200_000
    assert measured["cpu"] == pytest.approx(25 / 3)
    assert measured["warm_cpu"] == 5.0
    assert measured["start_cpu"] == 8.0


def test_a_process_is_watched_until_it_is_done() -> None:
    script = "echo ready; echo started; echo first 10; echo done 30; read line"
    marks = run(["sh", "-c", script])
    assert (marks.first.count, marks.done.count) == (10, 30)
    assert marks.ready.seconds <= marks.done.seconds
    with pytest.raises(ProcessFailed, match="ended with 3 after ready"):
        run(["sh", "-c", "echo ready; exit 3"])


def test_latency_is_of_what_was_sent_after_the_warm_up() -> None:
    sent = {str(number): number * 1_000_000_000 for number in range(10)}
    seen = {identity: moment + (90 if moment < 5e9 else 2) * 1_000_000 for identity, moment in sent.items()}
    assert quantiles(sent, seen, warm_up_s=5) == {"p50_ms": 2.0, "p99_ms": 2.0, "max_ms": 2.0}
    del seen["7"]
    with pytest.raises(RuntimeError, match="1 of 5 records did not come out, 7"):
        quantiles(sent, seen, warm_up_s=5)


def test_of_repeated_output_the_first_counts() -> None:
    assert times("a/1/2 5\nb 6\na/1/2 9\n") == {"a/1/2": 5, "b": 6}


def test_both_ends_of_a_count_identify_a_record_alike() -> None:
    counts: dict[tuple[int, int], int] = {}
    latency_client.identity("count", 0, 7, 12_345, counts)
    second = latency_client.identity("count", 1, 7, 12_999, counts)
    assert second == latency_client.output_identity("count", b"user-0007", b'{"start":10000,"n":2}')
    assert latency_client.identity("map", 5, 7, 0, counts) == latency_client.output_identity("map", b"k", b'{"id":5}')


def _run(rate: float, cpu: float) -> dict[str, float]:
    return dict.fromkeys(report.COLUMNS, 1.0) | {"warm_rate": rate, "warm_cpu": cpu}


RESULTS = {
    "map": {"headrace": [_run(90, 9), _run(100, 10), _run(500, 50)], "spark": [_run(100, 10)] * 3},
    "join": {"headrace": [_run(60, 9)], "spark": [_run(10, 9)]},
    "latency-map": {"headrace": [{"p50_ms": 4.0, "p99_ms": 31.0, "max_ms": 99.0, "cores": 0.3}]},
}


def test_goals_are_judged_by_medians() -> None:
    assert medians(RESULTS)["map"]["headrace"]["warm_cpu"] == 10
    known = {one.goal.title: one for one in reached(RESULTS)}
    assert known["map: CPU per million ÷ PySpark by hand"].met
    join = known["stream-table join: records/s ÷ the map's"]
    assert (join.value, join.met, join.goal.text) == (0.6, False, "≥ 0.7")
    assert known["latency, map: p50"].met
    assert not known["latency, map: p99"].met
    assert not any("sliding" in title for title in known)


def test_every_goal_has_its_cases() -> None:
    metrics = (*report.COLUMNS, *report.UNITS)
    results = {case.name: {system: [dict.fromkeys(metrics, 1.0)] for system in case.systems} for case in suite.CASES}
    assert len(reached(results)) == len(GOALS)


def test_the_section_replaces_the_one_before(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    facts = {"cores": 2, "cpu": "a cpu", "memory_gb": 8, "python": "3.11", "broker": "apache-kafka", "commit": "abc"}
    monkeypatch.setattr(report, "RESULTS", tmp_path / "pipelines.json")
    assert report.with_section("# Speed\n") == "# Speed\n"
    report.RESULTS.write_text(json.dumps({"machine": facts, "results": RESULTS}))
    once = report.with_section("# Speed\n\ntext\n")
    assert report.with_section(once) == once
    assert "| stream-table join: records/s ÷ the map's | 0.60 | x | ≥ 0.7 | missed |" in once
    assert "| latency, map | p50 ms 4.00, p99 ms 31.0" in once


def test_names_of_cases_are_unique() -> None:
    assert len({case.name for case in suite.CASES}) == len(suite.CASES)
