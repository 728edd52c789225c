"""A schema as text, and what differs between two. Pure."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import Literal

LONGEST = 200_000


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a comparison: in both, only before, only after."""

    text: str
    kind: Literal["same", "removed", "added"]

    @property
    def sign(self) -> str:
        return {"same": " ", "removed": "-", "added": "+"}[self.kind]


def pretty(text: str) -> str:
    """JSON indented; anything else as it is. Bounded."""
    try:
        shown = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        shown = text
    return shown if len(shown) <= LONGEST else shown[:LONGEST] + "\n…"


def compared(before: str, after: str) -> list[Line]:
    """Line by line, both made pretty first, so that only what means something differs."""
    matcher = difflib.SequenceMatcher(
        None, old := pretty(before).splitlines(), new := pretty(after).splitlines(), False
    )
    lines: list[Line] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            lines += [Line(text, "same") for text in new[c:d]]
        else:
            lines += [Line(text, "removed") for text in old[a:b]]
            lines += [Line(text, "added") for text in new[c:d]]
    return lines
