"""A pipeline's graph as SVG, with records a second on its edges. All text is escaped; the classes are those of the console's style."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from headrace.console.records import printable
from headrace.plan.picture import CHAR, GAP_X, MARGIN, PAD, ROW, TOP, Box, Edge, Place, layout

_LONGEST = 30


def svg(graph: Mapping[str, Any], rates: Mapping[str, float]) -> str:
    """`rates` by topic: what the pipeline reads from it, or what comes into it."""
    boxes = [_box(node) for node in graph["nodes"]]
    edges = [Edge(each["start"], each["end"], each["label"]) for each in graph["edges"]]
    places = {name: Place(place.x, place.y - TOP + MARGIN) for name, place in layout(boxes, edges).items()}
    by_id = {box.id: box for box in boxes}
    width = max((places[box.id].x + box.width for box in boxes), default=0) + MARGIN
    height = max((places[box.id].y + box.height for box in boxes), default=0) + MARGIN
    reading = {each["start"] for each in graph["edges"] if by_id[each["start"]].kind == "topic"}
    lines = [_edge(each, by_id, places, rates, reading) for each in graph["edges"]]
    return "".join(
        [
            f'<svg width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{_safe(_words(graph, rates))}">',
            '<defs><marker id="hr-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>',
            *lines,
            *(_drawn(box, places[box.id]) for box in boxes),
            "</svg>",
        ]
    )


def _box(node: Mapping[str, Any]) -> Box:
    lines = tuple(_cut(str(node[name])) for name in ("does", "columns") if node[name])
    return Box(
        node["id"],
        _cut(str(node["title"])),
        lines,
        _KINDS.get(node["kind"], "step"),
        str(node["query"]),
        f"{node['does']}\n{node['columns']}",
    )


_KINDS = {kind: kind for kind in ("topic", "step", "end", "stateful")}


def _edge(
    edge: Mapping[str, Any],
    boxes: Mapping[str, Box],
    places: Mapping[str, Place],
    rates: Mapping[str, float],
    reading: set[str],
) -> str:
    start, end = boxes[edge["start"]], boxes[edge["end"]]
    x1, y1 = places[start.id].x + start.width, places[start.id].y + start.height / 2
    x2, y2 = places[end.id].x, places[end.id].y + end.height / 2
    bend = max((x2 - x1) / 2, 30)
    rate = rates.get(edge["topic"]) if edge["topic"] else None
    alive = " alive" if rate is not None and rate > 0 else ""
    path = f'<path class="edge{alive}" marker-end="url(#hr-arrow)" d="M{x1:.0f} {y1:.0f}C{x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"/>'
    middle = (x1 + x2) / 2
    words = (
        ""
        if rate is None
        else f'<text class="rate" x="{middle:.0f}" y="{(y1 + y2) / 2 - 7:.0f}" text-anchor="middle">{_per_second(rate)}</text>'
    )
    label = str(edge["label"])[-int(GAP_X / CHAR) - 4 :]
    named = (
        f'<text class="small" x="{x2 - 6:.0f}" y="{y2 + 14:.0f}" text-anchor="end">{_safe(label)}</text>'
        if label
        else ""
    )
    return path + words + named


def _drawn(box: Box, place: Place) -> str:
    radius = 14 if box.kind == "topic" else 5
    rows = [f'<text class="title" x="{place.x + PAD:.0f}" y="{place.y + ROW + 1:.0f}">{_safe(box.title)}</text>']
    for position, line in enumerate(box.lines, 2):
        rows.append(
            f'<text class="small" x="{place.x + PAD:.0f}" y="{place.y + ROW * position + 1:.0f}">{_safe(line)}</text>'
        )
    tip = _safe(f"{box.title}\n{box.tip}".strip())
    return (
        f'<g><title>{tip}</title><rect class="{box.kind}" x="{place.x:.0f}" y="{place.y:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" rx="{radius}"/>'
        f"{''.join(rows)}</g>"
    )


def _words(graph: Mapping[str, Any], rates: Mapping[str, float]) -> str:
    flows = [f"{each['start']} to {each['end']}" for each in graph["edges"]]
    told = [f"{topic}: {_per_second(rate)}" for topic, rate in sorted(rates.items())]
    return f"Graph of the pipeline. {', '.join(flows)}. {', '.join(told)}"


def _per_second(rate: float) -> str:
    return f"{rate:,.1f}/s" if 0 < rate < 10 else f"{rate:,.0f}/s"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _safe(text: str) -> str:
    return escape(printable(text))
