"""Tables with a retention that follow a real broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.tables import SessionWindows, TimeWindows, Window, session_windowed, time_windowed
from headrace.testing import LocalBroker, wait_until
from tests.tables.conftest import Open

HOUR_MS = 3_600_000


@pytest.fixture(params=["memory", "disk"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    return {} if request.param == "memory" else {"directory": tmp_path / "stores"}


def starts(table: Any) -> list[int]:
    table.wait_until_current(10)
    return [row.window.start_ms for row in table.all().rows]


def test_old_windows_go_as_new_ones_come(
    headrace_shared_broker: LocalBroker, topic: str, open_table: Open, place: dict[str, Any]
) -> None:
    """By the time of windows alone: the records are of now."""
    broker, options = headrace_shared_broker, {"windows": TimeWindows(HOUR_MS), "retention_ms": 3 * HOUR_MS}
    table = open_table(broker, topic, **options, **place)
    for hour in range(6):
        broker.produce(topic, [(time_windowed(key, hour * HOUR_MS), b"x") for key in (b"a", b"b")])
        kept = [each * HOUR_MS for each in range(max(0, hour - 2), hour + 1)]
        assert starts(table) == kept * 2, "of both keys, whichever partition they are in"
        assert [row.window.start_ms for row in table.fetch(b"a", 0, 99 * HOUR_MS).rows] == kept
        assert len(table) == len(kept) * 2
    broker.produce(topic, [(time_windowed(b"a", HOUR_MS), b"late"), (time_windowed(b"b", 3 * HOUR_MS), b"in time")])
    table.wait_until_current(10)
    assert [row.value for row in table.all().rows] == [b"x", b"x", b"x", b"in time", b"x", b"x"]
    assert starts(open_table(broker, topic, **options)) == starts(table), "a fresh one reads all of it and has the same"


def test_sessions_go_by_their_end(
    headrace_shared_broker: LocalBroker, topic: str, open_table: Open, place: dict[str, Any]
) -> None:
    broker = headrace_shared_broker
    sessions = [(0, 10), (0, 400), (300, 500), (1_000, 1_400)]
    broker.produce(topic, [(session_windowed(b"k", *each), b"x") for each in sessions])
    table = open_table(broker, topic, windows=SessionWindows(), retention_ms=1_000, **place)
    assert starts(table) == [300, 1_000], "one that ends 1,000 ms before the newest is gone"
    assert [row.window for row in table.fetch(b"k", 0, 400).rows] == [Window(300, 500)]


def test_a_store_goes_on_with_its_time_and_fills_again_under_another_retention(
    headrace_shared_broker: LocalBroker, topic: str, open_table: Open, tmp_path: Path
) -> None:
    broker, options = headrace_shared_broker, {"windows": TimeWindows(10), "directory": tmp_path}
    broker.produce(topic, [(time_windowed(b"k", start), b"x") for start in (0, 100, 200, 300)])
    table = open_table(broker, topic, retention_ms=150, **options)
    assert starts(table) == [200, 300]
    table.close()
    broker.produce(topic, [(time_windowed(b"k", 110), b"late")])
    table = open_table(broker, topic, retention_ms=150, **options)
    assert starts(table) == [200, 300] and table.status.rebuilds == 0 and table.status.records == 1
    table.close()
    for retention_ms, kept in ((250, [100, 110, 200, 300]), (None, [0, 100, 110, 200, 300]), (50, [300])):
        table = open_table(broker, topic, retention_ms=retention_ms, **options)
        wait_until(lambda table=table: table.status.rebuilds == 1, timeout_s=10)
        assert "retention" in table.status.rebuild_reason
        assert starts(table) == kept
        table.close()


def test_a_retention_needs_windows(headrace_shared_broker: LocalBroker, topic: str, open_table: Open) -> None:
    with pytest.raises(ValueError, match="give windows, or leave it out"):
        open_table(headrace_shared_broker, topic, retention_ms=1)
