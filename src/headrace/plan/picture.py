"""Boxes and arrows as SVG: layers from left to right, boxes in the order that crosses fewest edges. No dependency, no script, safe for any text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

ROW = 16
PAD = 10
CHAR = 6.7
GAP_X = 70
GAP_Y = 22
MARGIN = 24
TOP = 52

_STYLE = """
  .page { fill: #ffffff } text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1b2430 }
  .heading { font-size: 15px; font-weight: 600 } .title { font-weight: 600 } .small { fill: #5b6775; font-size: 11px }
  .step { fill: #f2f5f9; stroke: #9aa7b5 } .end { fill: #e6f1fb; stroke: #4a90c2 } .stateful { fill: #fdf1dc; stroke: #d0912b }
  .topic { fill: #e9f6ec; stroke: #4f9d63 } .edge { fill: none; stroke: #7c8896; stroke-width: 1.4 } .head { fill: #7c8896 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14181d } text { fill: #e4e9ef } .small { fill: #9aa7b5 }
    .step { fill: #222931; stroke: #5d6a78 } .end { fill: #16304a; stroke: #4a90c2 } .stateful { fill: #3d2f14; stroke: #d0912b }
    .topic { fill: #17331f; stroke: #4f9d63 } .edge { stroke: #7c8896 } .head { fill: #7c8896 }
  }
"""


@dataclass(frozen=True)
class Box:
    """`kind` is a class of the style: step, end, stateful or topic. `tip` is shown where the pointer rests."""

    id: str
    title: str
    lines: tuple[str, ...]
    kind: str
    group: str
    tip: str = ""

    @property
    def width(self) -> float:
        return max(len(line) for line in (self.title, *self.lines)) * CHAR + 2 * PAD

    @property
    def height(self) -> float:
        return ROW * (1 + len(self.lines)) + PAD


@dataclass(frozen=True)
class Edge:
    start: str
    end: str
    label: str = ""


@dataclass(frozen=True)
class Place:
    x: float
    y: float


def draw(heading: str, boxes: Sequence[Box], edges: Sequence[Edge]) -> str:
    """The picture. The same boxes and edges always give the same text."""
    places = layout(boxes, edges)
    by_id = {box.id: box for box in boxes}
    width = max([places[box.id].x + box.width for box in boxes] + [len(heading) * 9.0]) + MARGIN
    height = max([places[box.id].y + box.height for box in boxes] + [TOP]) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        f"<title>{_safe(heading)}</title><style>{_STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>',
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>',
        f'<text class="heading" x="{MARGIN}" y="30">{_safe(heading)}</text>',
        *(_edge(edge, by_id, places) for edge in edges),
        *(_box(box, places[box.id]) for box in boxes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def layout(boxes: Sequence[Box], edges: Sequence[Edge]) -> dict[str, Place]:
    """Where each box lies. Boxes come after those they are reached from, so one pass gives the layers."""
    layers = _layers(boxes, edges)
    columns: list[list[Box]] = [[] for _ in range(max(layers.values(), default=0) + 1)]
    for box in boxes:
        columns[layers[box.id]].append(box)
    _order(columns, edges)
    places: dict[str, Place] = {}
    x = float(MARGIN)
    tallest = max((_column_height(column) for column in columns), default=0.0)
    for column in columns:
        y = TOP + (tallest - _column_height(column)) / 2
        for box in column:
            places[box.id] = Place(x, y)
            y += box.height + GAP_Y
        x += max((box.width for box in column), default=0.0) + GAP_X
    return places


def _layers(boxes: Sequence[Box], edges: Sequence[Edge]) -> dict[str, int]:
    """The longest way from a beginning to each box. A topic that is both read and written ends at the readers' layer."""
    layers = {box.id: 0 for box in boxes}
    for _ in range(len(boxes)):
        changed = False
        for edge in edges:
            wanted = min(layers[edge.start] + 1, len(boxes))
            if layers[edge.end] < wanted:
                layers[edge.end] = wanted
                changed = True
        if not changed:
            break
    return layers


def _order(columns: list[list[Box]], edges: Sequence[Edge]) -> None:
    """Each column sorted by the middle of its neighbours, forth and back a few times."""
    neighbours: dict[str, list[str]] = {}
    for edge in edges:
        neighbours.setdefault(edge.start, []).append(edge.end)
        neighbours.setdefault(edge.end, []).append(edge.start)
    for sweep in range(4):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            rank = {box.id: position for one in columns for position, box in enumerate(one)}
            column.sort(key=lambda box: (_middle(box.id, neighbours, rank), rank[box.id]))


def _middle(name: str, neighbours: Mapping[str, Sequence[str]], rank: Mapping[str, int]) -> float:
    found = [rank[one] for one in neighbours.get(name, ())]
    return sum(found) / len(found) if found else float(rank[name])


def _column_height(column: Sequence[Box]) -> float:
    return sum(box.height + GAP_Y for box in column) - GAP_Y


def _edge(edge: Edge, boxes: Mapping[str, Box], places: Mapping[str, Place]) -> str:
    start, end = boxes[edge.start], boxes[edge.end]
    x1, y1 = places[start.id].x + start.width, places[start.id].y + start.height / 2
    x2, y2 = places[end.id].x, places[end.id].y + end.height / 2
    bend = max((x2 - x1) / 2, 30)
    path = f'<path class="edge" marker-end="url(#arrow)" d="M{x1:.0f} {y1:.0f}C{x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"/>'
    if not edge.label:
        return path
    label = f'<text class="small" x="{x2 - 6:.0f}" y="{y2 - 6:.0f}" text-anchor="end">{_safe(edge.label[-24:])}</text>'
    return path + label


def _box(box: Box, place: Place) -> str:
    radius = 14 if box.kind == "topic" else 5
    tip = f"{box.title}\n{box.tip}\n{box.group}".strip()
    lines = [f'<text class="title" x="{place.x + PAD:.0f}" y="{place.y + ROW + 1:.0f}">{_safe(box.title)}</text>']
    for position, line in enumerate(box.lines, 2):
        lines.append(
            f'<text class="small" x="{place.x + PAD:.0f}" y="{place.y + ROW * position + 1:.0f}">{_safe(line)}</text>'
        )
    return (
        f"<g><title>{_safe(tip)}</title>"
        f'<rect class="{box.kind}" x="{place.x:.0f}" y="{place.y:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" rx="{radius}"/>'
        f"{''.join(lines)}</g>"
    )


def _safe(text: str) -> str:
    """Text for XML: markup escaped, characters that XML does not have replaced."""
    return escape(
        "".join(
            one if one in "\n\t" or (ord(one) >= 0x20 and not 0xD800 <= ord(one) < 0xE000) else "\ufffd" for one in text
        )
    )
