"""Plans from topic to topic: stateless steps, bad records, both guarantees, both modes."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from headrace.plan import steps as s
from headrace.plan.expressions import Column, Named
from headrace.plan.plan import PlanError
from headrace.plan.types import BIGINT, STRING
from headrace.spark.pipeline import PipelineError, reset
from headrace.testing import wait_until
from tests.spark.pipelines import MODES, Lab, call, json_serde, number

DOUBLED = (Named("name", call("upper", Column("name"))), Named("twice", call("multiply", Column("amount"), number(2))))
RESULT = json_serde(name=STRING, twice=BIGINT)


@pytest.mark.parametrize("mode", MODES)
def test_a_map_writes_what_it_can_read_and_the_rest_goes_to_the_processing_log(lab: Lab, mode: str) -> None:
    lab.create("in")
    steps = (
        lab.source("in"),
        s.Filter("large", "in", call("greater", Column("amount"), number(1))),
        s.Select("doubled", "large", DOUBLED),
        lab.sink("doubled", RESULT),
    )
    with lab.run(*steps, mode=mode) as running:
        lab.send(
            "in", ("a", {"name": "x", "amount": 2}, 1000), ("b", "{no json", 1001), ("c", {"name": "y", "amount": 1})
        )
        lab.send("in", ("d", {"name": "z", "amount": 5}, 2000))
        running.await_processed()
        assert lab.rows() == [("a", {"name": "X", "twice": 4}, 1000), ("d", {"name": "Z", "twice": 10}, 2000)]
        progress = running.progress()
    assert (progress["rows_in"], progress["rows_out"], progress["bad"], progress["lag"]) == (4, 2, 1, 0)
    (entry,) = [one for one in processing_log(lab) if one["pipeline"] == lab.name]
    assert (entry["topic"], entry["partition"], entry["offset"]) == (lab.topic("in"), 0, 1)
    assert base64.b64decode(entry["value"]) == b"{no json" and entry["reason"]


def processing_log(lab: Lab) -> list[dict[str, Any]]:
    return [json.loads(one.value()) for one in lab.received(topic="_headrace_processing_log")]


def test_a_pipeline_that_is_started_again_goes_on_where_it_was(lab: Lab) -> None:
    lab.create("in")
    steps = (lab.source("in"), s.Select("doubled", "in", DOUBLED), lab.sink("doubled", RESULT))
    for number_ in (1, 2):
        with lab.run(*steps, mode="exactly_once") as running:
            lab.send("in", ("k", {"name": "x", "amount": number_}))
            running.await_processed()
    assert [value["twice"] for _, value, _ in lab.rows()] == [2, 4]


def test_a_pipeline_that_was_killed_while_it_wrote_its_first_commit_starts_again(lab: Lab) -> None:
    lab.create("in")
    steps = (lab.source("in"), s.Deduplicate("once", "in", (Column("id"),), 60_000), lab.sink("once"))
    for name, log in (("a", "commits"), ("b", "offsets")):
        with lab.run(*steps, real_time_batch_ms=300_000):
            lab.send("in", (name, {"name": name, "amount": 1}))
            wait_until(lambda name=name: name in [key for key, _, _ in lab.rows()], timeout_s=60)
        begun = lab.directory / "checkpoints" / lab.name / "once" / log
        assert begun.is_dir()
        (begun / ".0.46271499-331a-45aa-a86b-890e3c9655f1.tmp").touch()


def test_a_source_that_is_not_there_is_refused_with_its_name(lab: Lab) -> None:
    with (
        pytest.raises(PlanError, match=f"step 'in': there is no topic '{lab.topic('in')}'; create it"),
        lab.run(lab.source("in"), lab.sink("in")),
    ):
        pass


def test_a_query_that_fails_ends_the_pipeline_in_words(lab: Lab) -> None:
    lab.create("in")
    with lab.run(lab.source("in"), lab.sink("in"), mode="micro_batch") as running:
        lab.send("in", ("k", {"name": "x", "amount": 1}))
        running.await_processed()
        admin = lab.broker.admin()
        admin.delete_topics([lab.topic("in")])[lab.topic("in")].result(10)
        error = wait_until(running.exception, timeout_s=60)
        assert error.stage == "in"
        assert "topic is missing" in str(error) or "are gone" in str(error)
        assert running.progress()["running"] is False


def test_too_few_slots_are_refused_before_anything_starts(lab: Lab) -> None:
    lab.create("in", partitions=200)
    with (
        pytest.raises(PipelineError, match=r"real-time mode needs 200 task slots .*--master local"),
        lab.run(lab.source("in"), lab.sink("in")),
    ):
        pass


def test_state_of_another_plan_is_refused_with_the_way_out(lab: Lab) -> None:
    lab.create("in")
    counting = s.Aggregate("n", "g", (s.AggregateCall("n", "count"),))
    steps = (lab.source("in"), s.GroupBy("g", "in"), counting, lab.sink("n", json_serde(n=BIGINT)))
    with lab.run(*steps, mode="micro_batch"):
        pass
    summing = s.Aggregate("n", "g", (s.AggregateCall("n", "sum", (Column("amount"),)),))
    changed = (*steps[:2], summing, steps[3])
    with (
        pytest.raises(PipelineError, match=r"keeps other state: aggregates changed\. Reset the pipeline"),
        lab.run(*changed, mode="micro_batch"),
    ):
        pass
    reset(lab.plan(*steps), lab.settings())
    with lab.run(*changed, mode="micro_batch"):
        pass
