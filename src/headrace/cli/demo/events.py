"""Synthetic events: earthquakes, news and traffic, the same for the same seed. Pure: a random generator and a time in, events out."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

# Name, latitude, longitude, and how often the earth shakes there compared with the others.
REGIONS = (
    ("Honshu, Japan", 37.5, 141.6, 9),
    ("Antofagasta, Chile", -23.6, -70.4, 7),
    ("Sumatra, Indonesia", -0.6, 98.9, 8),
    ("Kermadec Islands", -29.3, -177.9, 6),
    ("Southern California", 34.1, -117.4, 5),
    ("Crete, Greece", 35.2, 25.7, 3),
    ("Hindu Kush, Afghanistan", 36.5, 70.9, 4),
    ("Reykjanes, Iceland", 63.9, -22.3, 4),
    ("South Sandwich Islands", -57.1, -26.5, 3),
)
SECTIONS = {
    "science": ("New telescope sees {} for the first time", "Researchers measure {} with record precision"),
    "business": ("Market for {} grows for the third quarter", "Start-up bets on {}"),
    "sport": ("Late goal decides match after {}", "Record crowd at {} final"),
    "weather": ("Forecast: {} until the weekend", "Coast prepares for {}"),
    "culture": ("Museum opens exhibition on {}", "Film about {} wins prize"),
}
SUBJECTS = (
    "solar storms",
    "deep-sea cables",
    "old maps",
    "night trains",
    "tidal power",
    "river floods",
    "silent films",
    "glacier lakes",
)
AGENCIES = ("Northwire", "Meridian Press", "Daily Lantern", "Harbour Post")
ROADS = (("A1", 120), ("A7", 130), ("E45", 110), ("Ring West", 80), ("Tunnel Road", 60))


@dataclass(frozen=True, slots=True)
class Event:
    """One record to send: JSON value, key, and headers as a producer of such data would set them."""

    key: str
    value: dict[str, Any]
    headers: dict[str, str]
    summary: str


@dataclass(frozen=True, slots=True)
class Feed:
    """A topic of the demo: how many partitions, how many events a second on average, and what they look like."""

    topic: str
    partitions: int
    rate: float
    make: Callable[[random.Random, int, int], Event]


def earthquake(chance: random.Random, number: int, now_ms: int) -> Event:
    """Small ones are frequent, large ones rare: each magnitude up is ten times rarer, as in nature."""
    place, latitude, longitude, _ = chance.choices(REGIONS, weights=[region[3] for region in REGIONS])[0]
    magnitude = round(min(9.2, 2.0 + chance.expovariate(math.log(10))), 1)
    value = {
        "id": f"hr{number:08x}",
        "time": now_ms,
        "magnitude": magnitude,
        "place": place,
        "latitude": round(latitude + chance.gauss(0, 0.8), 3),
        "longitude": round(longitude + chance.gauss(0, 0.8), 3),
        "depth_km": round(chance.lognormvariate(2.8, 0.9), 1),
        "tsunami": magnitude >= 7.0,
    }
    severity = "major" if magnitude >= 5.0 else "minor"
    return Event(place, value, {"source": "seismograph", "severity": severity}, f"M {magnitude}  {place}")


def news(chance: random.Random, number: int, now_ms: int) -> Event:
    """Headlines by section."""
    section = chance.choice(tuple(SECTIONS))
    headline = chance.choice(SECTIONS[section]).format(chance.choice(SUBJECTS))
    agency = chance.choice(AGENCIES)
    value = {
        "id": number,
        "time": now_ms,
        "section": section,
        "headline": headline,
        "agency": agency,
        "words": chance.randint(80, 1400),
        "language": chance.choice(("en", "en", "en", "de", "fr", "es")),
    }
    return Event(section, value, {"source": agency, "content-type": "application/json"}, headline)


def traffic(chance: random.Random, number: int, now_ms: int) -> Event:
    """Counting loops in roads; speed falls as the road fills up over a minute-long wave."""
    road, limit = chance.choice(ROADS)
    load = min(
        1.0,
        max(
            0.0, 0.5 + 0.45 * math.sin(now_ms / 60_000 * math.tau + ROADS.index((road, limit))) + chance.gauss(0, 0.08)
        ),
    )
    sensor = f"{road.lower().replace(' ', '-')}-{chance.randint(1, 12):02d}"
    value = {
        "sensor": sensor,
        "time": now_ms,
        "road": road,
        "vehicles": round(load * 48),
        "speed_kmh": round(limit * (1.05 - 0.75 * load**2) + chance.gauss(0, 3), 1),
        "lane": chance.randint(1, 3),
        "jam": load > 0.85,
    }
    return Event(
        sensor, value, {"source": "loop"}, f"{sensor}  {value['vehicles']} vehicles, {value['speed_kmh']} km/h"
    )


FEEDS = (
    Feed("earthquakes", 3, 12.0, earthquake),
    Feed("news", 2, 5.0, news),
    Feed("traffic", 6, 180.0, traffic),
)


def stream(seed: int, *, start_ms: int, step_ms: int) -> Iterator[list[tuple[Feed, Event]]]:
    """What happens in every `step_ms`, for ever: about each feed's rate, in waves, with a burst now and then."""
    chance = random.Random(seed)  # noqa: S311 (nothing here is a secret)
    owed = {feed.topic: 0.0 for feed in FEEDS}
    burst_until = {feed.topic: 0 for feed in FEEDS}
    number, now_ms = 0, start_ms
    while True:
        step: list[tuple[Feed, Event]] = []
        for feed in FEEDS:
            if chance.random() < 0.004:
                burst_until[feed.topic] = now_ms + 3_000
            wave = 1 + 0.35 * math.sin((now_ms - start_ms) / 20_000 * math.tau)
            factor = wave * (4 if now_ms < burst_until[feed.topic] else 1)
            owed[feed.topic] += feed.rate * factor * step_ms / 1000 * chance.uniform(0.7, 1.3)
            while owed[feed.topic] >= 1:
                owed[feed.topic] -= 1
                number += 1
                step.append((feed, feed.make(chance, number, now_ms)))
        yield step
        now_ms += step_ms
