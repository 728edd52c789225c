"""Jams: stretches of road on which traffic has come to a stand.

    headrace run examples/emergency/roads.py

What is usual on a stretch is the mean of its last speeds, kept in the state; a third of that is a jam.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emergency import Jam, Traffic

from headrace.streams import App, fn, when

SHARE, KEPT = 0.33, 0.98


@dataclass
class Flow:
    """A stretch's usual speed, and its newest report."""

    usual: float
    speed: float
    road: str
    place: str
    region: str
    time: int


def build() -> App:
    app = App("emergency-roads")
    traffic = app.stream("road-traffic", key=str, value=Traffic, timestamp=lambda report: report.time)
    flow = traffic.group_by_key().aggregate(Flow(0.0, 0.0, "", "", "", 0), follow)
    jams = flow.to_stream().filter(lambda flow: flow.speed < SHARE * flow.usual)
    jams.map(
        lambda stretch, flow: (
            flow.place,
            Jam(
                stretch=stretch,
                road=flow.road,
                place=flow.place,
                region=flow.region,
                speed=flow.speed,
                usual=fn.round(flow.usual, 1),
                time=flow.time,
            ),
        )
    ).to("jams")
    return app


def follow(flow: Any, report: Any) -> Any:
    first, slow = flow.time == 0, report.speed < SHARE * flow.usual
    return Flow(
        usual=when(first)
        .then(report.speed)
        .when(slow)
        .then(flow.usual)
        .otherwise(KEPT * flow.usual + (1 - KEPT) * report.speed),
        speed=report.speed,
        road=report.road,
        place=report.place,
        region=report.region,
        time=report.time,
    )


app = build()

if __name__ == "__main__":
    app.run()
