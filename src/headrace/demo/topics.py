"""The topics of the demo: what the generator writes, what the pipelines write to one another, and the tables of places and hospitals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from headrace.demo.generator import POSTS
from headrace.demo.geography import HOSPITALS, PLACES
from headrace.demo.readings import NEWS, ROADS, SEISMIC
from headrace.demo.status import STATUS

SOURCES = (POSTS, SEISMIC, NEWS, ROADS)
PLACES_TOPIC, HOSPITALS_TOPIC, ALERTS = "places", "hospitals", "alerts"

# The scenario's time may run ahead of the clock, as it does when it is fast, and the many posts must not fill the disk.
_STREAM = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}
_MANY = {**_STREAM, "retention.bytes": str(256 << 20), "segment.bytes": str(64 << 20)}
_TABLE = {"cleanup.policy": "compact"}

TOPICS: Mapping[str, tuple[int, Mapping[str, str]]] = {
    POSTS: (2, _MANY),
    SEISMIC: (1, _MANY),
    ROADS: (1, _STREAM),
    NEWS: (1, _STREAM),
    "posts": (2, _MANY),
    "posts-rejected": (1, _STREAM),
    "reports": (1, _MANY),
    "bursts": (1, _STREAM),
    "sensor-peaks": (1, _STREAM),
    "shaking": (1, _STREAM),
    "jams": (1, _STREAM),
    ALERTS: (1, _STREAM),
    "trending-words": (1, _STREAM),
    "user-sessions": (1, _STREAM),
    STATUS: (1, _TABLE),
    PLACES_TOPIC: (1, _TABLE),
    HOSPITALS_TOPIC: (1, _TABLE),
}
"""Name → partitions and settings."""


def table_rows() -> Iterator[tuple[str, str, bytes]]:
    """The rows of the tables: topic, key, value."""
    for place in PLACES:
        row = {name: value for name, value in place._asdict().items() if name != "code"}
        yield PLACES_TOPIC, place.code, json.dumps(row, ensure_ascii=False).encode()
    for hospital in HOSPITALS:
        row = {name: value for name, value in hospital._asdict().items() if name != "region"}
        yield HOSPITALS_TOPIC, hospital.region, json.dumps(row, ensure_ascii=False).encode()
