"""The scenario and its records: the same for the same seed, what the issue of the day asks for, and cheap."""

from __future__ import annotations

import json
import time
from collections import Counter

import pytest

from headrace.demo.generator import POSTS, Generator, Out
from headrace.demo.geography import BY_CODE, HOSPITALS, PLACES, STRETCHES, kilometres
from headrace.demo.readings import NEWS, ROADS, SEISMIC, mad_sensor
from headrace.demo.scenario import CYCLE_S, Kind, Scenario, density, incidents, is_night

EPOCH = 1_700_000_000_000


def records(scenario: Scenario, until_s: float, from_s: float = 0.0) -> tuple[Generator, list[Out]]:
    generator = Generator(scenario, EPOCH)
    out: list[Out] = []
    while generator.now_s < until_s:
        start = generator.now_s
        step = generator.step()
        out += step if start >= from_s else []
    return generator, out


def posts(out: list[Out]) -> list[dict[str, object]]:
    found = []
    for record in out:
        if record.topic == POSTS:
            try:
                found.append(json.loads(record.value))
            except ValueError:
                continue
    return found


@pytest.mark.parametrize("seed", range(12))
def test_a_cycle_has_what_it_should_have(seed: int) -> None:
    happening = incidents(seed, 0)
    assert Counter(one.kind for one in happening) == {
        Kind.EARTHQUAKE: 2, Kind.MAD_SENSOR: 2, Kind.GOAL: 1, Kind.ACCIDENT: 1, Kind.JOKE: 1,
    }  # fmt: skip
    first, second = (one for one in happening if one.kind is Kind.EARTHQUAKE)
    assert first.start_s == 60 and not is_night(first.start_s)
    assert is_night(second.start_s) and density(second.start_s) == 0.1
    fooling = {one.region for one in happening if one.kind in (Kind.GOAL, Kind.MAD_SENSOR)}
    assert not fooling & {first.region, second.region}


def test_it_begins_again_elsewhere() -> None:
    first, second = incidents(7, 0), incidents(7, 1)
    assert [one.kind for one in first] == [one.kind for one in second]
    assert second[0].start_s == CYCLE_S + 60
    assert {one.place for one in first} != {one.place for one in second}
    assert len(list(Scenario(7).incidents_until(2 * CYCLE_S))) == 14


def test_the_same_seed_gives_the_same_bytes() -> None:
    scenario = Scenario(3, rate=100)
    assert records(scenario, 20)[1] == records(scenario, 20)[1]
    assert records(Scenario(4, rate=100), 20)[1] != records(scenario, 20)[1]


@pytest.mark.parametrize("speed", [1.0, 5.0, 20.0])
def test_speed_thins_posts_and_keeps_their_rate_on_the_clock(speed: float) -> None:
    _, out = records(Scenario(7, rate=400, speed=speed), 55)
    assert len(posts(out)) / (55 / speed) == pytest.approx(400, rel=0.1)


def test_the_night_has_a_tenth_of_the_posts() -> None:
    scenario = Scenario(7, rate=400)
    _, out = records(scenario, 480)
    by_day = sum(1 for one in out if one.topic == POSTS and one.at_s < 50) / 50
    by_night = sum(1 for one in out if one.topic == POSTS and 440 <= one.at_s < 480) / 40
    assert by_night == pytest.approx(by_day / 10, rel=0.6)


def test_people_write_of_an_earthquake_where_it_is_and_sensors_shake() -> None:
    generator, out = records(Scenario(7, rate=400), 75)
    quake = incidents(7, 0)[0]
    assert 61.5 <= generator.first_posts[quake.id] <= 63
    after = [post for post in posts(out) if int(str(post["time"])) > EPOCH + 65_000]
    before = [post for post in posts(out) if int(str(post["time"])) < EPOCH + 60_000]

    def about(found: list[dict[str, object]]) -> Counter[str]:
        words = ("terremoto", "earthquake", "tembl", "sismo", "seísmo", "tremor", "shaking")
        return Counter(str(post["place"]) for post in found if any(word in str(post["text"]).lower() for word in words))

    assert about(after)[quake.place.code] > 100
    assert about(before)[quake.place.code] < 5
    shaking = {}
    for record in out:
        if record.topic == SEISMIC and record.at_s > 60:
            reading = json.loads(record.value)
            shaking[reading["sensor"]] = max(reading["pga"], shaking.get(reading["sensor"], 0))
    assert min(shaking[f"{quake.place.code}-{number}"] for number in (1, 2)) > 30
    far = max(PLACES, key=lambda place: kilometres(place, quake.place))
    assert shaking[f"{far.code}-1"] < 3


def test_a_mad_sensor_is_mad_alone() -> None:
    mad = next(one for one in incidents(7, 0) if one.kind is Kind.MAD_SENSOR)
    _, out = records(Scenario(7, rate=1), mad.start_s + 30, from_s=mad.start_s)
    peaks = {
        json.loads(one.value)["sensor"] for one in out if one.topic == SEISMIC and json.loads(one.value)["pga"] > 10
    }
    assert peaks == {mad_sensor(mad)}


def test_records_are_late_out_of_order_twice_and_broken() -> None:
    _, out = records(Scenario(7, rate=400), 60)
    sent = [one for one in out if one.topic == POSTS]
    found = posts(out)
    assert 0 < len(sent) - len(found) < 0.01 * len(sent), "some are no JSON"
    assert sum(1 for count in Counter(post["id"] for post in found).values() if count > 1) > 50
    assert any(post["place"] is None for post in found) and any(post["time"] == 0 for post in found)
    late = [
        EPOCH / 1000 + one.at_s - json.loads(one.value)["time"] / 1000
        for one in sent
        if one.value.endswith(b"}") and json.loads(one.value).get("time")
    ]
    assert max(late) > 10
    assert 0.005 < sum(1 for each in late if each > 2) / len(late) < 0.02
    assert {post["lang"] for post in found} == {"es", "en"}
    assert 0.05 < sum(1 for post in found if str(post["text"]).startswith("RT @")) / len(found) < 0.15


def test_machines_send_too() -> None:
    _, out = records(Scenario(7, rate=1), 20)
    count = Counter(one.topic for one in out)
    assert count[SEISMIC] == 20 * 2 * len(PLACES)
    assert count[ROADS] == 10 * len(STRETCHES)
    assert count[NEWS] == 5
    assert {hospital.region for hospital in HOSPITALS} == {place.region for place in PLACES}
    assert all(stretch.place in BY_CODE for stretch in STRETCHES)


def test_an_accident_stops_the_traffic() -> None:
    crash = next(one for one in incidents(7, 0) if one.kind is Kind.ACCIDENT)
    _, out = records(Scenario(7, rate=1), crash.start_s + 20, from_s=crash.start_s)
    slow = {json.loads(one.value)["place"] for one in out if one.topic == ROADS and json.loads(one.value)["speed"] < 30}
    assert slow == {crash.place.code}


def test_generating_is_cheap() -> None:
    generator = Generator(Scenario(7, rate=2000), EPOCH)
    begin = time.process_time()
    while generator.now_s < 20:
        generator.step()
    assert (time.process_time() - begin) / 20 < 0.1, "of a core; a few hundredths where nobody else works"


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 0"):
        Scenario(rate=0)
