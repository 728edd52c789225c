"""Every golden plan: its document, and how it is explained as text, as Mermaid and as a picture. HEADRACE_WRITE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from headrace.formats import FORMATS
from headrace.functions import CATALOGUE
from headrace.plan import explain, steps, windows
from headrace.plan.document import from_json, to_json
from headrace.plan.engine import Guarantee
from headrace.plan.plan import Plan
from headrace.plan.relations import relations
from tests.plan.plans import PLANS

GOLDEN = Path(__file__).parent / "golden"


def check(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("HEADRACE_WRITE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, (
        f"{name} differs; if that is meant, run with HEADRACE_WRITE_GOLDEN=1 and look at the change"
    )


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_the_document(plan: Plan) -> None:
    text = to_json(plan, indent=1) + "\n"
    check(f"{plan.name}.json", text)
    assert from_json(text) == plan


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_the_explanation(plan: Plan) -> None:
    relations(plan, CATALOGUE, FORMATS)
    both = [explain.text(plan, guarantee, CATALOGUE) for guarantee in Guarantee]
    check(f"{plan.name}.txt", "\n".join(both))
    check(f"{plan.name}.mmd", explain.mermaid(plan, Guarantee.AT_LEAST_ONCE, CATALOGUE))
    picture = explain.svg(plan, Guarantee.AT_LEAST_ONCE, CATALOGUE)
    check(f"{plan.name}.svg", picture)
    ET.fromstring(picture)


def test_every_step_and_window_has_a_golden_plan() -> None:
    shown = {type(step) for plan in PLANS for step in plan.steps}
    assert set(steps.Step.__subclasses__()) <= shown
    used = {type(step.window) for plan in PLANS for step in plan.steps if isinstance(step, steps.Aggregate)}
    assert set(windows.Window.__subclasses__()) <= used


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {plan.name for plan in PLANS}


def test_a_picture_is_safe_for_any_text() -> None:
    plan = next(plan for plan in PLANS if plan.name == "every_expression")
    picture = explain.svg(plan, Guarantee.AT_LEAST_ONCE, CATALOGUE)
    assert "<tag>" not in picture
    assert "<script" not in picture


def boxes_overlap(picture: str) -> bool:
    rects = [
        tuple(float(rect.get(name) or 0) for name in ("x", "y", "width", "height"))
        for rect in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}rect")
        if rect.get("class") != "page"
    ]
    return any(
        a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]
        for position, a in enumerate(rects)
        for b in rects[position + 1 :]
    )


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_boxes_do_not_overlap(plan: Plan) -> None:
    assert not boxes_overlap(explain.svg(plan, Guarantee.AT_LEAST_ONCE, CATALOGUE))
