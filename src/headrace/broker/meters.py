"""Plain counters that the hot path adds to; `metrics` turns them into Prometheus text when asked."""

from __future__ import annotations


class Meters:
    """What the broker counts besides requests. Only the event loop writes."""

    __slots__ = ("bytes_in", "bytes_out", "failed_produce_requests")

    def __init__(self) -> None:
        self.bytes_in = 0
        self.bytes_out = 0
        self.failed_produce_requests = 0
