"""Several lanes of one trunk as one list of columns.

One lane, or lanes of which a row is in at most one (branches), cost nothing more; otherwise each row is repeated once per lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from headrace.spark.lower.flow import Lane, Trunk

ROUTE = "route"
Routed = tuple[Lane, Mapping[str, str]]


def routed(trunk: Trunk, lanes: Sequence[Routed]) -> dict[str, str]:
    """The SQL of each column, for the lane a row is in. The trunk is completed by the layers that this needs."""
    if len(lanes) == 1:
        active = lanes[0][0].active()
        if active is not None:
            trunk.where(active)
        return dict(lanes[0][1])
    _route(trunk, [lane for lane, _ in lanes])
    return {name: _choice([columns[name] for _, columns in lanes]) for name in lanes[0][1]}


def _route(trunk: Trunk, lanes: Sequence[Lane]) -> None:
    """A column that says which lane a row is in; rows in none are dropped."""
    actives = [lane.active() or "TRUE" for lane in lanes]
    if all(a.excludes(b) for a, b in combinations(lanes, 2)):
        whens = " ".join(f"WHEN {active} THEN {number}" for number, active in enumerate(actives))
        trunk.add(ROUTE, f"CASE {whens} END")
        trunk.where(f"{ROUTE} IS NOT NULL")
        return
    trunk.add(ROUTE, f"explode(array({', '.join(map(str, range(len(lanes))))}))")
    if any(active != "TRUE" for active in actives):
        whens = " ".join(f"WHEN {number} THEN {active}" for number, active in enumerate(actives))
        trunk.where(f"CASE {ROUTE} {whens} END")


def _choice(texts: Sequence[str]) -> str:
    if len(set(texts)) == 1:
        return texts[0]
    return f"CASE {ROUTE} {' '.join(f'WHEN {number} THEN {sql}' for number, sql in enumerate(texts))} END"
