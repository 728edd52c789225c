"""The emergency centre of `headrace demo`: a map, the alerts with their reasons, posts against what is usual, the pipelines with their rates, the score.

Everything comes from topics and from the engine's table, as any program would read them. It is in the menu where the demo started the console.
"""

from __future__ import annotations

import os
import time
from collections import deque
from typing import Any

from nicegui import ui

from headrace.admin.errors import Problem
from headrace.console import parts
from headrace.console.elements import DataTable, Tag
from headrace.console.page import page
from headrace.console.state import Console
from headrace.console.view import View
from headrace.demo import picture
from headrace.demo.feed import Feed, Seen
from headrace.demo.generator import POSTS
from headrace.demo.scenario import NIGHT_SHARE

EVERY_S, SLOWLY_S = 1.0, 4.0
ALERTS_SHOWN = 8
GONE_S = 15.0
PIPELINES = {f"emergency-{name}": name for name in picture.PIPELINES}
_STYLE = """
.hr-map svg { width: 100%; height: auto; display: block; }
.hr-map .land { fill: var(--sunken); stroke: var(--soft); stroke-width: 1.2; } .hr-map .around { fill: none; stroke: var(--line); }
.hr-map .place { fill: var(--soft); } .hr-map .name { font: 10px system-ui, sans-serif; fill: var(--soft); }
.hr-map .peak { fill: none; stroke: var(--bad); stroke-width: 2; stroke-dasharray: 4 3; }
.hr-map .burst { fill: var(--accent); fill-opacity: .35; stroke: var(--accent); } .hr-map .burst.quake { fill: var(--bad); stroke: var(--bad); } .hr-map .burst.crash { fill: var(--warn); stroke: var(--warn); }
.hr-map .jam { fill: var(--warn); } .hr-map .alert text { font: 600 13px system-ui, sans-serif; fill: var(--text); paint-order: stroke; stroke: var(--surface); stroke-width: 4px; }
.hr-map .alert .core { fill: var(--warn); } .hr-map .alert.critical .core { fill: var(--bad); } .hr-map .alert .wave { fill: none; stroke: var(--bad); stroke-width: 2.5; transform-box: fill-box; transform-origin: center; animation: hr-wave 1.6s ease-out infinite; }
@keyframes hr-wave { from { transform: scale(.3); opacity: 1; } to { transform: scale(1.3); opacity: 0; } }
@media (prefers-reduced-motion: reduce) { .hr-map .alert .wave { animation: none; } }
.hr-legend { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; font-size: .84rem; color: var(--soft); } .hr-legend i { display: inline-block; width: .8rem; height: .8rem; border-radius: 50%; margin-right: .35rem; vertical-align: -.1rem; background: var(--accent); }
.hr-centre { display: grid; grid-template-columns: minmax(0, 1.35fr) minmax(0, 1fr); gap: 1.2rem; align-items: start; } @media (max-width: 1000px) { .hr-centre { grid-template-columns: minmax(0, 1fr); } }
.hr-alert { border-left: 4px solid var(--warn); padding: .35rem 0 .35rem .8rem; } .hr-alert[data-tone=bad] { border-left-color: var(--bad); } .hr-alert p { overflow-wrap: anywhere; }
"""
_feeds: dict[int, Feed] = {}


def _feed(console: Console) -> Feed:
    """One for all who look."""
    return _feeds.setdefault(id(console), Feed(console.cluster.plain))


