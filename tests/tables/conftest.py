"""What the tests of tables share: tables that are closed whatever happens, and topics with names of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.tables import ChangelogTable
from headrace.testing import LocalBroker, wait_until

Open = Callable[..., ChangelogTable[Any, Any]]
_numbers = itertools.count()
# Segments of a record or two, cleaned whenever there is something to clean.
COMPACTED = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": 0, "internal_segment_bytes": 300}


@pytest.fixture
def open_table() -> Iterator[Open]:
    """Opens tables that look at their topic often; those that a test leaves open are closed after it."""
    opened: list[ChangelogTable[Any, Any]] = []

    def open_one(broker: LocalBroker, topic: str, **options: Any) -> ChangelogTable[Any, Any]:
        table: ChangelogTable[Any, Any] = ChangelogTable(
            broker.bootstrap_servers, topic, **{"refresh_s": 0.1, **options}
        )
        opened.append(table)
        return table

    yield open_one
    for table in opened:
        table.close()


@pytest.fixture
def topic(headrace_shared_broker: LocalBroker) -> str:
    """A compacted topic with two partitions that no other test knows."""
    return headrace_shared_broker.create_topic(f"table-{next(_numbers)}", 2, cleanup_policy="compact")


def compact(server: LocalBroker, topic: str, partitions: int = 1) -> None:
    """Wait until the cleaner has nothing left to do in the topic."""

    def is_clean(running: Any) -> bool:
        logs = [running.replicas.get(topic, number) for number in range(partitions)]
        return all(running.cleaner.assess(log).dirty_bytes == 0 for log in logs)

    wait_until(lambda: server.call(is_clean), timeout_s=20, message=f"{topic} is clean")
