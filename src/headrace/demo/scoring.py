"""What was said against what happened: detection delay, missed and false alerts, alerts raised twice. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.demo.geography import BY_CODE, kilometres
from headrace.demo.scenario import ALERTED, Incident, Kind, Scenario

FELT_KM = 250.0
"""An earthquake is felt in other regions too: an alert there is no false one."""
TIME_S = 90.0
"""So long after it began an alert still speaks of an incident."""
EPISODE_S = 300.0
DUE_S = 15.0
"""An incident that began so shortly before the end cannot be called missed."""


@dataclass(frozen=True)
class Raised:
    """An alert as it was read. `time_s`: of the scenario; `arrived_s`: on the clock of whoever watches."""

    id: str
    kind: str
    level: str
    place: str
    region: str
    reason: str
    time_s: float
    arrived_s: float


@dataclass(frozen=True)
class Found:
    """An incident that should be alerted, and when that was."""

    incident: Incident
    alert: Raised | None
    delay_s: float | None


@dataclass(frozen=True)
class Score:
    """`missed` and `false_alerts` are empty when all is well."""

    found: tuple[Found, ...]
    false_alerts: tuple[Raised, ...]
    duplicates: tuple[Raised, ...]
    elsewhere: tuple[Raised, ...] = field(default=())
    """Alerts about an incident that another region's alert was already raised for."""

    @property
    def missed(self) -> tuple[Incident, ...]:
        return tuple(one.incident for one in self.found if one.alert is None)

    def delays_s(self, kind: Kind = Kind.EARTHQUAKE) -> list[float]:
        return [round(one.delay_s, 2) for one in self.found if one.delay_s is not None and one.incident.kind is kind]

    def document(self) -> dict[str, Any]:
        """For programs: counts, and the delays of earthquakes in their order."""
        return {
            "missed": len(self.missed),
            "false_alerts": len(self.false_alerts),
            "delays_s": self.delays_s(),
            "duplicates": len(self.duplicates),
            "expected": len(self.found),
            "accident_delays_s": self.delays_s(Kind.ACCIDENT),
            "false": [f"{one.kind} in {one.region} at {one.time_s:.0f} s" for one in self.false_alerts],
            "missing": [f"{one.kind.value} near {one.place.name} at {one.start_s:.0f} s" for one in self.missed],
        }


def score(
    scenario: Scenario, until_s: float, first_posts: Mapping[str, float], alerts: Iterable[Raised], due_s: float = DUE_S
) -> Score:
    """`first_posts`: when the first post about each incident was sent, on the watcher's clock; an incident that nobody wrote of is none."""
    raised = sorted(alerts, key=lambda alert: alert.arrived_s)
    happened = [one for one in scenario.incidents_until(until_s) if one.kind in ALERTED and one.id in first_posts]
    left = list(raised)
    found, elsewhere = [], []
    for incident in happened:
        mine = [alert for alert in left if speaks_of(alert, incident)]
        left = [alert for alert in left if alert not in mine]
        first = mine[0] if mine else None
        if first is None and incident.start_s + due_s > until_s:
            continue
        found.append(Found(incident, first, first.arrived_s - first_posts[incident.id] if first else None))
        elsewhere += [alert for alert in mine[1:] if alert.region != mine[0].region]
    twice = repeated(raised)
    false = tuple(alert for alert in left if alert not in twice)
    return Score(tuple(found), false, tuple(twice), tuple(elsewhere))


def speaks_of(alert: Raised, incident: Incident) -> bool:
    """Whether an alert can be about an incident: what it says it is, there, and then."""
    if alert.kind != ALERTED.get(incident.kind) or alert.place not in BY_CODE:
        return False
    near = FELT_KM if incident.kind is Kind.EARTHQUAKE else 1.0
    return 0 <= alert.time_s - incident.start_s <= TIME_S and kilometres(BY_CODE[alert.place], incident.place) <= near


def repeated(alerts: Sequence[Raised]) -> list[Raised]:
    """Alerts of a kind and region for which there was one shortly before."""
    last: dict[tuple[str, str], float] = {}
    twice = []
    for alert in sorted(alerts, key=lambda one: (one.time_s, one.arrived_s)):
        about = (alert.kind, alert.region)
        if about in last and alert.time_s - last[about] < EPISODE_S:
            twice.append(alert)
        else:
            last[about] = alert.time_s
    return twice
