"""A thousand groups of ten: heartbeats must cost microseconds, and memory must stay flat."""

from __future__ import annotations

import time

from headrace.wire.errors import ErrorCode
from headrace.wire.messages.heartbeat import HeartbeatRequest
from tests.coordinator.driver import Driver

GROUPS = 1_000
MEMBERS = 10


def test_ten_thousand_members_heartbeating_is_cheap() -> None:
    d = Driver(initial_rebalance_delay_ms=0)
    requests = []
    for index in range(GROUPS):
        group = f"group-{index}"
        requests += [
            HeartbeatRequest(group_id=group, member_id=member, generation_id=1)
            for member in d.stable(MEMBERS, group=group, session_ms=45_000)
        ]
    queued = len(d.coordinator.timers)
    heartbeat, now_ms = d.coordinator.heartbeat, d.now_ms
    started = time.process_time()
    for round_ in range(10):
        for request in requests:
            assert heartbeat(request, now_ms + round_).error_code is ErrorCode.NONE
    per_heartbeat_us = (time.process_time() - started) / (10 * len(requests)) * 1e6
    assert len(d.coordinator.timers) <= queued, "heartbeats must not grow the queue of deadlines"
    assert per_heartbeat_us < 50, f"{per_heartbeat_us:.1f} µs per heartbeat"
