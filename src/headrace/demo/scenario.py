"""The script: what happens when and where in twelve minutes, from a seed. Pure, and the truth that scores are made against.

Times are seconds of the scenario since its beginning. It goes on for ever: every twelve minutes it begins again with another seed, and so elsewhere.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from headrace.demo.geography import BY_CODE, STRETCHES, Place

CYCLE_S = 720.0
NIGHT = (420.0, 720.0)
NIGHT_SHARE = 0.1
FIRST_POSTS_S = 1.5
"""People need a moment before they write."""
_STEP = 7919


class Kind(StrEnum):
    """What can happen. `alerts` tells what the centre should say about it."""

    EARTHQUAKE = "earthquake"
    GOAL = "goal"
    MAD_SENSOR = "mad_sensor"
    ACCIDENT = "accident"
    JOKE = "joke"


ALERTED = {Kind.EARTHQUAKE: "earthquake", Kind.ACCIDENT: "road accident"}
"""What must be alerted, and as what. Everything else must not."""


@dataclass(frozen=True)
class Incident:
    """Something that happens. `size` is a magnitude, or how strongly people react compared with an earthquake."""

    kind: Kind
    start_s: float
    place: Place
    size: float
    seconds: float

    @property
    def id(self) -> str:
        return f"{self.kind.value}@{self.start_s:g}"

    @property
    def region(self) -> str:
        return self.place.region

    def reaction(self, at_s: float) -> float:
        """How many posts it makes, as a share of all ordinary ones of that moment: up within seconds, then slowly down."""
        since = at_s - self.start_s - FIRST_POSTS_S
        if since <= 0 or self.kind is Kind.MAD_SENSOR or since > 4 * self.seconds:
            return 0.0
        return self.size_of_reaction * min(1.0, 0.15 + since / 3) * math.exp(-max(0.0, since - 8) / self.seconds)

    @property
    def size_of_reaction(self) -> float:
        if self.kind is Kind.EARTHQUAKE:
            return 0.04 * math.exp(self.size - 4)
        return self.size


def is_night(at_s: float) -> bool:
    return NIGHT[0] <= at_s % CYCLE_S < NIGHT[1]


def density(at_s: float) -> float:
    """How many people write, compared with the day."""
    return NIGHT_SHARE if is_night(at_s) else 1.0


@lru_cache(maxsize=64)
def incidents(seed: int, cycle: int) -> tuple[Incident, ...]:
    """One cycle's incidents in the order of their times."""
    chance = random.Random(seed + cycle * _STEP)  # noqa: S311 - nothing here is a secret
    day, night = chance.sample(("GRX", "LOR", "ALM", "GIR", "ALI", "HUE", "PNA", "LUG"), 2)
    stadium = chance.choice([code for code in ("MAD", "BCN", "SVQ", "BIO", "VLC") if not _near(code, day, night)])
    mad = chance.choice([code for code in ("TER", "BJZ", "TOL", "SLM", "SDR", "ZAZ") if not _near(code, day, night)])
    crash = chance.choice([stretch for stretch in STRETCHES if not _near(stretch.place, day, night, stadium)])
    base = cycle * CYCLE_S

    def at(second: float, jitter: float = 5.0) -> float:
        return base + second + round(chance.uniform(0, jitter), 1)

    found = (
        Incident(Kind.EARTHQUAKE, base + 60.0, BY_CODE[day], round(chance.uniform(5.0, 5.6), 1), 30),
        Incident(Kind.GOAL, at(150), BY_CODE[stadium], 0.22, 20),
        Incident(Kind.MAD_SENSOR, at(210), BY_CODE[mad], 400.0, 50),
        Incident(Kind.ACCIDENT, at(285), BY_CODE[crash.place], 0.03, 40),
        Incident(Kind.JOKE, at(370), BY_CODE["MAD"], 0.06, 20),
        Incident(Kind.EARTHQUAKE, at(510), BY_CODE[night], round(chance.uniform(5.0, 5.6), 1), 30),
        Incident(Kind.MAD_SENSOR, at(610), BY_CODE[mad], 400.0, 40),
    )
    return tuple(sorted(found, key=lambda incident: incident.start_s))


def _near(code: str, *others: str) -> bool:
    return any(BY_CODE[code].region == BY_CODE[other].region for other in others)


@dataclass(frozen=True)
class Scenario:
    """A seed and how fast it goes: `speed` seconds of the scenario in a second, with posts thinned so that `rate` a second stays what it is."""

    seed: int = 7
    rate: float = 2000.0
    speed: float = 1.0

    def __post_init__(self) -> None:
        if not self.rate > 0 or not self.speed > 0:
            raise ValueError("rate and speed are more than 0")

    @property
    def posts_per_scenario_second(self) -> float:
        return self.rate / self.speed

    def active(self, at_s: float) -> list[Incident]:
        """What is going on, or was until a moment ago."""
        cycle = int(at_s // CYCLE_S)
        found = incidents(self.seed, cycle) + (incidents(self.seed, cycle - 1) if cycle else ())
        return [one for one in found if one.start_s <= at_s < one.start_s + 180]

    def incidents_until(self, end_s: float) -> Iterator[Incident]:
        """Everything that begins before a time."""
        for cycle in range(int(max(0.0, end_s) // CYCLE_S) + 1):
            yield from (one for one in incidents(self.seed, cycle) if one.start_s < end_s)
