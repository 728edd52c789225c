"""The map and the graph of the demo as SVG. Pure: facts in, text out; every text that comes from a record is escaped."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from headrace.demo.geography import BY_CODE, PLACES

WEST, NORTH, EAST, SOUTH = -9.9, 44.0, 4.6, 35.8
_UNIT = 60.0
_NARROW = math.cos(math.radians(40))
WIDTH, HEIGHT = round((EAST - WEST) * _UNIT * _NARROW), round((NORTH - SOUTH) * _UNIT)
LABELLED = 200_000
SHOWN_MS = 15_000
ALERT_MS = 120_000

# Where each box stands: column, row. Topics in even columns, pipelines in odd ones.
TOPICS: Mapping[str, tuple[int, float]] = {
    "social-posts": (0, 0.5),
    "seismic-readings": (0, 2),
    "road-traffic": (0, 3),
    "news-headlines": (0, 4),
    "posts": (2, 0),
    "reports": (2, 1),
    "shaking": (2, 2),
    "jams": (2, 3),
    "user-sessions": (4, 0),
    "bursts": (4, 1),
    "trending-words": (4, 2),
    "alerts": (6, 1.5),
}
PIPELINES: Mapping[str, tuple[int, float]] = {
    "posts": (1, 0.5),
    "seismic": (1, 2),
    "roads": (1, 3),
    "sessions": (3, 0),
    "bursts": (3, 1),
    "trending": (3, 2),
    "alerts": (5, 1.5),
    "situation": (5, 3.5),
}
INTO: Sequence[tuple[str, str]] = (
    ("social-posts", "posts"), ("seismic-readings", "seismic"), ("road-traffic", "roads"), ("posts", "sessions"), ("reports", "bursts"),
    ("reports", "trending"), ("bursts", "alerts"), ("shaking", "alerts"), ("jams", "alerts"), ("news-headlines", "situation"), ("bursts", "situation"),
)  # fmt: skip
OUT_OF: Sequence[tuple[str, str]] = (
    ("posts", "posts"), ("posts", "reports"), ("seismic", "shaking"), ("roads", "jams"), ("sessions", "user-sessions"), ("bursts", "bursts"),
    ("trending", "trending-words"), ("alerts", "alerts"),
)  # fmt: skip
_COLUMN, _ROW, _BOX, _TALL = 172, 62, 136, 42


def at(longitude: float, latitude: float) -> tuple[float, float]:
    """Where a point of the earth is on the map."""
    return round((longitude - WEST) * _UNIT * _NARROW, 1), round((NORTH - latitude) * _UNIT, 1)


@cache
def land() -> str:
    """The outline, which never changes."""
    outline = json.loads((Path(__file__).parent / "outline.json").read_text(encoding="utf-8"))
    shapes = [("around", shape) for shape in outline["around"]] + [("land", shape) for shape in outline["land"]]
    drawn = "".join(f'<polygon class="{kind}" points="{_points(shape)}"/>' for kind, shape in shapes)
    for place in PLACES:
        x, y = at(place.longitude, place.latitude)
        drawn += f'<circle class="place" cx="{x}" cy="{y}" r="2.5"/>'
        if place.people >= LABELLED:
            drawn += f'<text class="name" x="{x + 5}" y="{y - 5}">{escape(place.name)}</text>'
    return drawn


def _points(shape: Iterable[Sequence[float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in (at(longitude, latitude) for longitude, latitude in shape))


def country(records: Mapping[str, Sequence[Mapping[str, Any]]], now_ms: float) -> str:
    """The map with what goes on: rings where sensors shake, discs where people write, a mark where there is an alert."""
    parts = [land()]
    for peak in _newest(records.get("sensor-peaks", ()), now_ms, SHOWN_MS, "place"):
        x, y = _where(peak)
        radius = 8 + 9 * math.log10(1 + float(peak["pga"]))
        parts.append(f'<circle class="peak" cx="{x}" cy="{y}" r="{radius:.1f}"/>')
    for burst in _newest(records.get("bursts", ()), now_ms, SHOWN_MS, "place"):
        x, y = _where(burst)
        radius = 6 + 7 * math.log10(1 + float(burst["posts"]))
        subject = (
            "quake" if burst["subject"] == "earthquake" else ("crash" if burst["subject"] == "accident" else "ball")
        )
        parts.append(f'<circle class="burst {subject}" cx="{x}" cy="{y}" r="{radius:.1f}"/>')
    for jam in _newest(records.get("jams", ()), now_ms, SHOWN_MS, "place"):
        x, y = _where(jam)
        parts.append(f'<rect class="jam" x="{x - 5}" y="{y - 5}" width="10" height="10"/>')
    parts += [_mark(alert) for alert in _newest(records.get("alerts", ()), now_ms, ALERT_MS, "id")]
    words = spoken(records, now_ms)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(words)}">{"".join(parts)}</svg>'


def spoken(records: Mapping[str, Sequence[Mapping[str, Any]]], now_ms: float) -> str:
    """The map in words, for who cannot see it."""
    alerts = [
        f"{alert['kind']} near {alert['name']}" for alert in _newest(records.get("alerts", ()), now_ms, ALERT_MS, "id")
    ]
    bursts = _newest(records.get("bursts", ()), now_ms, SHOWN_MS, "place")
    said = f"Alerts: {', '.join(alerts)}. " if alerts else "No alerts. "
    return f"Map of Spain. {said}{len(bursts)} places with bursts of posts."


def _newest(found: Iterable[Mapping[str, Any]], now_ms: float, within_ms: int, by: str) -> list[Mapping[str, Any]]:
    """Of each `by` the newest record, if it is new enough and somewhere on the map."""
    newest = {str(one[by]): one for one in found if now_ms - float(one["time"]) < within_ms and one["place"] in BY_CODE}
    return list(newest.values())


def _where(record: Mapping[str, Any]) -> tuple[float, float]:
    place = BY_CODE[str(record["place"])]
    return at(place.longitude, place.latitude)


def _mark(alert: Mapping[str, Any]) -> str:
    x, y = _where(alert)
    level = "critical" if alert["level"] == "critical" else "warning"
    text = escape(f"{alert['kind']}, {alert['name']}")
    end = "end" if x > WIDTH * 0.6 else "start"
    shift = -14 if end == "end" else 14
    return (
        f'<g class="alert {level}"><circle class="wave" cx="{x}" cy="{y}" r="26"/><circle class="core" cx="{x}" cy="{y}" r="7"/>'
        f'<text x="{x + shift}" y="{y + 22}" text-anchor="{end}">{text}</text></g>'
    )


def graph(rates: Mapping[str, float | None], states: Mapping[str, str]) -> str:
    """The pipelines between their topics, with records a second."""
    parts = [_edge(TOPICS[topic], PIPELINES[name], rates.get(topic)) for topic, name in INTO]
    parts += [_edge(PIPELINES[name], TOPICS[topic], rates.get(topic)) for name, topic in OUT_OF]
    for name, place in TOPICS.items():
        rate = rates.get(name)
        parts.append(_box("topic", place, name, "-" if rate is None else f"{per_second(rate)}/s", "rate"))
    for name, place in PIPELINES.items():
        state = states.get(name, "not there")
        parts.append(_box("step" if state == "running" else "stateful", place, f"{name}.py", state, "small"))
    x, y = _corner((6, 3.5))
    parts.append(_edge(PIPELINES["situation"], (6, 3.5), rates.get("alerts")))
    parts.append(f'<rect class="end" x="{x}" y="{y}" width="{_BOX}" height="{_TALL}" rx="6"/>')
    parts.append(
        f'<text class="title" x="{x + 10}" y="{y + 18}">table</text><text class="small" x="{x + 10}" y="{y + 33}">situation</text>'
    )
    width, height = 6 * _COLUMN + _BOX + 8, 4 * _ROW + _TALL + 12
    return (
        f'<svg viewBox="0 0 {width} {height}" style="width: 100%; min-width: 56rem" role="img" '
        f'aria-label="Eight pipelines between their topics">{"".join(parts)}</svg>'
    )


def per_second(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 or rate == 0 else f"{rate:.1f}"


def _corner(place: tuple[int, float]) -> tuple[float, float]:
    return 4 + place[0] * _COLUMN, 4 + place[1] * _ROW


def _box(kind: str, place: tuple[int, float], name: str, below: str, style: str) -> str:
    x, y = _corner(place)
    return (
        f'<rect class="{kind}" x="{x}" y="{y}" width="{_BOX}" height="{_TALL}" rx="{20 if kind == "topic" else 6}"/>'
        f'<text class="title" x="{x + 12}" y="{y + 18}">{escape(name)}</text><text class="{style}" x="{x + 12}" y="{y + 33}">{escape(below)}</text>'
    )


def _edge(start: tuple[int, float], end: tuple[int, float], rate: float | None) -> str:
    (x1, y1), (x2, y2) = _corner(start), _corner(end)
    x1, y1, y2 = x1 + _BOX, y1 + _TALL / 2, y2 + _TALL / 2
    middle = (x1 + x2) / 2
    alive = " alive" if rate else ""
    return f'<path class="edge{alive}" d="M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"/>'
