"""A step in words: what explain, pictures and errors show of it. Pure text, for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headrace.plan import steps as s
from headrace.plan import windows as w
from headrace.plan.serdes import Serde

STATEFUL = (
    s.Aggregate,
    s.Suppress,
    s.Deduplicate,
    s.StreamStreamJoin,
    s.StreamTableJoin,
    s.TableTableJoin,
    s.ForeignKeyJoin,
    s.Process,
)


def step_text(step: s.Step) -> str:
    """What a step does, in one line, without its inputs."""
    writer = _TEXTS.get(type(step))
    return writer(step) if writer else type(step).__name__


def duration(ms: int) -> str:
    """Milliseconds as the largest unit that divides them."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if ms and ms % size == 0:
            return f"{ms // size} {unit}"
    return f"{ms} ms"


def window_text(window: w.Window) -> str:
    kept = getattr(window, "retention_ms", None)
    return _lengths_text(window) + (f", kept for {duration(kept)}" if kept else "")


def _lengths_text(window: w.Window) -> str:
    match window:
        case w.Tumbling(size, grace):
            return f"tumbling {duration(size)}, grace {duration(grace)}"
        case w.Hopping(size, advance, grace, incremental):
            kind = "incremental hopping" if incremental else "hopping"
            return f"{kind} {duration(size)} every {duration(advance)}, grace {duration(grace)}"
        case w.Sliding(difference, grace):
            return f"sliding {duration(difference)}, grace {duration(grace)}"
        case w.Session(gap, grace):
            return f"sessions with gaps up to {duration(gap)}, grace {duration(grace)}"
        case w.Count(size, advance):
            return f"every {size} records" + (f", a new window each {advance}" if advance != size else "")
        case w.Punctuation(end, inclusive, most):
            return f"up to {end}{'' if inclusive else ' (without it)'}, at most {most} records"
    return type(window).__name__


def _serdes(key: Serde, value: Serde) -> str:
    return f"key {_serde(key)}, value {_serde(value)}"


def _serde(serde: Serde) -> str:
    options = "".join(f" {one.name}={one.value!r}" for one in serde.options)
    window = f" windowed by {serde.window}" if serde.window else ""
    return f"{serde.format}{options}{window}"


def _list(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


def _source(step: s.StreamSource | s.TableSource | s.GlobalTableSource) -> str:
    kinds = {s.StreamSource: "stream", s.TableSource: "table", s.GlobalTableSource: "global table"}
    text = f"{kinds[type(step)]} of topic {step.topic} ({_serdes(step.key, step.value)})"
    timestamp = None if isinstance(step, s.GlobalTableSource) else step.timestamp
    return text + (f", time from {timestamp}" if timestamp is not None else "") + _stored(step)


def _stored(step: Any) -> str:
    return f", stored as {step.store}" if getattr(step, "store", None) else ""


def _flat_map(step: s.FlatMap) -> str:
    key = f", key {_list(step.key)}" if step.key else ""
    return f"flat map {step.items} to {_list(step.columns)}{key}"


def _branch(step: s.Branch) -> str:
    cases = (
        f"{case.name} if {case.condition}" if case.condition else f"{case.name} otherwise" for case in step.branches
    )
    return f"branch: {'; '.join(cases)}"


def _aggregate(step: s.Aggregate) -> str:
    if step.fold is not None:
        what = f"{'reduce' if step.fold.first_is_initial else 'fold'} {_list(step.fold.update)}"
    else:
        what = "aggregate " + _list(f"{one.function}({_list(one.arguments)}) AS {one.name}" for one in step.aggregates)
    window = f", {window_text(step.window)}" if step.window else ""
    final = ", final results only" if step.emit is s.Emit.FINAL else ""
    return f"{what}{window}{final}{_stored(step)}"


def _suppress(step: s.Suppress) -> str:
    if step.until_window_closes:
        return "suppress until the window closes"
    return f"suppress for {duration(step.wait_ms or 0)}"


def _join(step: Any) -> str:
    names = {
        s.StreamStreamJoin: "stream-stream",
        s.StreamTableJoin: "stream-table",
        s.GlobalTableJoin: "global-table",
        s.TableTableJoin: "table-table",
        s.ForeignKeyJoin: "foreign-key",
    }
    text = f"{step.kind} {names[type(step)]} join of {step.left} and {step.right}"
    if isinstance(step, s.StreamStreamJoin):
        text += f" within {duration(step.before_ms)} before and {duration(step.after_ms)} after, grace {duration(step.grace_ms)}"
    if isinstance(step, s.GlobalTableJoin):
        text += f" on {step.key}"
    if isinstance(step, s.ForeignKeyJoin):
        text += f" on {step.foreign_key}"
    return f"{text}: {_list(step.columns)}{_stored(step)}"


def _process(step: s.Process) -> str:
    state = f" with state {_list(f'{one.name} {one.type}' for one in step.state)}" if step.state else ""
    return f"process in Python by {step.processor}{state}"


def _sink(step: s.Sink) -> str:
    topic = (
        f"the topic that {step.topic_expression} names" if step.topic_expression is not None else f"topic {step.topic}"
    )
    return f"write to {topic} ({_serdes(step.key, step.value)})"


_TEXTS: Mapping[type[s.Step], Callable[[Any], str]] = {
    s.StreamSource: _source,
    s.TableSource: _source,
    s.GlobalTableSource: _source,
    s.Select: lambda step: f"select {_list(step.columns)}{_stored(step)}",
    s.Filter: lambda step: f"filter {step.condition}{_stored(step)}",
    s.SelectKey: lambda step: f"select key {_list(step.key)}",
    s.FlatMap: _flat_map,
    s.Merge: lambda step: "merge",
    s.Branch: _branch,
    s.ToStream: lambda step: "changes as a stream",
    s.ToTable: lambda step: f"taken as a table{_stored(step)}",
    s.Repartition: lambda step: "repartition" + (f" into {step.partitions}" if step.partitions else ""),
    s.GroupBy: lambda step: f"group by {_list(step.key) if step.key is not None else 'key'}",
    s.Aggregate: _aggregate,
    s.Suppress: _suppress,
    s.Deduplicate: lambda step: f"deduplicate by {_list(step.by)} within {duration(step.within_ms)}",
    s.StreamStreamJoin: _join,
    s.StreamTableJoin: _join,
    s.GlobalTableJoin: _join,
    s.TableTableJoin: _join,
    s.ForeignKeyJoin: _join,
    s.Process: _process,
    s.Sink: _sink,
}
