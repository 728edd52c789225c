"""Sparklines."""

from __future__ import annotations

from headrace.cli.output import sparkline


def test_sparklines() -> None:
    assert sparkline([0, 1, 2, 4]) == "▁▃▅█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""
