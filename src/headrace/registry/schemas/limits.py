"""Bounds on what one schema may cost: every one is far beyond schemas that people write, and far below what harms the process.

A schema comes from whoever reaches the port. Text, nesting, references and the number of comparisons are bounded, so that any answer is there
well within a second.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.registry.schemas.errors import InvalidSchema

TEXT_CHARACTERS = 1 << 20
"""Of one schema; Kafka's default for a whole record is as much."""

RESOLVED_CHARACTERS = 4 << 20
"""Of a schema with everything that it refers to."""

REFERENCES = 1_000
NESTING = 200
"""Levels of JSON, messages or groups. Readers call themselves per level, and Python's stack is finite."""

STEPS = 300_000
"""Comparisons of two nodes, or nodes visited, in one question; about half a second."""


def check_size(text: str, resolved: Mapping[str, str]) -> None:
    """Refuse what is too long before anything looks at it."""
    if len(text) > TEXT_CHARACTERS:
        raise InvalidSchema(f"Schema too long: {len(text)} characters, at most {TEXT_CHARACTERS} are allowed")
    if len(resolved) > REFERENCES:
        raise InvalidSchema(f"Too many references: {len(resolved)}, at most {REFERENCES} are allowed")
    if len(text) + sum(map(len, resolved.values())) > RESOLVED_CHARACTERS:
        raise InvalidSchema(f"Schema and references are longer than {RESOLVED_CHARACTERS} characters together")


class Budget:
    """Steps that one question may take; `spend` raises once they are used up."""

    __slots__ = ("_left", "_what")

    def __init__(self, what: str, steps: int = STEPS) -> None:
        self._left = steps
        self._what = what

    def spend(self, steps: int = 1) -> None:
        self._left -= steps
        if self._left < 0:
            raise InvalidSchema(f"Schema too complex: {self._what} takes too many steps; split it into smaller types")
