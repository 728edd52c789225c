"""A throttled disk: producers of one topic wait for it, nobody else does.

    python -m tests.faults.slow_disk --seconds 20

While several producers write to a topic whose every write takes 300 ms, a group's heartbeats and fetches of another topic
are timed. Afterwards the group must be in the generation it began with.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from headrace.testing import LocalBroker, broker
from headrace.testing.faults import ThrottledFs
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.heartbeat import HeartbeatRequest
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.broker.raw import RawClient, batch

GROUP = "beating"
WRITE_DELAY_S = 0.3


def run(seconds: float) -> dict[str, object]:
    """Measure; the figures in milliseconds."""
    fs = ThrottledFs(write_delay_s=WRITE_DELAY_S, matching="/slow-", active=False)
    with broker(fs=fs, group_initial_rebalance_delay_ms=0) as server:
        server.create_topic("slow", 4)
        server.create_topic("fast", 1)
        with RawClient(server.port) as client:
            for number in range(100):
                client.produce("fast", batch(b"x" * 100 * number))
            member = join(client)
            fs.active = True
            with Producers(server) as producers:
                heartbeats, fetches = measure(server, member, seconds)
                written = producers.written
            generation = client.call(
                HeartbeatRequest(group_id=GROUP, generation_id=member.generation_id, member_id=member.member_id), 3
            )
            fs.active = False
    return {
        "seconds": seconds,
        "write_delay_ms": WRITE_DELAY_S * 1000,
        "slow_writes": written,
        "slow_disk_hits": fs.hits,
        "heartbeats": len(heartbeats),
        "heartbeat_p99_ms": percentile(heartbeats, 99),
        "heartbeat_max_ms": percentile(heartbeats, 100),
        "fetches": len(fetches),
        "fetch_p99_ms": percentile(fetches, 99),
        "fetch_max_ms": percentile(fetches, 100),
        "group_error": generation.error_code,
    }


def join(client: RawClient) -> JoinGroupResponse:
    """Become the only member of the group."""
    deadline = time.monotonic() + 10
    while client.call(FindCoordinatorRequest(key=GROUP), 2).error_code:
        assert time.monotonic() < deadline, "no coordinator"
        time.sleep(0.01)
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    member = client.call(
        JoinGroupRequest(
            group_id=GROUP, session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocol_type="consumer",
            protocols=protocols,
        ),
        2,
    )  # fmt: skip
    assert member.error_code == 0, member
    assignments = [SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"all")]
    synced = client.call(
        SyncGroupRequest(
            group_id=GROUP, generation_id=member.generation_id, member_id=member.member_id, assignments=assignments
        ),
        2,
    )
    assert synced.error_code == 0, synced
    return member


class Producers:
    """Four clients that write to the slow topic without pause."""

    def __init__(self, server: LocalBroker) -> None:
        self.written = 0
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(server, number)) for number in range(4)]

    def __enter__(self) -> Producers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(60)

    def _write(self, server: LocalBroker, partition: int) -> None:
        with RawClient(server.port, timeout_s=60) as client:
            while not self._stopped.is_set():
                answer = client.produce("slow", batch(b"y" * 1000), partition=partition)
                assert answer.error_code == 0, answer
                self.written += 1


def measure(server: LocalBroker, member: JoinGroupResponse, seconds: float) -> tuple[list[float], list[float]]:
    """Time heartbeats and fetches, alternately, on two connections."""
    heartbeats: list[float] = []
    fetches: list[float] = []
    with RawClient(server.port) as beating, RawClient(server.port) as reading:

        def beat() -> None:
            request = HeartbeatRequest(group_id=GROUP, generation_id=member.generation_id, member_id=member.member_id)
            assert beating.call(request, 3).error_code == 0

        def fetch() -> None:
            assert reading.fetch("fast", 0).error_code == 0

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            heartbeats.append(timed(beat))
            fetches.append(timed(fetch))
            time.sleep(0.002)  # paces the measurement
    return heartbeats, fetches


def timed(action: Callable[[], None]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def percentile(values: list[float], rank: int) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, len(ordered) * rank // 100)] * 1000, 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--out", type=Path, help="write the figures to this file as JSON")
    options = parser.parse_args()
    figures = run(options.seconds)
    print(json.dumps(figures))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
