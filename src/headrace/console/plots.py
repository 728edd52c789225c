"""Amounts over time as a plot, in the colours of the theme; screen readers get the newest value in words."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from headrace.console.elements import Tag

# Told apart by people who see colours differently, on both grounds.
COLOURS = ("#0e90b0", "#d97706", "#7c6cd9", "#2f9e5f", "#d6456b", "#8a8f98")
_GREY = "#7f8b98"

Points = Sequence[tuple[float, float]]


class Plot:
    """Lines over the last minutes. Times are those of `time.monotonic`."""

    def __init__(self, label: str, unit: str = "") -> None:
        self._label, self._unit = label, unit
        self._words = Tag("p", "", "hr-hidden")
        self._chart = ui.echart(_options(unit)).classes("hr-plot").props(f'role="img" aria-label="{label}"')

    def show(self, lines: Mapping[str, Points]) -> None:
        offset_ms = (time.time() - time.monotonic()) * 1000
        series = [
            _line(name, [[round(at * 1000 + offset_ms), value] for at, value in points], COLOURS[index % len(COLOURS)])
            for index, (name, points) in enumerate(lines.items())
        ]
        if series == self._chart.options["series"]:
            return
        self._chart.options["series"] = series
        self._chart.options["legend"]["show"] = len(series) > 1
        self._chart.update()
        newest = [f"{name}: {points[-1][1]:,.0f}{self._unit}" for name, points in lines.items() if points]
        self._words.say(f"{self._label}. Newest values: {', '.join(newest)}" if newest else self._label)


def _line(name: str, points: list[list[float]], colour: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "line",
        "data": points,
        "showSymbol": len(points) < 3,
        "lineStyle": {"width": 2},
        "areaStyle": {"opacity": 0.12},
        "color": colour,
    }


def _options(unit: str) -> dict[str, Any]:
    axis = {
        "axisLabel": {"color": _GREY, "hideOverlap": True},
        "splitLine": {"lineStyle": {"color": _GREY, "opacity": 0.25}},
    }
    return {
        "animation": False,
        "grid": {"left": 8, "right": 16, "top": 28, "bottom": 8, "containLabel": True},
        "tooltip": {"trigger": "axis"},
        "legend": {"show": False, "top": 0, "textStyle": {"color": _GREY}},
        "xAxis": {"type": "time", **axis, "splitLine": {"show": False}},
        "yAxis": {"type": "value", "min": 0, "name": unit.strip(), "nameTextStyle": {"color": _GREY}, **axis},
        "series": [],
    }
