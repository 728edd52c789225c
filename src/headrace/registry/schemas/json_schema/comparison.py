"""How one JSON Schema differs from another: every pair of nodes is compared once, and cycles end.

The rules for pairs are generators: they yield a pair whose differences they need and are sent them, so that depth is no matter of Python's stack.
A pair that is met again while it is being compared counts as compatible at first; when that turns out wrong for a pair, all is compared once more
with that known, until nothing new is found.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from headrace.registry.schemas import jsontext
from headrace.registry.schemas.json_schema import kinds
from headrace.registry.schemas.json_schema.matching import maximum_matching
from headrace.registry.schemas.json_schema.nodes import (
    ABSENT,
    ALL_OF,
    ANY_OF,
    ONE_OF,
    Combined,
    Const,
    Empty,
    Enum,
    FalseNode,
    Node,
    Not,
    followed,
)
from headrace.registry.schemas.limits import Budget
from headrace.registry.schemas.model import Difference, Policy

Found = list[tuple[str, str]]
"""Kinds with paths relative to the pair that was compared; the pair itself is ""."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A request for the differences of two nodes."""

    old: Node | None
    new: Node | None


Rule = Generator[Pair, Found, Found]
Compatible = Callable[[Found], bool]


def differences(old: Node, new: Node, policy: Policy) -> list[Difference]:
    def compatible(found: Found) -> bool:
        return not any(kinds.breaks(kind, policy) for kind, _ in found)

    known: dict[tuple[int, int], Found] = {}
    budget = Budget("comparing it with another version")
    while True:
        run = _Run(compatible, known, budget)
        found = run.compare(Pair(old, new))
        incompatible = {key: entry for key, entry in run.judged.items() if not compatible(entry)}
        if not run.assumed or incompatible.keys() == known.keys():
            return [kinds.difference(kind, f"#/{path}", policy) for kind, path in found]
        known = incompatible


def under(prefix: str, found: Found) -> Found:
    """The same differences seen from above."""
    return [(kind, f"{prefix}/{path}" if path else prefix) for kind, path in found]


class _Run:
    """One pass over both schemas."""

    def __init__(self, compatible: Compatible, known: dict[tuple[int, int], Found], budget: Budget) -> None:
        self.judged: dict[tuple[int, int], Found] = {}
        self.assumed = False
        self._compatible = compatible
        self._known = known
        self._budget = budget
        self._open: set[tuple[int, int]] = set()

    def compare(self, pair: Pair) -> Found:
        """Drive the rules with a stack of our own."""
        stack: list[tuple[Rule, tuple[int, int]]] = []
        answer = self._start(pair, stack)
        while stack:
            rule, key = stack[-1]
            try:
                request = rule.send(answer)  # type: ignore[arg-type]
            except StopIteration as end:
                answer = end.value
                assert answer is not None
                self._budget.spend(len(answer))
                self.judged[key] = answer
                self._open.discard(key)
                stack.pop()
            else:
                answer = self._start(request, stack)
        assert answer is not None
        return answer

    def _start(self, pair: Pair, stack: list[tuple[Rule, tuple[int, int]]]) -> Found | None:
        """The answer where it is known; else its rule is put on the stack and starts with None."""
        self._budget.spend()
        if pair.old is None or pair.new is None:
            return [] if pair.old is pair.new else [("SCHEMA_ADDED" if pair.old is None else "SCHEMA_REMOVED", "")]
        old, new = followed(pair.old), followed(pair.new)
        key = (id(old), id(new))
        if key in self.judged:
            return self.judged[key]
        if key in self._open:
            if key in self._known:
                return self._known[key]
            self.assumed = True
            return []
        self._open.add(key)
        stack.append((_any(old, new, self._compatible), key))
        return None


def _any(old: Node, new: Node, compatible: Compatible) -> Rule:
    shortcut = yield from _one_of_several(old, new, compatible)
    if shortcut is not None:
        return shortcut
    if type(old) is not type(new):
        return [] if _never_breaks(old, new) else [("TYPE_CHANGED", "")]
    found: Found = []
    for kind, before, after in (
        ("ID_CHANGED", old.id, new.id),
        ("TITLE_CHANGED", old.title, new.title),
        ("DESCRIPTION_CHANGED", old.description, new.description),
        ("DEFAULT_CHANGED", _json(old.default), _json(new.default)),
    ):
        if before != after:
            found.append((kind, ""))
    rule = RULES.get(type(old))
    if rule is not None:
        found += yield from rule(old, new, compatible)
    return found


