"""Scoring: what counts as found, missed, false and twice."""

from __future__ import annotations

import json

from headrace.demo.scenario import Kind, Scenario, incidents
from headrace.demo.scoring import Raised, score

SCENARIO = Scenario(7)
BY_KIND = {one.kind: one for one in reversed(incidents(7, 0))}
QUAKE, CRASH, GOAL, MAD = (BY_KIND[kind] for kind in (Kind.EARTHQUAKE, Kind.ACCIDENT, Kind.GOAL, Kind.MAD_SENSOR))
FIRST = {one.id: 1000.0 + one.start_s + 2 for one in incidents(7, 0)}


def alert(kind: str, place: str, region: str, at_s: float, arrived_s: float | None = None) -> Raised:
    arrived = 1000.0 + at_s if arrived_s is None else arrived_s
    return Raised(f"{kind}|{region}|{at_s}", kind, "warning", place, region, "because", at_s, arrived)


def quake(at_s: float, arrived_s: float | None = None) -> Raised:
    return alert("earthquake", QUAKE.place.code, QUAKE.region, at_s, arrived_s)


def test_an_alert_in_time() -> None:
    found = score(SCENARIO, 100, FIRST, [quake(64, 1065.5)])
    assert found.delays_s() == [3.5]
    assert not found.missed and not found.false_alerts and not found.duplicates


def test_an_earthquake_that_nobody_told_of_is_missed_once_it_is_due() -> None:
    assert [one.id for one in score(SCENARIO, 100, FIRST, []).missed] == [QUAKE.id]
    assert not score(SCENARIO, 70, FIRST, []).missed, "there is still time"
    assert score(SCENARIO, 70, FIRST, [quake(64)]).delays_s() == [2.0], "and what was found counts"


def test_a_goal_and_a_mad_sensor_are_no_earthquakes() -> None:
    wrong = [
        alert("earthquake", GOAL.place.code, GOAL.region, GOAL.start_s + 4),
        alert("earthquake", MAD.place.code, MAD.region, MAD.start_s + 4),
    ]
    found = score(SCENARIO, 280, FIRST, [quake(64), *wrong])
    assert found.false_alerts == tuple(wrong)
    assert found.document()["false_alerts"] == 2


def test_before_it_happened_is_false() -> None:
    found = score(SCENARIO, 100, FIRST, [quake(50)])
    assert len(found.false_alerts) == 1 and len(found.missed) == 1


def test_twice_is_told() -> None:
    found = score(SCENARIO, 100, FIRST, [quake(64), quake(66)])
    assert [one.time_s for one in found.duplicates] == [66]
    assert not found.false_alerts


def test_a_neighbour_that_felt_it_is_neither_false_nor_twice() -> None:
    neighbour = next(
        alert("earthquake", code, region, 66) for code, region in (("BJZ", "Extremadura"),) if region != QUAKE.region
    )
    found = score(SCENARIO, 100, FIRST, [quake(64), neighbour])
    assert not found.false_alerts and not found.duplicates
    assert found.elsewhere == (neighbour,)


def test_accidents_are_scored_by_their_own() -> None:
    crash = alert("road accident", CRASH.place.code, CRASH.region, CRASH.start_s + 6)
    document = score(SCENARIO, 320, FIRST, [quake(64), crash]).document()
    assert document["accident_delays_s"] == [4.0]
    assert (document["missed"], document["false_alerts"], document["expected"]) == (0, 0, 2)
    json.dumps(document)
