"""A throttled disk holds up nobody who does not write to it. The bound is half a write; the real figures are far below."""

from __future__ import annotations

from tests.faults import slow_disk


def test_heartbeats_and_fetches_of_others_go_on() -> None:
    figures = slow_disk.run(seconds=4)
    assert figures["slow_disk_hits"] >= 5, "the disk was not slow"
    assert figures["heartbeat_p99_ms"] < slow_disk.WRITE_DELAY_S * 500
    assert figures["fetch_p99_ms"] < slow_disk.WRITE_DELAY_S * 500
    assert figures["group_error"] == 0, "the group was disturbed"