def _one_of_several(old: Node, new: Node, compatible: Compatible) -> Generator[Pair, Found, Found | None]:
    """One schema against several: one of them that fits is enough, where any may match or all did."""
    if isinstance(new, Combined) and not isinstance(old, Combined):
        pairs = [Pair(old, part) for part in new.parts]
        kind, enough = "SUM_TYPE_EXTENDED", new.criterion in (ANY_OF, ONE_OF)
    elif isinstance(old, Combined) and not isinstance(new, Combined):
        pairs = [Pair(part, new) for part in old.parts]
        kind, enough = "PRODUCT_TYPE_NARROWED", old.criterion == ALL_OF
    else:
        return None
    single = len(pairs) == 1
    for pair in pairs if enough or single else ():
        found = yield pair
        if compatible(found):
            return found if single else [*found, (kind, "")]
    return None


def _never_breaks(old: Node, new: Node) -> bool:
    # Connect writes decimals in two ways that both stand for bytes.
    same_bytes = old.extra.get("connect.type") == "bytes" == new.extra.get("connect.type")
    return isinstance(old, FalseNode) or isinstance(new, Empty) or same_bytes


def _json(value: Any) -> str | None:
    return None if value is ABSENT else jsontext.write(jsontext.in_order(value))


def _const(old: Const, new: Const, compatible: Compatible) -> Rule:
    yield from ()
    return [] if _json(old.value) == _json(new.value) else [("ENUM_ARRAY_CHANGED", "const")]


def _enum(old: Enum, new: Enum, compatible: Compatible) -> Rule:
    yield from ()
    before, after = ({_json(value) for value in node.values} for node in (old, new))
    if before == after:
        return []
    change = "EXTENDED" if after > before else "NARROWED" if after < before else "CHANGED"
    return [(f"ENUM_ARRAY_{change}", "enum")]


def _not(old: Not, new: Not, compatible: Compatible) -> Rule:
    # What must not match may only get narrower, so the two change places.
    found = yield Pair(new.inner, old.inner)
    return [("NOT_TYPE_NARROWED" if compatible(found) else "NOT_TYPE_EXTENDED", "not")]


def _combined(old: Combined, new: Combined, compatible: Compatible) -> Rule:
    found: Found = []
    if old.criterion != new.criterion:
        if not _extends(old, new):
            return [("COMBINED_TYPE_CHANGED", "")]
        found.append(("COMBINED_TYPE_EXTENDED", ""))
    befores, afters = _distinct(old), _distinct(new)
    if len(befores) < len(afters):
        found.append(("PRODUCT_TYPE_EXTENDED" if new.criterion == ALL_OF else "SUM_TYPE_EXTENDED", ""))
    elif len(befores) > len(afters):
        found.append(("PRODUCT_TYPE_NARROWED" if old.criterion == ALL_OF else "SUM_TYPE_NARROWED", ""))
    edges: dict[tuple[int, int], Found] = {}
    for row, before in enumerate(befores):
        for column, after in enumerate(afters):
            inner = yield Pair(before, after)
            if compatible(inner):
                edges[row, column] = under(f"{old.criterion}/{row}", inner)
    matched = maximum_matching(len(befores), len(afters), edges)
    for edge in matched:
        found += edges[edge]
    if len(matched) < min(len(befores), len(afters)):
        found.append(("COMBINED_TYPE_SUBSCHEMAS_CHANGED", ""))
    return found


def _extends(old: Combined, new: Combined) -> bool:
    before, after = len(old.parts) == 1, len(new.parts) == 1
    return (
        new.criterion == ANY_OF
        or (before and after)
        or (before and new.criterion == ONE_OF)
        or (after and old.criterion == ALL_OF)
    )


def _distinct(node: Combined) -> list[Node]:
    """Schemas that are written twice count once."""
    if node.generated:
        return node.parts
    keyed = {(part.kind, getattr(part, "criterion", ""), _json(part.raw)): part for part in reversed(node.parts)}
    return list(keyed.values())[::-1]


RULES: dict[type[Node], Callable[..., Rule]] = {Const: _const, Enum: _enum, Not: _not, Combined: _combined}
"""By kind of node; the modules beside this one add theirs."""