@page("/emergency", "Emergency", icon="crisis_alert", order=5 if os.environ.get("HEADRACE_DEMO") else None)
async def emergency(view: View) -> None:
    ui.add_css(_STYLE)
    with parts.heading("Emergency centre"):
        clock = parts.chip("waiting for the demo")
        speed = parts.chip("", "accent")
    trouble = parts.Note("warn")
    posts, alerts, delay, missed, behind = parts.figures(
        "Posts/s", "Alerts", "Found after", "Missed or false", "Behind"
    )
    with Tag("div", classes="hr-centre"):
        with parts.card("Spain, now", classes="hr-map"):
            country = ui.html(picture.country({}, 0), sanitize=False)
            _legend()
        with parts.card("Alerts", hint="Raised once each, with the reason"):
            listed = _Alerts()
    with Tag("div", classes="hr-cols"):
        with parts.card("Posts a second", hint="Against what is usual at this hour"):
            plot = _Plot()
        with parts.card("Words of the last minute"):
            words = DataTable("Words used most in posts about something", (
                {"name": "word", "label": "Word"}, {"name": "uses", "label": "Uses", "align": "end"},
            ), empty="Nothing that many write about")  # fmt: skip
    with parts.card(
        "Pipelines", hint="Each is a file in examples/emergency; records a second in the topics between them"
    ):
        graph = (
            ui.html(picture.graph({}, {}), sanitize=False)
            .classes("hr-graph")
            .props('tabindex="0" role="region" aria-label="Pipelines"')
        )
    with parts.card("Regions", hint="A table that the pipelines keep, looked up by region"):
        regions = DataTable("The situation of each region", (
            {"name": "region", "label": "Region"}, {"name": "alert", "label": "Last alert"}, {"name": "burst", "label": "Last burst"},
            {"name": "shaking", "label": "Shaking", "align": "end"}, {"name": "headline", "label": "News"},
        ), empty="Nothing is known yet")  # fmt: skip

    async def look() -> None:
        seen = await view.console.asking.do(_feed(view.console).look)
        now_ms = _now_ms(seen)
        _say_status(seen, clock, speed, trouble)
        _say_score(seen, alerts, delay, missed, behind)
        country.set_content(picture.country(seen.records, now_ms))
        listed.show(_of_this_run(seen))
        words.show(_words(seen, now_ms))
        await view.console.cluster.end_offsets()
        plot.show(view.console.cluster.ends.rate(POSTS), _usual(seen), posts)

    async def look_slowly() -> None:
        rates = {topic: view.console.cluster.ends.rate(topic) for topic in picture.TOPICS}
        graph.set_content(picture.graph(rates, await _states(view)))
        regions.show(await _regions(view))

    await view.live(EVERY_S, look)
    await view.live(SLOWLY_S, look_slowly)


def _legend() -> None:
    with Tag("div", classes="hr-legend"):
        for colour, text in (
            ("var(--bad)", "posts about an earthquake"), ("var(--warn)", "about an accident; jams"), ("var(--accent)", "about football"),
            ("transparent; outline: 2px dashed var(--bad)", "sensors that shake"),
        ):  # fmt: skip
            with Tag("span"):
                Tag("i", "", aria_hidden="true").style(f"background: {colour}")
                Tag("span", text)


def _now_ms(seen: Seen) -> float:
    """The scenario's time: what the last status said, and what has passed since."""
    if not seen.status:
        return 0.0
    since = 0.0 if seen.status["over"] else time.monotonic() - seen.heard_s
    return float(seen.status["epoch_ms"]) + (float(seen.status["now_s"]) + since * float(seen.status["speed"])) * 1000


def _say_status(seen: Seen, clock: Tag, speed: Tag, trouble: parts.Note) -> None:
    status = seen.status
    if not status:
        trouble.show("No demo has run on this cluster", "Start one with `headrace demo`")
        return
    seconds = int((_now_ms(seen) - float(status["epoch_ms"])) / 1000)
    hour = "night" if status["night"] else "day"
    clock.say("the demo is over" if status["over"] else f"minute {seconds // 60}:{seconds % 60:02d}, {hour}")
    speed.say(f"x{status['speed']:g}")
    if not status["over"] and time.monotonic() - seen.heard_s > GONE_S:
        trouble.show("The demo says nothing any more", "It was ended, or the broker is away")
    elif status["events"]:
        trouble.show(str(status["events"][-1]), "")
    else:
        trouble.hide()


def _say_score(
    seen: Seen, alerts: parts.Figure, delay: parts.Figure, missed: parts.Figure, behind: parts.Figure
) -> None:
    status = seen.status
    if not status:
        return
    found = [float(one["delay_s"]) for one in status["found"] if one["delay_s"] is not None]
    alerts.show(str(len(_of_this_run(seen))), f"{status['score']['expected']} expected so far")
    delay.show(
        f"{found[-1]:.1f} s" if found else "-",
        f"mean {sum(found) / len(found):.1f} s" if found else "of the first post",
        "good" if found and max(found) <= 5 else "",
    )
    wrong = int(status["score"]["missed"]) + int(status["score"]["false_alerts"])
    missed.show(str(wrong), "against the truth", "bad" if wrong else "good")
    late = status["behind_s"]
    behind.show(
        "?" if late is None else f"{late:.1f} s",
        "results behind posts",
        "" if late is not None and late < 3 else "warn",
    )


def _of_this_run(seen: Seen) -> list[dict[str, Any]]:
    begin = float(seen.status.get("epoch_ms", 0))
    return [alert for alert in seen.records["alerts"] if float(alert["time"]) >= begin]


def _usual(seen: Seen) -> float | None:
    if not seen.status:
        return None
    return float(seen.status["rate"]) * (NIGHT_SHARE if seen.status["night"] else 1.0)


