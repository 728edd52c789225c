"""The pipelines of the demo, each on a slice of the scenario or on records of its own."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from headrace.demo.generator import POSTS
from headrace.demo.readings import ROADS, SEISMIC
from headrace.demo.scenario import Kind, Scenario, incidents
from tests.demo.conftest import EPOCH, SECOND, Pipelines, play

HAPPENING = {one.kind: one for one in reversed(incidents(7, 0))}
QUAKE = HAPPENING[Kind.EARTHQUAKE]


def test_posts_are_cleaned_and_get_a_subject(pipeline: Pipelines) -> None:
    out = play(Scenario(7, rate=200), 64, 70)
    with pipeline("posts") as running:
        running.pipe(out, POSTS)
        posts, rejected, reports = (running.documents(topic) for topic in ("posts", "posts-rejected", "reports"))
        bad = running.driver.bad_records()
    sent = [record for record in out if record.topic == POSTS]
    assert len(posts) + len(rejected) + len(bad) == len(sent)
    assert rejected and bad
    assert {one["reason"] for one in rejected} <= {"it comes from nowhere", "it has no time"}
    subjects = Counter(post["subject"] for post in posts)
    assert subjects["earthquake"] > 50 and subjects["other"] > subjects["football"] > 10
    assert len(reports) == sum(1 for post in posts if post["subject"] != "other" and not post["repost"])


def test_several_sensors_shake_and_a_mad_one_does_not_count(pipeline: Pipelines) -> None:
    mad = HAPPENING[Kind.MAD_SENSOR]
    with pipeline("seismic") as running:
        for part in ((40, 66), (mad.start_s - 10, mad.start_s + 20)):
            running.pipe(play(Scenario(7, rate=1), *part), SEISMIC)
        shaking, peaks = running.documents("shaking"), running.documents("sensor-peaks")
    assert {one["region"] for one in shaking} >= {QUAKE.region}
    assert mad.region not in {one["region"] for one in shaking}
    assert mad.place.code in {one["place"] for one in peaks}
    assert all(one["time"] >= EPOCH + 60 * SECOND for one in shaking)


def test_a_jam_is_where_the_accident_is(pipeline: Pipelines) -> None:
    crash = HAPPENING[Kind.ACCIDENT]
    with pipeline("roads") as running:
        running.pipe(play(Scenario(7, rate=1), crash.start_s - 20, crash.start_s + 10), ROADS)
        jams = running.documents("jams")
    assert jams and {jam["place"] for jam in jams} == {crash.place.code}
    assert all(jam["speed"] < 0.33 * jam["usual"] for jam in jams)


def _finding(records: Any, place: str, region: str, subject: str, second: float) -> Any:
    time = EPOCH + int(second * 1000)
    return records.Burst(place, place.title(), region, 40.0, -3.0, 1000, subject, 40, 1.5, time)


def test_people_and_machines_together_raise_an_alert_once(pipeline: Pipelines) -> None:
    with pipeline("alerts") as running:
        records, driver = running.records, running.driver
        running.pipe_tables("hospitals")
        driver.process()

        def burst(place: str, region: str, subject: str, second: float) -> None:
            found = _finding(records, place, region, subject, second)
            driver.pipe("bursts", region, found, found.time)

        for second in (64, 65, 66, 66):  # it goes on, and one finding comes twice
            burst("LOR", "Región de Murcia", "earthquake", second)
        for second in (61, 63, 65):
            shaking = records.Shaking("Región de Murcia", 4, 55.0, EPOCH + second * SECOND)
            driver.pipe("shaking", shaking.region, shaking, shaking.time)
        burst("MAD", "Madrid", "earthquake", 70)  # a goal: nothing shakes
        madness = records.Shaking("Aragón", 2, 200.0, EPOCH + 72 * SECOND)  # and where it does nobody writes
        driver.pipe("shaking", "Aragón", madness, madness.time)
        driver.process()
        burst("TAR", "Cataluña", "accident", 80)
        jam = records.Jam("AP7-TAR", "AP-7", "TAR", "Cataluña", 8.0, 118.0, EPOCH + 78 * SECOND)
        driver.pipe("jams", "TAR", jam, jam.time)
        alerts = running.documents("alerts")
    assert sorted((one["kind"], one["level"], one["region"]) for one in alerts) == [
        ("earthquake", "critical", "Región de Murcia"),
        ("road accident", "warning", "Cataluña"),
    ]
    quake = next(one for one in alerts if one["kind"] == "earthquake")
    assert quake["reason"].startswith("40 posts in 5 s from Lor, usually 1.5, about an earthquake; 4 sensors")
    assert (quake["hospital"], quake["beds"]) == ("Hospital Virgen de la Arrixaca", 900)
    assert len({one["id"] for one in alerts}) == 2


def test_the_situation_of_a_region(pipeline: Pipelines) -> None:
    with pipeline("situation") as running:
        records, driver = running.records, running.driver
        found = _finding(records, "LOR", "Región de Murcia", "earthquake", 64)
        driver.pipe("bursts", found.region, found, found.time)
        driver.process()
        headline = records.Headline(1, "Meridiano", "Terremoto", "LOR", "Región de Murcia", EPOCH + 90 * SECOND)
        driver.pipe("news-headlines", "LOR", headline, headline.time)
        row = driver.table("situation").get("Región de Murcia")
    assert (row.bursts, row.burst, row.alerts) == (1, "earthquake in Lor", 0)
    assert (row.headline, row.updated) == ("Terremoto", EPOCH + 90 * SECOND)


def _post(records: Any, number: int, user: str, second: float, text: str) -> Any:
    time = EPOCH + int(second * 1000)
    return records.Post(f"p{number}", user, "MAD", "es", text, "earthquake", False, time)


def test_words_trend(pipeline: Pipelines) -> None:
    with pipeline("trending") as running:
        for number in range(100):
            text = "¡Terremoto! #terremoto" if number % 2 else "El terremoto otra vez"
            post = _post(running.records, number, "u", number / 4, text)
            running.driver.pipe("reports", "MAD|earthquake", post, post.time)
        found = running.documents("trending-words")
    first = next(one for one in found if one["word"] == "terremoto" and one["until"] == EPOCH + 20 * SECOND)
    assert first["uses"] == 80
    assert "otra" not in {one["word"] for one in found}, "too short to mean much"


def test_who_never_pauses_is_no_person(pipeline: Pipelines) -> None:
    with pipeline("sessions") as running:
        for second in range(70):
            running.driver.pipe(
                "posts", "bot", _post(running.records, second, "bot", second, "GANA"), EPOCH + second * SECOND
            )
        for second in (5, 300):
            person = _post(running.records, second, "ann", second, "hola")
            running.driver.pipe("posts", "ann", person, EPOCH + second * SECOND)
        sessions = running.driver.read_bytes("user-sessions")
    last = json.loads(sessions[-1].value() or b"")
    assert {message.key() for message in sessions} == {b"bot"}
    assert (last["posts"], last["seconds"], last["tireless"]) == (70, 69, True)
