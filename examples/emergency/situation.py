"""The situation: one row for each region with what is known of it at the moment.

    headrace run examples/emergency/situation.py

Four streams change the same row, each its own fields. The table is kept as `situation`, to be looked up by region while it changes.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from emergency import Alert, Burst, Headline, Shaking, Situation

from headrace.streams import App, fn

NOTHING = Situation(
    alerts=0,
    alert="",
    alert_time=0,
    bursts=0,
    burst="",
    burst_time=0,
    sensors=0,
    pga=0.0,
    shaking_time=0,
    headline="",
    updated=0,
)

FIELDS = tuple(field.name for field in dataclasses.fields(Situation))


def build() -> App:
    app = App("emergency-situation")
    alerts = app.stream("alerts", key=str, value=Alert, timestamp=lambda alert: alert.time)
    bursts = app.stream("bursts", key=str, value=Burst, timestamp=lambda burst: burst.time)
    shaking = app.stream("shaking", key=str, value=Shaking, timestamp=lambda shaking: shaking.time)
    news = app.stream("news-headlines", key=str, value=Headline, timestamp=lambda headline: headline.time)
    by_region = news.select_key(lambda headline: headline.region)
    (
        alerts.group_by_key()
        .cogroup(raised)
        .cogroup(bursts.group_by_key(), burst)
        .cogroup(shaking.group_by_key(), shaken)
        .cogroup(by_region.group_by_key(), told)
        .aggregate(NOTHING, store="situation")
    )
    return app


def changed(now: Any, time: Any, **fields: Any) -> Situation:
    """The row with some fields changed."""
    row = {name: fields[name] if name in fields else now[name] for name in FIELDS}
    return Situation(**{**row, "updated": fn.greatest(now.updated, time)})


def raised(now: Any, alert: Any) -> Situation:
    return changed(
        now, alert.time, alerts=now.alerts + 1, alert=alert.level + ": " + alert.kind + " near " + alert.name, alert_time=alert.time
    )  # fmt: skip


def burst(now: Any, burst: Any) -> Situation:
    return changed(
        now, burst.time, bursts=now.bursts + 1, burst=burst.subject + " in " + burst.name, burst_time=burst.time
    )


def shaken(now: Any, shaking: Any) -> Situation:
    return changed(now, shaking.time, sensors=shaking.sensors, pga=shaking.pga, shaking_time=shaking.time)


def told(now: Any, headline: Any) -> Situation:
    return changed(now, headline.time, headline=headline.headline)


app = build()

if __name__ == "__main__":
    app.run()
