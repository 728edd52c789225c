"""File descriptors: what the operating system allows, and what is left for connections.

A log needs its active segment open, so logs come first: near the limit connections are refused, never appends.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable

from headrace.storage.directory import LogDirectory

RESERVE = 200
"""Kept free for rolling segments, checkpoints, threads, the HTTP port and the interpreter."""
FOR_CONNECTIONS = 100
"""Partitions stop this far before the limit, so that somebody can still connect and delete some."""
CACHED_FILES_AT_MOST = 1000


def raise_limit() -> int:
    """Take all the descriptors that this process may have; how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else 1 << 30


def cached_files(limit: int, setting: int, directories: int) -> int:
    """How many inactive files each directory may keep open."""
    return (setting or min(CACHED_FILES_AT_MOST, limit // 10)) // directories


class Descriptors:
    """Counts who holds descriptors. Asks only when somebody wants one."""

    def __init__(self, limit: int, directories: Iterable[LogDirectory], connections: Callable[[], int]) -> None:
        self.limit = limit
        self._pools = [directory.files for directory in directories]
        self._connections = connections

    @property
    def for_files(self) -> int:
        """Open files, and those that the caches may still open."""
        return sum(max(pool.open_count, pool.held_count + pool.limit) for pool in self._pools)

    def refusal(self) -> str | None:
        """Why one more connection would endanger appends."""
        files, connections = self.for_files, self._connections()
        if files + connections + RESERVE < self.limit:
            return None
        return (
            f"of {self.limit} file descriptors logs need {files} and connections hold {connections}; "
            "raise the limit (ulimit -n) or spread partitions over more brokers"
        )

    @property
    def partition_capacity(self) -> int:
        """How many partitions this process can hold, one descriptor each."""
        caches = sum(pool.limit for pool in self._pools)
        return max(0, self.limit - RESERVE - FOR_CONNECTIONS - caches)
