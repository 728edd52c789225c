"""One pipeline: its graph with what flows on the edges, how it runs and why so, latency, state, late and bad records, its tables; pausing, resuming, stopping."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from nicegui import ui

from headrace.admin.times import local, number, size
from headrace.console import parts
from headrace.console.elements import DataTable, Tag
from headrace.console.graph import svg
from headrace.console.page import page
from headrace.console.pages.pipelines import TONES
from headrace.console.pages.topics import per_second
from headrace.console.pipeline import bad_records, tables
from headrace.console.pipelines import PipelineHistory
from headrace.console.plots import Plot
from headrace.console.view import View

EVERY_S = 2.0
MODES = {"real_time": "real time, record by record", "micro_batch": "micro-batches"}
_QUERIES = (
    {"name": "query", "label": "Query"},
    {"name": "mode", "label": "Mode"},
    {"name": "why", "label": "Why so"},
    {"name": "lag", "label": "Lag", "align": "end"},
    {"name": "watermark", "label": "Watermark", "keep": True},
    {"name": "rows", "label": "State rows", "align": "end"},
    {"name": "bytes", "label": "State size", "align": "end"},
    {"name": "batch", "label": "Batch took", "align": "end"},
)


@page("/pipelines/{name}", "Pipeline", section="/pipelines")
async def pipeline(view: View, name: str) -> None:
    engine, history = view.console.engine, PipelineHistory()
    ui.page_title(f"{name} - Headrace")
    with parts.heading(name, crumbs=(("Pipelines", "/pipelines"),)):
        controls = _Controls(view, name)
    problem = parts.Note()
    state, into, out, latency, behind, held, late, bad = parts.figures(
        "State", "Records in/s", "Records out/s", "Latency", "Lag", "State rows", "Late", "Bad"
    )
    with parts.card("Graph", hint="Topics are green, steps that keep state are yellow; numbers are records a second"):
        drawn = ui.html("", sanitize=False).classes("hr-graph").props('tabindex="0" role="region" aria-label="Graph"')
    with Tag("div", classes="hr-cols"):
        with parts.card("Records a second"):
            rows = Plot("Records a second", "/s")
        with parts.card("Latency", hint="The median, from a record's arrival in its topic to the result's sending"):
            delays = Plot("Latency in milliseconds", " ms")
    with parts.card("Queries"):
        queries = DataTable(f"Queries of {name}", _QUERIES, empty="It does not run now")
    graph = await engine.graph(name)
    await tables.card(view, name, graph["tables"])
    await bad_records.card(view, name)
    shown = ""

    async def refresh() -> None:
        nonlocal shown
        now = await engine.pipeline(name)
        progress: Mapping[str, Any] = now.get("progress") or {}
        history.note(progress)
        controls.show(now)
        _complain(problem, now, progress)
        state.show(now["state"], str(now["guarantee"]).replace("_", " "), TONES.get(now["state"], ""))  # type: ignore[arg-type]
        into.show(per_second(history.rows.rate("in")), f"{number(progress.get('rows_in'))} in all")
        out.show(per_second(history.rows.rate("out")), f"{number(progress.get('rows_out'))} in all")
        latency.show(*_latency(progress, history))
        behind.show(number(progress.get("lag")))
        held.show(number(progress.get("state_rows")), size(progress.get("state_bytes") or 0))
        late.show(number(progress.get("late")), "came after their window", "warn" if progress.get("late") else "")
        bad.show(number(progress.get("bad")), "could not be read", "warn" if progress.get("bad") else "")
        queries.show([_query(one) for one in progress.get("stages") or ()])
        rows.show({"in": _steps(history, "in"), "out": _steps(history, "out")})
        delays.show({"median": history.latency})
        picture = svg(await engine.graph(name), {**await _topic_rates(view, graph), **history.topic_rates()})
        if picture != shown:
            shown = picture
            drawn.set_content(picture)

    await view.live(EVERY_S, refresh)


async def _topic_rates(view: View, graph: Mapping[str, Any]) -> dict[str, float]:
    """What comes into the topics that it writes to, as the cluster tells."""
    from headrace.admin.errors import Problem

    written = {each["topic"] for each in graph["edges"] if each["end"].startswith("topic ")}
    try:
        await view.console.cluster.end_offsets()
    except Problem:
        return {}  # the graph is worth having without them
    rates = {topic: view.console.cluster.ends.rate(topic) for topic in written}
    return {topic: max(0.0, rate) for topic, rate in rates.items() if rate is not None}


def _steps(history: PipelineHistory, name: str) -> list[tuple[float, float]]:
    """Rates between looks."""
    seen = history.rows.of(name)
    return [
        (after[0], max(0.0, (after[1] - before[1]) / (after[0] - before[0])))
        for before, after in pairwise(seen)
        if after[0] > before[0]
    ]


def _latency(progress: Mapping[str, Any], history: PipelineHistory) -> tuple[str, str]:
    known = progress.get("latency_ms") or {}
    if known.get("p50") is None:
        return "-", ""
    recent = history.latency[-1][1] if history.latency else known["p50"]
    return f"{number(recent)} ms", f"99 % within {number(known.get('p99'))} ms"


def _query(stage: Mapping[str, Any]) -> dict[str, Any]:
    real_time = stage["mode"] == "real_time"
    return {
        "id": stage["stage"],
        "query": stage["stage"],
        "mode": {"text": MODES.get(stage["mode"], stage["mode"]), "tone": "good" if real_time else "accent"},
        "why": "; ".join(stage.get("reasons") or ()) or "nothing keeps it from running record by record",
        "lag": number(stage.get("lag")),
        "watermark": _watermark(stage.get("watermark")),
        "rows": number(stage.get("state_rows")),
        "bytes": size(stage.get("state_bytes") or 0),
        "batch": "-" if stage.get("batch_ms") is None else f"{number(stage['batch_ms'])} ms",
    }


def _watermark(value: Any) -> str:
    """Spark says 1970 until it has seen an event time."""
    if isinstance(value, int):
        return local(value) if value > 0 else "-"
    return "-" if not value or str(value).startswith("1970-01-01T00:00:00") else str(value)


def _complain(problem: parts.Note, now: Mapping[str, Any], progress: Mapping[str, Any]) -> None:
    if now.get("error"):
        again = f"It is tried again at {local(now['retry_at_ms'])}." if now.get("retry_at_ms") else ""
        problem.show(str(now["error"]), again, "bad")
    elif progress.get("warnings"):
        problem.show("Some records came too late", " ".join(map(str, progress["warnings"])), "warn")
    else:
        problem.hide()


class _Controls:
    """What can be done now: a paused pipeline is resumed, any other paused."""

    def __init__(self, view: View, name: str) -> None:
        self._view, self._name = view, name
        self._pause = self._resume = self._restart = None
        if view.read_only:
            return
        self._pause = parts.button("Pause", lambda: self._act("pause", "is paused"), icon="pause")
        self._resume = parts.button("Resume", lambda: self._act("resume", "goes on"), kind="primary", icon="play_arrow")
        self._restart = parts.button("Restart", lambda: self._act("restart", "starts anew"), icon="restart_alt")
        parts.button("Stop", self._stop, kind="danger", icon="stop")

    def show(self, now: Mapping[str, Any]) -> None:
        paused = now["desired"] == "paused"
        if self._pause is not None and self._resume is not None and self._restart is not None:
            self._pause.visible, self._resume.visible, self._restart.visible = not paused, paused, not paused

    async def _act(self, action: str, done: str) -> None:
        await self._view.attempt(lambda: self._view.console.engine.act(self._name, action), f"{self._name} {done}")

    def _stop(self) -> None:
        async def stop() -> None:
            await self._view.console.engine.act(self._name, "stop")
            ui.navigate.to("/pipelines")

        dialog = parts.Dialog(f"Stop {self._name}")
        with dialog.body:
            Tag(
                "p",
                "The pipeline ends and the engine forgets it. Its topics and its state stay: submitted anew, it goes on where it ended.",
            )
        dialog.offer("Stop pipeline", stop, kind="danger", done=f"{self._name} is stopped")
        dialog.open()
