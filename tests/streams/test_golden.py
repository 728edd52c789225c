"""The plan of every operation, as it was read and found right."""

from __future__ import annotations

import pytest

from headrace.functions import CATALOGUE
from headrace.plan.document import from_json, to_json
from headrace.plan.relations import relations
from tests.streams.topologies import GOLDEN, TOPOLOGIES, plan_json


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_plans_are_as_they_were(name: str) -> None:
    path = GOLDEN / f"{name}.json"
    assert path.exists(), "`python -m tests.streams.write_golden` writes it"
    assert plan_json(name) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_plans_survive_json_and_have_types(name: str) -> None:
    text = (GOLDEN / f"{name}.json").read_text(encoding="utf-8")
    plan = from_json(text)
    assert to_json(plan, indent=1) + "\n" == text
    assert set(relations(plan, CATALOGUE)) >= {step.id for step in plan.steps}


def test_every_golden_file_has_its_topology() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(TOPOLOGIES)


def test_no_plan_of_these_needs_the_process_that_wrote_it() -> None:
    for path in GOLDEN.glob("*.json"):
        assert "local:" not in path.read_text(encoding="utf-8"), path.name
