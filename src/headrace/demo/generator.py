"""The records of the scenario, step by step. Pure: the same scenario gives the same bytes.

Posts are the many, so each is put together from parts that are bytes already. What arrives late, twice or broken is decided here too: a post may be held back
and sent with a later step, sent again, or cut off.
"""

from __future__ import annotations

import heapq
import random
from bisect import bisect
from itertools import accumulate
from typing import NamedTuple

from headrace.demo import readings
from headrace.demo.geography import PLACES, Place, kilometres
from headrace.demo.scenario import Incident, Kind, Scenario, density
from headrace.demo.texts import Text, ordinary_pool, reaction_pool

POSTS = "social-posts"
LATE, OUT_OF_ORDER, TWICE, BROKEN = 0.01, 0.05, 0.01, 0.004
LATE_S, OUT_OF_ORDER_S, TWICE_S = 20.0, 2.0, 3.0
USERS = 40_000
BOT = b"u-bot-7"
BOT_PER_S = 4.0
_NAMES = [b"u%d" % number for number in range(USERS)]


class Out(NamedTuple):
    """A record to send now. `at_s`: the scenario's time when it is sent; when it happened stands in its value."""

    topic: str
    key: bytes
    value: bytes
    at_s: float


class Generator:
    """Gives the records of one step after the other. `epoch_ms`: what event time the scenario begins at."""

    def __init__(self, scenario: Scenario, epoch_ms: int, step_s: float | None = None) -> None:
        self.scenario = scenario
        self.epoch_ms = epoch_ms
        self.step_s = step_s if step_s is not None else 0.05 * scenario.speed
        self.now_s = 0.0
        self.first_posts: dict[str, float] = {}
        """When the first post about each incident was sent, by the incident's id."""
        self.posts = 0
        self._steps = 0
        self._chance = random.Random(scenario.seed ^ 0x5EED)  # noqa: S311 - nothing here is a secret
        self._pool = ordinary_pool(scenario.seed)
        self._weights = list(accumulate(place.people for place in PLACES))
        self._codes = [place.code.encode() for place in PLACES]
        self._held: list[tuple[float, int, Out]] = []
        self._owed = self._owed_bot = 0.0
        self._reactions: dict[str, _Reaction] = {}
        self._readings = readings.Readings(scenario, epoch_ms)

    def step(self) -> list[Out]:
        """What is sent in the next step."""
        start = self.now_s
        self._steps += 1
        self.now_s = self._steps * self.step_s
        out: list[Out] = []
        self._ordinary(start, out)
        for incident in self.scenario.active(start):
            if incident.kind is not Kind.MAD_SENSOR:
                self._react(incident, start, out)
        out.extend(Out(*record, start) for record in self._readings.step(start, self.now_s))
        while self._held and self._held[0][0] <= self.now_s:
            out.append(heapq.heappop(self._held)[2])
        return out

    def _ordinary(self, start: float, out: list[Out]) -> None:
        """Ordinary posts, and those of a machine that never tires."""
        chance = self._chance
        self._owed += (
            self.scenario.posts_per_scenario_second * density(start) * self.step_s * chance.uniform(0.85, 1.15)
        )
        count = int(self._owed)
        self._owed -= count
        rand, pool, size = chance.random, self._pool, len(self._pool)
        weights, codes, total = self._weights, self._codes, self._weights[-1]
        for _ in range(count):
            place = codes[bisect(weights, rand() * total)]
            self._post(start, pool[int(rand() * size)], place, _NAMES[int(rand() * rand() * USERS)], out)
        self._owed_bot += BOT_PER_S / self.scenario.speed * self.step_s
        while self._owed_bot >= 1:
            self._owed_bot -= 1
            self._post(start, pool[0], codes[0], BOT, out)

    def _react(self, incident: Incident, start: float, out: list[Out]) -> None:
        reaction = self._reactions.get(incident.id)
        if reaction is None:
            reaction = self._reactions[incident.id] = _Reaction(incident, self.scenario.seed)
        share = incident.reaction(start) * density(start)
        reaction.owed += share * self.scenario.posts_per_scenario_second * self.step_s
        rand = self._chance.random
        while reaction.owed >= 1:
            reaction.owed -= 1
            self.first_posts.setdefault(incident.id, start)
            place = reaction.codes[bisect(reaction.weights, rand() * reaction.weights[-1])]
            text = reaction.pool[int(rand() * len(reaction.pool))]
            self._post(start, text, place, _NAMES[int(rand() * USERS)], out)

    def _post(self, start: float, text: Text, place: bytes, user: bytes, out: list[Out]) -> None:
        self.posts += 1
        rand = self._chance.random
        at = start + rand() * self.step_s
        time_ms = self.epoch_ms + int(at * 1000)
        value = b'{"id":"%x-%x","user":"%s","place":"%s","lang":"%s","text":"%s","time":%d}' % (
            self.scenario.seed, self.posts, user, place, text.language, text.json, time_ms
        )  # fmt: skip
        roll = rand()
        if roll >= LATE + OUT_OF_ORDER + TWICE + BROKEN:
            out.append(Out(POSTS, user, value, start))
        elif roll < LATE:
            self._hold(start + rand() * LATE_S, user, value)
        elif roll < LATE + OUT_OF_ORDER:
            self._hold(start + rand() * OUT_OF_ORDER_S, user, value)
        elif roll < LATE + OUT_OF_ORDER + TWICE:
            out.append(Out(POSTS, user, value, start))
            self._hold(start + rand() * TWICE_S, user, value)
        else:
            out.append(Out(POSTS, user, broken(value, self.posts, place, time_ms), start))

    def _hold(self, until: float, user: bytes, value: bytes) -> None:
        heapq.heappush(self._held, (until, self.posts, Out(POSTS, user, value, until)))


def broken(value: bytes, number: int, place: bytes, time_ms: int) -> bytes:
    """A post as bad senders write them, by turns."""
    return (
        value[: len(value) // 2],
        value.replace(b'"place":"%s"' % place, b'"place":null'),
        value.replace(b'"place":"%s"' % place, b'"place":"??"'),
        value.replace(b'"time":%d' % time_ms, b'"time":0'),
        b"\xff\xfe\x00 not even text",
    )[number % 5]


class _Reaction:
    """What people write about one incident, and from where: mostly the place itself, some from around it."""

    def __init__(self, incident: Incident, seed: int) -> None:
        self.owed = 0.0
        self.pool = reaction_pool(incident.kind, incident.place.name, seed + int(incident.start_s))
        self.codes = [place.code.encode() for place in PLACES]
        self.weights = list(accumulate(_share(incident, place) for place in PLACES))


def _share(incident: Incident, place: Place) -> float:
    if incident.kind is Kind.JOKE:
        return place.people
    if incident.kind is Kind.GOAL:
        return place.people * (8 if place == incident.place else 1)
    distance = kilometres(incident.place, place)
    return 60.0 if place == incident.place else 40.0 / (1 + (distance / 40) ** 2)
