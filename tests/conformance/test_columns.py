"""The verdicts over two columns, and the committed files they rest on."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from conformance.cache import PROJECT
from conformance.columns import Row, summary
from conformance.results import EXPECTED, CachedColumn, Result, read_expected, write_expected

SUITES = ("librdkafka", "kafka-python", "franz-go")


def row(ours: str | None, theirs: str, exception: str = "") -> Row:
    headrace = Result("unit", ours, 1.0, "why") if ours else None
    return Row("unit", headrace, Result("unit", theirs, 1.0, "theirs"), exception)


@pytest.mark.parametrize(
    ("ours", "theirs", "exception", "regression"),
    [
        ("pass", "pass", "", False),
        ("fail", "pass", "", True),
        ("skip", "pass", "", True),
        (None, "pass", "", True),
        ("fail", "pass", "transactions", False),
        ("fail", "fail", "", False),
        ("fail", "skip", "", False),
    ],
)
def test_what_passes_on_kafka_must_pass_here(ours: str | None, theirs: str, exception: str, regression: bool) -> None:
    assert row(ours, theirs, exception).regression is regression


def test_an_exception_that_passes_is_reported() -> None:
    assert "remove it" in row("pass", "pass", "ACLs").verdict


def test_summary_counts_what_was_not_run() -> None:
    assert summary([Result("a", "pass", 1.0), Result("b", "fail", 1.0), None]) == "1 pass, 1 fail, 1 not run"


@pytest.mark.parametrize("suite", SUITES)
def test_exceptions_name_units_that_pass_on_kafka(suite: str) -> None:
    kept = json.loads((EXPECTED / f"{suite}.json").read_text())
    outcomes = {each["unit"]: each["outcome"] for each in kept["results"]}
    listed = tomllib.loads((PROJECT / "conformance" / "exceptions.toml").read_text())[suite]
    assert {unit: outcomes.get(unit) for unit in listed} == dict.fromkeys(listed, "pass")


@pytest.mark.parametrize("suite", (*SUITES, "programs"))
def test_kept_columns_name_no_machine(suite: str) -> None:
    assert str(PROJECT) not in (EXPECTED / f"{suite}.json").read_text()


@pytest.fixture
def own_suite(tmp_path: Path) -> str:
    """The name of a suite that is a path: what is kept of it lies there, and not in the project."""
    return str(tmp_path / "s")


def test_a_kept_column_is_valid_for_its_suite_only(own_suite: str) -> None:
    results = [Result("b", "fail", 2.0, f"{PROJECT}/x at 127.0.0.1:5 for topic_rnd12ab_t"), Result("a", "pass", 1.0)]
    write_expected(own_suite, "version 1", "Apache Kafka", results)
    assert read_expected(own_suite, "version 2") is None
    kept = read_expected(own_suite, "version 1")
    assert kept is not None
    assert list(kept) == ["a", "b"]
    assert kept["b"].reason == "x at HOST:PORT for topic_rnd_t"


def test_a_cached_result_belongs_to_its_sources(own_suite: str) -> None:
    CachedColumn(own_suite, "headrace", "old").put(Result("test.py::test_x[a/b]", "pass", 1.0))
    assert CachedColumn(own_suite, "headrace", "new").get("test.py::test_x[a/b]") is None
    stale = CachedColumn(own_suite, "headrace", "new").get("test.py::test_x[a/b]", any_fingerprint=True)
    assert stale == Result("test.py::test_x[a/b]", "pass", 1.0)
