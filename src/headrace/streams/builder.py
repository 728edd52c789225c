"""The plan in the making: steps with readable ids, checked one by one so that an error points at the line that added the step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from headrace.formats import FORMATS
from headrace.plan.plan import NAME, Plan, PlanError
from headrace.plan.relations import Relation, relations
from headrace.plan.steps import SOURCES, Step
from headrace.streams import catalogue
from headrace.streams.errors import StreamsError, caller
from headrace.streams.tracing import Fallback, Traced


class Builder:
    """Owns the steps of one app. Ids are `<kind>-<number>`, counted per kind, or what `name=` says."""

    def __init__(self, name: str) -> None:
        if not NAME.fullmatch(name):
            raise StreamsError(f"{name!r} is no name for an app: 1 to 200 letters, digits, '.', '_' or '-'")
        self.name = name
        self.steps: list[Step] = []
        self.locations: dict[str, str] = {}
        self.fallbacks: dict[str, list[Fallback]] = {}
        self.relations: dict[str, Relation] = {}
        self._counts: Counter[str] = Counter()
        self._pending: list[Fallback] = []

    def note(self, traced: Traced) -> Traced:
        """Remember why a function stays Python, for the step that is added next."""
        if traced.fallback is not None:
            self._pending.append(traced.fallback)
        return traced

    def add(self, make: Callable[[str], Step], kind: str, name: str | None = None) -> str:
        """Add a step and return its id; what is wrong with it is raised here."""
        id_ = name if name is not None else self._next_id(kind)
        pending, self._pending = self._pending, []
        step = make(id_)
        try:
            plan = Plan(self.name, (*self.steps, step))
            self.relations = relations(plan, catalogue.functions(), FORMATS)
        except PlanError as error:
            raise StreamsError(error.problem if error.step == id_ else str(error)) from None
        self.steps.append(step)
        self.locations[id_] = caller()
        if pending:
            self.fallbacks[id_] = pending
        return id_

    def source(self, make: Callable[[str], Step], kind: str, name: str | None) -> str:
        """A source; one that is there already, and was not given another name, is used again."""
        for step in self.steps:
            if isinstance(step, SOURCES) and name in (None, step.id) and step == make(step.id):
                return step.id
        return self.add(make, kind, name)

    def plan(self) -> Plan:
        if not self.steps:
            raise StreamsError(f"the app {self.name!r} does nothing yet: begin with app.stream(…) or app.table(…)")
        return Plan(self.name, tuple(self.steps))

    def _next_id(self, kind: str) -> str:
        taken = {step.id for step in self.steps}
        while True:
            self._counts[kind] += 1
            id_ = f"{kind}-{self._counts[kind]}"
            if id_ not in taken:
                return id_
