"""Alerts: what people write and what machines measure, together; each alert exactly once.

    headrace run examples/emergency/alerts.py

People who cheer at a goal write of earthquakes, and a sensor may be mad: only a burst of posts *and* several sensors of the region within a few seconds of
each other are an earthquake. A burst about an accident and a jam at the same place are a road accident. The first finding of a kind in a region within five
minutes is the alert. Runs exactly once: a crash raises no alert twice, and loses none.
"""

from __future__ import annotations

from typing import Any

from emergency import Alert, Burst, Hospital, Jam, Shaking

from headrace.streams import App, fn, minutes, when, within

EPISODE = minutes(5)
TOGETHER = within(seconds=15, grace=minutes(5))
STRONG_PGA = 40.0


def build() -> App:
    app = App("emergency-alerts", guarantee="exactly_once")
    bursts = app.stream("bursts", key=str, value=Burst, timestamp=lambda burst: burst.time)
    shaking = app.stream("shaking", key=str, value=Shaking, timestamp=lambda shaking: shaking.time)
    jams = app.stream("jams", key=str, value=Jam, timestamp=lambda jam: jam.time)
    hospitals = app.global_table("hospitals", key=str, value=Hospital)

    felt = bursts.filter(lambda burst: burst.subject == "earthquake")
    earthquakes = felt.join(shaking, earthquake, TOGETHER)
    seen = bursts.filter(lambda burst: burst.subject == "accident").select_key(lambda burst: burst.place)
    accidents = seen.join(jams, accident, TOGETHER).select_key(lambda alert: alert.region)

    found = earthquakes.merge(accidents)
    first = found.deduplicate(EPISODE, by=lambda alert: alert.kind + "|" + alert.region)
    first.left_join(hospitals, with_hospital, on=lambda region, alert: region).to("alerts")
    return app


def earthquake(burst: Any, shaking: Any) -> Alert:
    reason = (
        often(burst)
        + " about an earthquake; "
        + shaking.sensors.cast(str)
        + " sensors of the region shake with up to "
        + fn.round(shaking.pga, 0).cast(int).cast(str)
        + " cm/s²"
    )
    level = when(shaking.pga >= STRONG_PGA).then("critical").otherwise("warning")
    return alert("earthquake", level, burst, reason)


def accident(burst: Any, jam: Any) -> Alert:
    speeds = fn.round(jam.speed, 0).cast(int).cast(str) + " instead of " + fn.round(jam.usual, 0).cast(int).cast(str)
    return alert(
        "road accident",
        "warning",
        burst,
        often(burst) + " about an accident; " + jam.road + " moves at " + speeds + " km/h",
    )


def often(burst: Any) -> Any:
    return burst.posts.cast(str) + " posts in 5 s from " + burst.name + ", usually " + burst.usual.cast(str) + ","


def alert(kind: str, level: Any, burst: Any, reason: Any) -> Alert:
    return Alert(
        id=kind + "|" + burst.region + "|" + burst.time.cast(str),
        kind=kind,
        level=level,
        place=burst.place,
        name=burst.name,
        region=burst.region,
        latitude=burst.latitude,
        longitude=burst.longitude,
        people=burst.people,
        reason=reason,
        hospital="",
        beds=0,
        time=burst.time,
    )


def with_hospital(alert: Any, hospital: Any) -> Alert:
    return Alert(
        id=alert.id,
        kind=alert.kind,
        level=alert.level,
        place=alert.place,
        name=alert.name,
        region=alert.region,
        latitude=alert.latitude,
        longitude=alert.longitude,
        people=alert.people,
        reason=alert.reason,
        hospital=hospital.name.or_else("none known"),
        beds=hospital.beds.or_else(0),
        time=alert.time,
    )


# Fewer and larger batches than by default: three queries that look for work ten times a second each would cost a tenth of a core.
SETTINGS = {"trigger_ms": 300}
app = build()

if __name__ == "__main__":
    app.run(**SETTINGS)
