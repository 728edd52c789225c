"""A pipeline as plain, versioned data: its name and its steps, each after those it reads from."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.plan.scope import one_of
from headrace.plan.steps import Branch, Step, inputs

FORMAT_VERSION = 1
MAX_STEPS = 2000
NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")


class PlanError(ValueError):
    """A plan that cannot run. `step` is the id of the step at fault; the message says what to do."""

    def __init__(self, step: str, problem: str) -> None:
        super().__init__(f"step {step!r}: {problem}" if step else problem)
        self.step = step
        self.problem = problem


@dataclass(frozen=True)
class Plan:
    """The name is part of topics, checkpoints and transactional ids: it identifies the pipeline for good."""

    name: str
    steps: tuple[Step, ...]
    version: int = FORMAT_VERSION

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise PlanError(
                "", f"{self.name[:80]!r} is no name for a pipeline: 1 to 200 letters, digits, '.', '_' or '-'"
            )
        if len(self.steps) > MAX_STEPS:
            raise PlanError("", f"a pipeline may have {MAX_STEPS} steps, this has {len(self.steps)}; make it several")
        known: set[str] = set()
        for step in self.steps:
            _check_id(step, known)
            for name in inputs(step):
                if name not in known:
                    raise PlanError(
                        step.id, f"reads from {name[:80]!r}, which no step before it is{one_of(name, sorted(known))}"
                    )
            known.add(step.id)
            if isinstance(step, Branch):
                known.update(f"{step.id}.{case.name}" for case in step.branches)

    def step(self, name: str) -> Step:
        """The step with this id, or whose branch this is."""
        return next(
            step
            for step in self.steps
            if step.id == name or (isinstance(step, Branch) and name.startswith(step.id + "."))
        )


def _check_id(step: Step, known: set[str]) -> None:
    if not NAME.fullmatch(step.id):
        raise PlanError(step.id[:80], "an id has 1 to 200 letters, digits, '.', '_' or '-'")
    if step.id in known:
        raise PlanError(step.id, "there are two steps with this id; ids are unique")
