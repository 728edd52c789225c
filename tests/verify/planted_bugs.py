"""Brokers with one bug each, planted from outside: a function of the broker replaced by one that is almost right.

Each is a context manager; brokers that are started in this process inside of it have the bug.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from headrace.broker import markers
from headrace.broker.api import fetch
from headrace.broker.group_shard import GroupShard
from headrace.broker.verification import Verifications
from headrace.coordinator.transactions import checks
from headrace.replica.partition import Partition
from headrace.storage.producers import Producers
from headrace.storage.reservation import Appended

Bug = Callable[[], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def _in_place(owner: Any, name: str, replacement: Any) -> Iterator[None]:
    with patch.object(owner, name, replacement):
        yield


def acknowledges_what_it_does_not_write() -> contextlib.AbstractContextManager[None]:
    """Every twentieth batch of a client is answered and forgotten."""
    append, seen = Partition.append, [0]

    def forgetful(
        self: Partition, batch: memoryview, now_ms: int, origin: str = "client", *more: Any, **named: Any
    ) -> Any:
        seen[0] += origin == "client"
        if origin == "client" and seen[0] % 20 == 0:
            end = self.log.log_end_offset
            return Appended(end, end, -1, self.log.log_start_offset, False, False)
        return append(self, batch, now_ms, origin, *more, **named)  # type: ignore[arg-type]

    return _in_place(Partition, "append", forgetful)


def forgets_sequence_numbers() -> contextlib.AbstractContextManager[None]:
    """A batch that is sent again is appended again."""
    return _in_place(Producers, "judge", lambda self, header, offset: None)


def shows_open_transactions() -> contextlib.AbstractContextManager[None]:
    """The last stable offset does not wait for open transactions."""
    return _in_place(Partition, "last_stable_offset", property(lambda self: self.high_watermark))


def names_no_aborted_transactions() -> contextlib.AbstractContextManager[None]:
    """read_committed readers are not told what to leave out."""
    return _in_place(fetch, "_aborted", lambda log, offset, records, nowait: [])


def aborts_one_partition_of_a_commit() -> contextlib.AbstractContextManager[None]:
    """In partition 1 every marker says abort."""
    write = markers._Marker.write

    def confused(self: Any, topic: str, index: int) -> Any:
        commit, self.commit = self.commit, self.commit and index != 1
        try:
            return write(self, topic, index)
        finally:
            self.commit = commit

    return _in_place(markers._Marker, "write", confused)


def commits_offsets_of_aborted_transactions() -> contextlib.AbstractContextManager[None]:
    """The offsets of a transaction count however it ended."""
    on_marker = GroupShard.on_marker
    return _in_place(GroupShard, "on_marker", lambda self, producer_id, commit: on_marker(self, producer_id, True))


def leaves_out_offsets() -> contextlib.AbstractContextManager[None]:
    """The offsets of a transaction never count."""
    on_marker = GroupShard.on_marker
    return _in_place(GroupShard, "on_marker", lambda self, producer_id, commit: on_marker(self, producer_id, False))


@contextlib.contextmanager
def fences_nobody() -> Iterator[None]:
    """A producer that was taken over is taken for its successor."""

    def trusting(check: Callable[..., Any]) -> Callable[..., Any]:
        def judge(entry: Any, producer: Any, *more: Any, **named: Any) -> Any:
            if entry is not None:
                producer = replace(producer, epoch=entry.current.producer_epoch)
            return check(entry, producer, *more, **named)

        return judge

    with contextlib.ExitStack() as planted:
        for name in ("add", "verify", "end_without_bump"):
            planted.enter_context(patch.object(checks, name, trusting(getattr(checks, name))))
        planted.enter_context(forgets_sequence_numbers())
        for owner, name in ((Producers, "check"), (Verifications, "begin"), (Verifications, "check")):
            planted.enter_context(patch.object(owner, name, lambda *_, **__: None))
        yield


@contextlib.contextmanager
def loses_a_partition_of_a_transaction() -> Iterator[None]:
    """No marker is ever written into partition 1, and nobody is told."""
    write = markers._Marker.write

    def lazy(self: Any, topic: str, index: int) -> Any:
        return markers.ErrorCode.NONE if topic.endswith("-source") and index == 1 else write(self, topic, index)

    with patch.object(markers._Marker, "write", lazy):
        yield