def _words(seen: Seen, now_ms: float) -> list[dict[str, Any]]:
    newest = {one["word"]: one for one in seen.records["trending-words"] if now_ms - float(one["until"]) < 60_000}
    most = sorted(newest.values(), key=lambda one: -int(one["uses"]))[:8]
    return [{"id": one["word"], "word": one["word"], "uses": f"{one['uses']:,}"} for one in most]


async def _states(view: View) -> dict[str, str]:
    known = await view.console.engine.pipelines()
    return {PIPELINES[each["name"]]: str(each["state"]) for each in known if each["name"] in PIPELINES}


async def _regions(view: View) -> list[dict[str, Any]]:
    try:
        found = await view.console.engine.look_up("emergency-situation", "situation", {"limit": 100})
    except Problem:
        return []  # there is no such pipeline here, or not yet
    rows = [(str(next(iter(row["key"].values()))), row["value"]) for row in found["rows"]]
    rows.sort(key=lambda row: -max(int(row[1]["alert_time"]), int(row[1]["burst_time"]), 0))
    return [
        {
            "id": region,
            "region": region,
            "alert": {"text": now["alert"], "tone": "bad" if now["alert"].startswith("critical") else "warn"} if now["alert"] else "",
            "burst": now["burst"],
            "shaking": f"{now['sensors']} sensors, {now['pga']:.0f} cm/s²" if now["sensors"] else "",
            "headline": now["headline"],
        }
        for region, now in rows
    ]  # fmt: skip


class _Alerts:
    """The newest alerts, the newest first. Places are made once; texts change."""

    def __init__(self) -> None:
        self._empty = Tag("p", "None yet: everything is quiet", "hr-soft")
        self._rows = [self._row() for _ in range(ALERTS_SHOWN)]

    def _row(self) -> tuple[Tag, Tag, Tag, Tag, Tag]:
        with Tag("div", classes="hr-alert") as box:
            with Tag("div", classes="hr-row"):
                title, level = Tag("h3", ""), parts.chip("")
            reason, help_ = Tag("p", "", "hr-small"), Tag("p", "", "hr-small hr-soft")
        box.visible = False
        box.mark("alert")
        return box, title, level, reason, help_

    def show(self, alerts: list[dict[str, Any]]) -> None:
        newest = sorted(alerts, key=lambda one: -float(one["time"]))[:ALERTS_SHOWN]
        self._empty.visible = not newest
        for index, (box, title, level, reason, help_) in enumerate(self._rows):
            box.visible = index < len(newest)
            if index >= len(newest):
                continue
            alert = newest[index]
            tone = "bad" if alert["level"] == "critical" else "warn"
            box.attribute("data-tone", tone)
            level.attribute("data-tone", tone)
            level.say(str(alert["level"]))
            title.say(f"{str(alert['kind']).capitalize()} near {alert['name']}, {alert['region']}")
            reason.say(f"{alert['reason']}.")
            help_.say(f"{alert['people']:,} people; {alert['hospital']}, {alert['beds']:,} beds")


class _Plot:
    """Posts a second of the last minutes, and what is usual."""

    def __init__(self) -> None:
        self._points: deque[tuple[str, float, float | None]] = deque(maxlen=180)
        self._chart = ui.echart(
            {
                "animation": False,
                "grid": {"left": 48, "right": 12, "top": 12, "bottom": 28},
                "xAxis": {"type": "category", "data": [], "boundaryGap": False},
                "yAxis": {"type": "value", "min": 0, "splitLine": {"lineStyle": {"color": "#8796a5", "opacity": 0.25}}},
                "series": [
                    {"name": "posts/s", "type": "line", "showSymbol": False, "areaStyle": {"opacity": 0.15}, "data": [], "color": "#0e9fbd"},
                    {"name": "usual", "type": "line", "showSymbol": False, "lineStyle": {"type": "dashed"}, "data": [], "color": "#8796a5"},
                ],
                "tooltip": {"trigger": "axis"},
            }
        ).classes("hr-plot")  # fmt: skip
        self._chart.props('role="img" aria-label="Posts a second over the last minutes"')

    def show(self, rate: float | None, usual: float | None, figure: parts.Figure) -> None:
        if rate is None:
            return
        tone: parts.Tone = "warn" if usual and rate > 1.1 * usual else ""
        figure.show(f"{rate:,.0f}", "" if usual is None else f"usually {usual:,.0f}", tone)
        self._points.append((time.strftime("%H:%M:%S"), round(rate), usual))
        self._chart.options["xAxis"]["data"] = [point[0] for point in self._points]
        for index, series in enumerate(self._chart.options["series"]):
            series["data"] = [point[index + 1] for point in self._points]
        self._chart.update()
