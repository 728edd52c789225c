"""Shaking: sensors far above their own noise, and regions in which several are.

    headrace run examples/emergency/seismic.py

A reading is compared with the sensor's mean, which is kept in the state. One sensor may be mad; two of a region within ten seconds are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emergency import Peak, Reading, Shaking

from headrace.streams import App, agg, tumbling, when

LEAST_PGA, TIMES, KEPT = 3.0, 8.0, 0.97


@dataclass
class Noise:
    """A sensor's mean so far, and its newest reading."""

    mean: float
    pga: float
    usual: float
    place: str
    region: str
    time: int


def build() -> App:
    app = App("emergency-seismic")
    readings = app.stream("seismic-readings", key=str, value=Reading, timestamp=lambda reading: reading.time)
    noise = readings.group_by_key().aggregate(Noise(0.0, 0.0, 0.0, "", "", 0), listen)
    peaks = (
        noise.to_stream()
        .filter(lambda noise: (noise.pga > LEAST_PGA) & (noise.pga > TIMES * noise.usual))
        .map_values(
            lambda sensor, noise: Peak(
                sensor=sensor, place=noise.place, region=noise.region, pga=noise.pga, usual=noise.usual, time=noise.time
            )
        )
    )
    peaks.to("sensor-peaks")

    together = peaks.group_by(lambda peak: peak.region).windowed_by(tumbling(seconds=10))
    several = together.summarize(
        lambda peak: {"sensors": agg.count_distinct(peak.sensor), "pga": agg.max(peak.pga), "time": agg.max(peak.time)}
    )
    several.to_stream().filter(lambda found: found.sensors >= 2).map(
        lambda window, found: (
            window.key,
            Shaking(region=window.key, sensors=found.sensors, pga=found.pga, time=found.time),
        )
    ).to("shaking")
    return app


def listen(noise: Any, reading: Any) -> Any:
    """What is far above the mean does not count into it: an earthquake is no noise."""
    quiet = reading.pga < TIMES * noise.mean
    return Noise(
        mean=when(noise.time == 0)
        .then(reading.pga)
        .when(quiet)
        .then(KEPT * noise.mean + (1 - KEPT) * reading.pga)
        .otherwise(noise.mean),
        pga=reading.pga,
        usual=when(noise.time == 0).then(reading.pga).otherwise(noise.mean),
        place=reading.place,
        region=reading.region,
        time=reading.time,
    )


app = build()

if __name__ == "__main__":
    app.run()
