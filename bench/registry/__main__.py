"""`python -m bench.registry [--seconds 10] [--schemas 100000]`: look-ups and registrations per second on one core, and a start with many schemas.

Every registry gets a topic of its own on the same broker, and one core; this program has the others. Beside the rate per second of time stands the rate per
second of the registry's processor time, which other programs on the machine do not touch.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

from bench.process_meter import cpu_seconds
from bench.registry import load
from bench.registry.systems import SYSTEMS, Headrace, Karapace, Registry
from headrace import client
from headrace.testing import broker_process

GOALS = {"look_ups_per_s": (3_000.0, True), "registrations_per_s": (300.0, True), "start_s": (10.0, False)}
"""Of Headrace, and whether more is better; against Karapace, at least twice as good on each."""

Figures = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.registry", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    parser.add_argument("--schemas", type=int, default=100_000, help="in the topic, for the start")
    parser.add_argument("--out", type=Path, default=None, help="where to write the figures as JSON")
    options = parser.parse_args()
    results: dict[str, Figures | str] = {}
    with broker_process() as broker:
        _fill(broker.bootstrap_servers, options.schemas)
        for system in SYSTEMS:
            reason = system.missing()
            results[system.name] = reason or measure(system, broker.bootstrap_servers, options.seconds)
    sys.stdout.write(table(results))
    if options.out:
        options.out.write_text(json.dumps(results, indent=1))


def measure(system: type[Registry], bootstrap_servers: str, seconds: float) -> Figures:
    registry = system(bootstrap_servers, f"_{system.name.lower()}")
    try:
        registry.start()
        id_ = _register(registry)
        figures = _rate(registry, "look_ups", load.look_ups(id_), seconds)
        figures |= _rate(registry, "registrations", load.registrations(1), seconds)
    finally:
        registry.stop()
    full = system(bootstrap_servers, "_full")
    try:
        figures["start_s"] = full.start()
        figures["start_cpu_s"] = cpu_seconds(full.pid)
    finally:
        full.stop()
    return figures


def _rate(registry: Registry, name: str, requests: Any, seconds: float) -> Figures:
    load.per_second(registry.port, requests if name == "look_ups" else load.registrations(10_000_000), seconds / 5)
    before = cpu_seconds(registry.pid)
    count, took = load.per_second(registry.port, requests, seconds)
    return {f"{name}_per_s": count / took, f"{name}_per_cpu_s": count / (cpu_seconds(registry.pid) - before)}


def _register(registry: Registry) -> int:
    request = urllib.request.Request(
        f"{registry.url}/subjects/measured/versions",
        load.schema(0),
        {"Content-Type": "application/vnd.schemaregistry.v1+json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return int(json.load(answer)["id"])


def _fill(bootstrap_servers: str, count: int) -> None:
    """A topic with many schemas, in Confluent's form."""
    from confluent_kafka.admin import NewTopic

    admin = client.admin(bootstrap_servers)
    topic = NewTopic("_full", 1, 1, config={"cleanup.policy": "compact"})
    admin.create_topics([topic])["_full"].result(60)
    producer = client.producer(bootstrap_servers)
    for number in range(1, count + 1):
        subject = f"s{number // 5}"
        key = {"keytype": "SCHEMA", "subject": subject, "version": number % 5 + 1, "magic": 1}
        text = json.loads(load.schema(number))["schema"]
        value = {"subject": subject, "version": number % 5 + 1, "id": number, "schema": text, "deleted": False}
        producer.produce("_full", json.dumps(value).encode(), json.dumps(key, separators=(",", ":")).encode())
        if number % 1_000 == 0:
            producer.poll(0)
    producer.flush(120)


def table(results: dict[str, Figures | str]) -> str:
    """The figures side by side, with the goals."""
    ours, theirs = results[Headrace.name], results.get(Karapace.name)
    assert isinstance(ours, dict)
    lines = [f"{'':<24}{'Headrace':>12}{'goal':>10}{'Karapace':>12}{'ratio':>8}"]
    for name, value in ours.items():
        goal = GOALS.get(name)
        other = theirs.get(name) if isinstance(theirs, dict) else None
        better = not name.startswith("start")
        ratio = "" if not other else f"{(value / other if better else other / value):.1f}"
        limit = "" if goal is None else f"{'≥' if goal[1] else '≤'} {goal[0]:g}"
        shown = "-" if other is None else f"{other:.1f}"
        lines.append(f"{name:<24}{value:>12.1f}{limit:>10}{shown:>12}{ratio:>8}")
    if isinstance(theirs, str):
        lines.append(f"Karapace: not measured: {theirs}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
