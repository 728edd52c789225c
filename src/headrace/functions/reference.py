"""The reference page of functions, made from their declarations."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.functions.catalogue import CATALOGUE

_INTRODUCTION = """# Functions

Expressions of pipelines call these by name; operators are functions too. A single capital letter stands for a type: arguments with the same letter
get their common type, `N` and `M` are numbers, `C` and `K` hold no map; `X...` is one or more; `(T) => R` is a lambda. `DECIMAL` is any decimal, `ANY` any type.

Numbers widen by themselves (INTEGER to BIGINT to DECIMAL to DOUBLE). Unless a function says otherwise, a NULL argument gives NULL. Nothing that a record holds makes a
function fail: what has no result is NULL. Patterns and time zones are constants, checked before a pipeline starts. A TIMESTAMP lies in the years 1 to 9999.
"""

_AGGREGATES = """## Aggregates

Of a group's rows, in Aggregate steps. *Tables* says whether a row can be taken out again, which aggregates of tables need. *Built in* says whether Spark's own operator
can compute it, which is faster, where the window is none, tumbling or hopping.

"""


def page() -> str:
    """All functions by subject."""
    parts = [_INTRODUCTION]
    subjects = dict.fromkeys(one.subject for one in CATALOGUE.scalars.values())
    for subject in subjects:
        some = ((one.signatures(), one.doc) for one in CATALOGUE.scalars.values() if one.subject == subject)
        parts.append(
            f"## {subject}\n\n| function | meaning |\n|---|---|\n"
            + "\n".join(_row(signatures, doc) for signatures, doc in some)
            + "\n"
        )
    rows = [
        _row(
            one.signatures(),
            one.doc,
            _yes(o.fold.undo is not None for o in one.overloads),
            _yes(o.spark is not None for o in one.overloads),
        )
        for one in CATALOGUE.aggregates.values()
    ]
    parts.append(
        f"{_AGGREGATES}| function | meaning | tables | built in |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )
    return "\n".join(parts)


def _row(signatures: Iterable[str], *cells: str) -> str:
    calls = "<br>".join(f"`{one}`" for one in signatures)
    return "| " + " | ".join([calls, *(cell.replace("|", "\\|") for cell in cells)]) + " |"


def _yes(each: Iterable[bool]) -> str:
    found = list(each)
    if len(set(found)) == 1:
        return "yes" if found[0] else "no"
    return ", ".join("yes" if one else "no" for one in found)
