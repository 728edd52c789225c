"""A topology as text, as Kafka's `Topology.describe()` gives it, with types, source lines and what stays Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headrace.plan import steps as s

if TYPE_CHECKING:
    from headrace.streams.builder import Builder


def described(builder: Builder) -> str:
    """One paragraph a step."""
    lines = [f"App {builder.name}"]
    for step in builder.plan().steps:
        lines += ["", *_step(step, builder)]
    return "\n".join(lines) + "\n"


def _step(step: s.Step, builder: Builder) -> list[str]:
    lines = [f"  {step.id}  {_kind(step)}"]
    inputs = s.inputs(step)
    if inputs:
        lines.append(f"    from    {', '.join(inputs)}")
    if not isinstance(step, s.Sink):
        lines.append(f"    yields  {builder.relations[step.id]}")
    store = getattr(step, "store", None)
    if store:
        lines.append(f"    store   {store}")
    place, _, line = builder.locations.get(step.id, "").rpartition(":")
    if place:
        lines.append(f"    at      {os.path.basename(place)}:{line}")
    lines += [f"    python  {note}" for note in builder.fallbacks.get(step.id, ())]
    return lines


def _kind(step: s.Step) -> str:
    name = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in type(step).__name__).strip()
    topic = getattr(step, "topic", None)
    return f"{name}: {topic}" if topic else name
