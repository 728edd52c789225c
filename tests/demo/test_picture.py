"""The map and the graph: what is drawn, and that records cannot draw anything of their own."""

from __future__ import annotations

from xml.etree import ElementTree

from headrace.demo import picture, pipelines
from headrace.demo.geography import BY_CODE, PLACES
from headrace.demo.topics import TOPICS

NOW = 1_700_000_000_000
BURST = {"place": "LOR", "subject": "earthquake", "posts": 40, "time": NOW - 1000}
ALERT = {
    "id": "1", "kind": "earthquake", "name": "Lorca", "place": "LOR", "level": "critical", "time": NOW - 1000,
}  # fmt: skip


def classes(svg: str) -> list[str]:
    return [element.get("class", "") for element in ElementTree.fromstring(svg).iter()]


def test_every_place_is_on_the_map() -> None:
    for place in PLACES:
        x, y = picture.at(place.longitude, place.latitude)
        assert 0 < x < picture.WIDTH and 0 < y < picture.HEIGHT
    drawn = classes(picture.country({}, NOW))
    assert drawn.count("place") == len(PLACES) and "land" in drawn and "alert critical" not in drawn


def test_what_goes_on_is_drawn_and_said() -> None:
    peak = {"place": "LOR", "pga": 50.0, "time": NOW - 2000}
    svg = picture.country({"bursts": [BURST], "sensor-peaks": [peak], "alerts": [ALERT]}, NOW)
    assert {"burst quake", "peak", "alert critical"} <= set(classes(svg))
    assert "Alerts: earthquake near Lorca" in svg
    later = picture.country({"bursts": [BURST], "alerts": [ALERT]}, NOW + 130_000)
    assert not {"burst quake", "alert critical"} & set(classes(later))


def test_records_draw_nothing_of_their_own() -> None:
    nasty = {**ALERT, "name": "<script>alert(1)</script>", "kind": '"><image href=x>'}
    svg = picture.country({"alerts": [nasty]}, NOW)
    assert "<script" not in svg and "<image" not in svg
    assert picture.country({"alerts": [{**ALERT, "place": "nowhere"}]}, NOW), "a place that is none is left out"


def test_the_graph_has_every_pipeline_and_only_topics_that_are() -> None:
    assert set(picture.PIPELINES) == set(pipelines.NAMES)
    assert set(picture.TOPICS) <= set(TOPICS)
    svg = picture.graph({"social-posts": 2000.0, "posts": 0.0}, {"posts": "running", "alerts": "failed"})
    drawn = classes(svg)
    assert "2,000/s" in svg and "failed" in svg
    assert drawn.count("edge alive") == 1


def test_the_map_is_about_where_it_should_be() -> None:
    west, east = (picture.at(BY_CODE[code].longitude, BY_CODE[code].latitude) for code in ("LCG", "BCN"))
    assert west[0] < east[0]
