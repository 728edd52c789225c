"""Plans as JSON: every plan comes back as it was, and no document, however hostile, is anything but a plan or a `PlanDocumentError`."""

from __future__ import annotations

import contextlib
import copy
import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.functions import CATALOGUE
from headrace.plan.document import MAX_BYTES, PlanDocumentError, from_document, from_json, to_document, to_json
from headrace.plan.plan import Plan, PlanError
from headrace.plan.relations import relations
from tests.plan.plans import PLANS
from tests.plan.strategies import documents, plans

RELAXED = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@RELAXED
@given(plans)
def test_any_plan_comes_back(plan: Plan) -> None:
    assert from_json(to_json(plan)) == plan
    assert from_document(json.loads(json.dumps(to_document(plan)))) == plan


@RELAXED
@given(plans)
def test_any_plan_can_run_or_says_why_not(plan: Plan) -> None:
    try:
        relations(plan, CATALOGUE)
    except PlanError as error:
        assert error.step in {step.id for step in plan.steps}


@settings(max_examples=300, deadline=None)
@given(documents)
def test_any_json_is_a_plan_or_an_error(document: Any) -> None:
    for given_document in (
        document,
        {"version": 1, "name": "p", "steps": document},
        {"version": 1, "name": "p", "steps": [document]},
    ):
        with contextlib.suppress(PlanDocumentError):
            from_document(given_document)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_text_is_a_plan_or_an_error(text: bytes | str) -> None:
    with pytest.raises(PlanDocumentError):
        from_json(text)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_real_plan_with_one_thing_changed(data: st.DataObject) -> None:
    """A golden plan in which any one value is replaced by any other."""
    document = copy.deepcopy(to_document(data.draw(st.sampled_from(PLANS))))
    places = list(_places(document))
    holder, name = data.draw(st.sampled_from(places))
    holder[name] = data.draw(documents)
    try:
        plan = from_document(document)
    except PlanDocumentError:
        return
    with contextlib.suppress(PlanError):
        relations(plan, CATALOGUE)


def _places(value: Any) -> Any:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in entries:
        yield value, name
        yield from _places(inner)


def wrapped(expression: str) -> str:
    return f'{{"version":1,"name":"p","steps":[{{"node":"Filter","id":"f","input":"f","condition":{expression}}}]}}'


def deep(open_: str, close: str, count: int) -> str:
    return open_ * count + '{"node":"Column","name":"x"}' + close * count


SOURCE = '{"node":"StreamSource","id":"s","topic":"t","key":{"format":"none","columns":"STRUCT<>"},"value":{"format":"json","columns":"STRUCT<x BIGINT>"}}'
SINK = '{"node":"Sink","id":"o","input":"f","topic":"o","key":{"format":"none","columns":"STRUCT<>"},"value":{"format":"json","columns":"STRUCT<x STRING>"}}'
HOSTILE = {
    "deep lists": "[" * 1_000_000,
    "deep objects": '{"a":' * 1_000_000,
    "a deep expression": wrapped(deep('{"node":"Cast","type":"STRING","operand":', "}", 100_000)),
    "an expression below Python's limit": wrapped(deep('{"node":"Cast","type":"STRING","operand":', "}", 900)),
    "a deep type": wrapped(
        '{"node":"Cast","type":"' + "ARRAY<" * 100_000 + '","operand":{"node":"Column","name":"x"}}'
    ),
    "a long type": wrapped(
        '{"node":"Cast","type":"STRUCT<' + "a INT," * 100_000 + '","operand":{"node":"Column","name":"x"}}'
    ),
    "a huge number": wrapped('{"node":"Literal","type":"BIGINT","value":' + "9" * 1_000_000 + "}"),
    "a huge text": '{"version":1,"name":"' + "a" * 3_000_000 + '","steps":[]}',
    "too many bytes": " " * (MAX_BYTES + 1),
    "many steps": '{"version":1,"name":"p","steps":[' + ",".join([SOURCE] * 20_000) + "]}",
    "many nodes": wrapped(
        '{"node":"Call","function":"f","arguments":[' + ",".join(['{"node":"Column","name":"x"}'] * 120_000) + "]}"
    ),
    "many unknown inputs": '{"version":1,"name":"p","steps":['
    + ",".join(SOURCE.replace('"s"', f'"{"x" * 150}{n}"', 1) for n in range(1900))
    + ',{"node":"ToTable","id":"z","input":"no"}]}',
    "a lone surrogate": '{"version":1,"name":"p","steps":[' + SOURCE.replace('"t"', '"\\ud800"') + "]}",
    "not a number": wrapped('{"node":"Literal","type":"DOUBLE","value":NaN}'),
    "another version": '{"version":2,"name":"p","steps":[]}',
    "a version that is a list": '{"version":[1],"name":"p","steps":[]}',
    "a name that is a number": '{"version":1,"name":5,"steps":[]}',
    "a step of no kind": '{"version":1,"name":"p","steps":[{"node":"Expression","id":"x"}]}',
    "a base class": '{"version":1,"name":"p","steps":[{"node":"Step","id":"x"}]}',
    "a kind that is a list": '{"version":1,"name":"p","steps":[{"node":["Filter"],"id":"x"}]}',
    "an unknown field": '{"version":1,"name":"p","steps":[],"run":"rm"}',
    "no JSON": "{'version': 1}",
    "an enumeration's list": '{"version":1,"name":"p","steps":[{"node":"StreamTableJoin","id":"x","left":"a","right":"b","kind":[],"columns":[]}]}',
    "bytes that are no text": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_an_error_within_a_second(name: str) -> None:
    started = time.process_time()
    with pytest.raises(PlanDocumentError) as raised:
        from_json(HOSTILE[name])
    assert time.process_time() - started < 1
    assert len(str(raised.value)) < 5000


def test_an_error_names_the_place() -> None:
    document = to_document(PLANS[0])
    document["steps"][1]["condition"]["arguments"][1]["value"] = [1]
    with pytest.raises(PlanDocumentError) as raised:
        from_document(document)
    assert raised.value.path == "steps[1].condition.arguments[1].value"


def test_a_plan_that_is_deep_enough_to_be_read_can_be_checked() -> None:
    """What `from_json` lets through is not too deep for anything after it."""
    from headrace.plan import explain
    from headrace.plan.engine import Guarantee

    accepted = 0
    for count in range(1, 200):
        text = (
            '{"version":1,"name":"p","steps":['
            + SOURCE
            + ',{"node":"Select","id":"f","input":"s","columns":[{"name":"x","expression":'
        )
        text += deep('{"node":"Cast","type":"STRING","operand":', "}", count) + "}]}," + SINK + "]}"
        try:
            plan = from_json(text)
        except PlanDocumentError:
            break
        accepted = count
    assert accepted > 50
    explain.text(plan, Guarantee.AT_LEAST_ONCE, CATALOGUE)
