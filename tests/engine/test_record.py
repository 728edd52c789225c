import json

import pytest

from headrace.engine.backoff import HEALTHY_MS, LONGEST_MS, Backoff
from headrace.engine.record import BadRecord, PipelineRecord, decode
from headrace.plan.engine import DesiredState, Guarantee
from tests.engine.plans import copy_plan

RECORD = PipelineRecord(
    plan=copy_plan(),
    guarantee=Guarantee.EXACTLY_ONCE,
    desired=DesiredState.PAUSED,
    submitted_at_ms=7,
    settings={"trigger.ms": "200"},
    revision=3,
    epoch=2,
)


def test_a_record_is_read_as_it_was_written() -> None:
    assert decode(RECORD.encode()) == RECORD


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"plan": {}},
        {"guarantee": "perhaps"},
        {"desired": None},
        {"submitted_at_ms": "soon"},
        {"submitted_at_ms": -1},
        {"settings": {"trigger.ms": 5}},
        {"settings": []},
        {"epoch": True},
    ],
)
def test_what_no_engine_wrote_is_refused(change: dict[str, object]) -> None:
    body = json.loads(RECORD.encode()) | change
    with pytest.raises(BadRecord):
        decode(json.dumps(body).encode())


@pytest.mark.parametrize("value", [b"", b"[]", b"\xff", b"{", b"[" * 100_000])
def test_bytes_that_are_no_record_are_refused(value: bytes) -> None:
    with pytest.raises(BadRecord):
        decode(value)


def test_waits_double_up_to_a_minute() -> None:
    backoff = Backoff()
    assert [backoff.failed(0) for _ in range(8)] == [1000, 2000, 4000, 8000, 16000, 32000, LONGEST_MS, LONGEST_MS]


def test_a_pipeline_that_ran_for_long_is_trusted_anew() -> None:
    backoff = Backoff()
    backoff.failed(0)
    backoff.failed(0)
    backoff.started(0)
    assert backoff.failed(HEALTHY_MS) == HEALTHY_MS + 1000


def test_one_that_ran_briefly_is_not() -> None:
    backoff = Backoff()
    backoff.failed(0)
    backoff.started(0)
    assert backoff.failed(10) == 2010
