"""Writes the golden files anew: `python -m tests.streams.write_golden`. Read the difference before you commit it."""

from __future__ import annotations

from tests.streams.topologies import GOLDEN, TOPOLOGIES, plan_json

if __name__ == "__main__":
    for name in TOPOLOGIES:
        (GOLDEN / f"{name}.json").write_text(plan_json(name), encoding="utf-8")
