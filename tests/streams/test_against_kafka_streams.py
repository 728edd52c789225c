"""A slice of `python -m conformance.streams`: topologies through Headrace, held against Kafka Streams' answers on file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conformance.streams import compare, expected
from conformance.streams.case import Case, all_cases
from headrace.testing import LocalBroker, broker

CASES = {case.name: case for case in all_cases()}
MICRO_BATCH = (
    "branches/in-order",
    "aggregate/nulls",
    "session-count/sessions",
    "sliding-count/out-of-order",
    "stream-stream-inner/left-first",
    "stream-table-left/deletions",
    "table-table-outer/deletions",
)
REAL_TIME = ("chain-of-steps/in-order", "tumbling-count/out-of-order", "stream-table-inner/right-first")
EXACTLY_ONCE = ("count/out-of-order",)


@pytest.fixture
def kafka() -> Iterator[LocalBroker]:
    with broker() as running:
        yield running


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("mode", "name"),
    [
        *(("micro_batch", name) for name in MICRO_BATCH),
        *(("real_time", name) for name in REAL_TIME),
        *(("exactly_once", name) for name in EXACTLY_ONCE),
    ],
)
def test_a_topology_gives_what_kafka_streams_gives(mode: str, name: str, spark: Any, kafka: LocalBroker) -> None:
    case = CASES[name]
    assert compare.differences(case, expected.read()[name], compare.run(case, mode, spark, kafka)) == []


def test_there_is_an_answer_for_every_case() -> None:
    assert set(expected.read()) == set(CASES)
    assert len(CASES) >= 150


def test_a_difference_is_found() -> None:
    case = CASES["count/in-order"]
    answers = expected.read()[case.name]
    assert compare.differences(case, answers, {"out": []}) != []


def test_real_time_mode_is_not_asked_for_what_it_cannot_order() -> None:
    assert isinstance(CASES["tumbling-short-grace/late"], Case)
    assert not compare.applies(CASES["tumbling-short-grace/late"], "real_time")
