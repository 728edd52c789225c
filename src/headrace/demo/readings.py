"""What machines send: seismic stations, counting loops in roads, and news agencies. Pure, as the rest of the generator."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from headrace.demo.geography import BY_CODE, PLACES, STRETCHES, Place, Stretch, kilometres
from headrace.demo.scenario import Incident, Kind, Scenario

SEISMIC, ROADS, NEWS = "seismic-readings", "road-traffic", "news-headlines"
SENSORS = tuple((f"{place.code}-{number}", place) for place in PLACES for number in (1, 2))
WAVE_KM_S = 5.5
NEWS_AFTER_S = 25.0
_AGENCIES = ("Agencia Norte", "Meridiano", "Iberia Press", "Costa Noticias")
_HEADLINES = (
    "El precio de la vivienda sube por tercer trimestre",
    "Record number of visitors in {place}",
    "Nueva línea de tren para {place}",
    "{place} inaugura su festival de música",
    "Scientists study the birds of {place}",
    "La ciencia celebra su semana en {place}",
)
_ABOUT = {
    Kind.EARTHQUAKE: "Terremoto de magnitud {size} sacude {place}",
    Kind.GOAL: "Gol en el último minuto decide el partido en {place}",
    Kind.ACCIDENT: "Accidente múltiple cerca de {place}, carretera cortada",
}

Reading = tuple[str, bytes, bytes]
T = TypeVar("T")


class Readings:
    """One step after the other, as `Generator` asks."""

    def __init__(self, scenario: Scenario, epoch_ms: int) -> None:
        self._scenario = scenario
        self._epoch_ms = epoch_ms
        self._chance = random.Random(scenario.seed ^ 0xACC)  # noqa: S311 - nothing here is a secret
        # Faster scenarios have fewer readings of each sensor, so that machines do not drown out people.
        self._every_s = max(1.0, scenario.speed / 5)
        self._news = 0
        self._told: set[str] = set()

    def step(self, start: float, end: float) -> Iterator[Reading]:
        going_on = self._scenario.active(start)
        yield from self._due(SENSORS, start, end, self._every_s, self._seismic, going_on)
        yield from self._due(STRETCHES, start, end, 2 * self._every_s, self._road, going_on)
        yield from self._headlines(start, end, going_on)

    def _due(
        self,
        those: Sequence[T],
        start: float,
        end: float,
        every: float,
        make: Callable[[T, float, list[Incident]], Reading],
        going_on: list[Incident],
    ) -> Iterator[Reading]:
        """Each of those sends once per interval, at a moment of its own."""
        count = len(those)
        first, last = math.ceil(start * count / every), math.ceil(end * count / every)
        for number in range(first, last):
            yield make(those[number % count], number * every / count, going_on)

    def _ms(self, at: float) -> int:
        return self._epoch_ms + int(at * 1000)

    def _seismic(self, sensor: tuple[str, Place], at: float, going_on: list[Incident]) -> Reading:
        name, place = sensor
        shaking = 0.3 * math.exp(self._chance.gauss(0, 0.35))
        for incident in going_on:
            if incident.kind is Kind.EARTHQUAKE:
                shaking += acceleration(incident, place, at)
            elif incident.kind is Kind.MAD_SENSOR and name == mad_sensor(incident):
                shaking += self._madness(incident, at)
        value = b'{"sensor":"%s","place":"%s","region":"%s","pga":%.3f,"time":%d}' % (
            name.encode(), place.code.encode(), place.region.encode(), shaking, self._ms(at)
        )  # fmt: skip
        return SEISMIC, name.encode(), value

    def _madness(self, incident: Incident, at: float) -> float:
        over = at >= incident.start_s + incident.seconds or self._chance.random() < 0.5
        return 0.0 if over else incident.size * self._chance.random()

    def _road(self, stretch: Stretch, at: float, going_on: list[Incident]) -> Reading:
        speed = stretch.speed_kmh * (1 + 0.05 * math.sin(at / 40)) + self._chance.gauss(0, 3)
        for incident in going_on:
            if incident.kind is Kind.ACCIDENT and incident.place.code == stretch.place and at < incident.start_s + 120:
                speed *= 0.08 + 0.04 * self._chance.random()
        value = {
            "stretch": stretch.code,
            "road": stretch.road,
            "place": stretch.place,
            "region": BY_CODE[stretch.place].region,
            "speed": round(max(2.0, speed), 1),
            "vehicles": max(1, int(self._chance.gauss(30, 6))),
            "time": self._ms(at),
        }
        return ROADS, stretch.code.encode(), json.dumps(value, ensure_ascii=False).encode()

    def _headlines(self, start: float, end: float, going_on: list[Incident]) -> Iterator[Reading]:
        every = 4.0 * self._every_s
        for number in range(math.ceil(start / every), math.ceil(end / every)):
            place = self._chance.choice(PLACES)
            yield self._headline(self._chance.choice(_HEADLINES).format(place=place.name), place, number * every)
        for incident in going_on:
            told_at = incident.start_s + NEWS_AFTER_S
            if incident.kind in _ABOUT and incident.id not in self._told and start >= told_at:
                self._told.add(incident.id)
                text = _ABOUT[incident.kind].format(place=incident.place.name, size=incident.size)
                yield self._headline(text, incident.place, start)

    def _headline(self, text: str, place: Place, at: float) -> Reading:
        self._news += 1
        value = {
            "id": self._news,
            "agency": self._chance.choice(_AGENCIES),
            "headline": text,
            "place": place.code,
            "region": place.region,
            "time": self._ms(at),
        }
        return NEWS, place.code.encode(), json.dumps(value, ensure_ascii=False).encode()


def mad_sensor(incident: Incident) -> str:
    return f"{incident.place.code}-1"


def acceleration(quake: Incident, place: Place, at: float) -> float:
    """Peak ground acceleration in cm/s² that an earthquake causes at a place: less with the distance, there when the wave is, gone in a minute."""
    distance = kilometres(quake.place, place)
    since = at - quake.start_s - distance / WAVE_KM_S
    if since < 0:
        return 0.0
    return 60 * math.exp(quake.size - 5) / (1 + (distance / 15) ** 1.4) * math.exp(-since / 12)
