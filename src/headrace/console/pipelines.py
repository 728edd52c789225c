"""A pipeline's figures between two looks at it: rates, and the latency of the time between, which counts since the start do not tell. Pure."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.console.history import History


@dataclass
class PipelineHistory:
    """Fed with progress reports, oldest first."""

    rows: History = field(default_factory=History)
    latency: list[tuple[float, float]] = field(default_factory=list)
    _buckets: dict[int, int] = field(default_factory=dict)

    def note(self, progress: Mapping[str, Any], at: float | None = None) -> None:
        now = time.monotonic() if at is None else at
        if not progress:
            return
        counts = {"in": int(progress.get("rows_in") or 0), "out": int(progress.get("rows_out") or 0)}
        for name, each in (progress.get("partitions") or {}).items():
            topic = f"topic {name.rpartition('-')[0]}"
            counts[topic] = counts.get(topic, 0) + int(each.get("rows") or 0)
        self.rows.note(counts, now)
        buckets = {int(bound): int(count) for bound, count in (progress.get("latency_ms") or {}).get("buckets") or ()}
        recent = [(bound, count - self._buckets.get(bound, 0)) for bound, count in sorted(buckets.items())]
        # Fewer than before: it was started anew.
        if self._buckets and all(count >= 0 for _, count in recent):
            median = quantile(recent, 0.5)
            if median is not None:
                self.latency = [*self.latency, (now, median)][-360:]
        self._buckets = buckets

    def topic_rates(self) -> dict[str, float]:
        """Records a second that were read from each topic."""
        found = {}
        for name in self.rows.names():
            rate = self.rows.rate(name)
            if name.startswith("topic ") and rate is not None:
                found[name.removeprefix("topic ")] = max(0.0, rate)
        return found


def quantile(buckets: Sequence[tuple[int, int]], share: float) -> float | None:
    """Of (upper bound, count) pairs in order; None when nothing was counted."""
    total = sum(count for _, count in buckets)
    if total <= 0:
        return None
    seen = 0
    for bound, count in buckets:
        seen += count
        if seen >= total * share:
            return float(bound)
    return float(buckets[-1][0])
