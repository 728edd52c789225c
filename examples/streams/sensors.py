"""Sensors: the mean of each minute, once the minute is over, and an alarm where it is above the machine's limit.

    headrace run examples/streams/sensors.py

Readings come late and out of order, so a minute is closed ten seconds after its end; what comes later still is counted as late. Limits change
while the stream runs: they are a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.streams import App, agg, seconds, tumbling

SECOND = 1_000


@dataclass
class Reading:
    celsius: float


@dataclass
class Sums:
    mean: float
    readings: int


@dataclass
class Mean:
    minute: int
    celsius: float
    readings: int


@dataclass
class Overheated:
    machine: str
    celsius: float
    limit: float


def build() -> App:
    app = App("sensors")
    readings = app.stream("readings", key=str, value=Reading)
    limits = app.table("limits", key=str, value=float)

    sane = readings.filter(lambda reading: (reading.celsius > -50) & (reading.celsius < 500))
    minutes = sane.group_by_key().windowed_by(tumbling(minutes=1, grace=seconds(10))).emit_strategy("on_window_close")
    sums = minutes.summarize(lambda reading: Sums(mean=agg.avg(reading.celsius), readings=agg.count()))
    means = sums.to_stream().map(
        lambda window, sums: (window.key, Mean(window.start // 60_000, sums.mean, sums.readings))
    )
    means.to("means")
    means.join(
        limits, lambda machine, mean, limit: Overheated(machine=machine, celsius=mean.celsius, limit=limit)
    ).filter(lambda found: found.celsius > found.limit).to("overheated")
    return app


RECORDS: list[tuple[str, Any, Any, int]] = [
    ("limits", "press", 90.0, 0),
    ("readings", "press", Reading(80.0), 5 * SECOND),
    ("readings", "press", Reading(110.0), 20 * SECOND),
    ("readings", "press", Reading(9_999.0), 30 * SECOND),  # a broken sensor
    ("readings", "oven", Reading(200.0), 65 * SECOND),
    ("readings", "press", Reading(104.0), 50 * SECOND),  # late, and still in time
    ("readings", "press", Reading(70.0), 75 * SECOND),
    ("readings", "oven", Reading(210.0), 200 * SECOND),  # time passes the minutes before it,
    ("readings", "oven", Reading(211.0), 201 * SECOND),  # and they are closed with the next batch
]

app = build()

if __name__ == "__main__":
    app.run()
