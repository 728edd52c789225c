"""CPU seconds and memory of a broker process and its children, from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of the process, of children it has waited for, and of those still running."""
    return sum(_own_cpu_seconds(each) for each in _tree(pid))


def _own_cpu_seconds(pid: int) -> float:
    # The command name stands in parentheses and may hold spaces; the numbers follow the last one.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / TICKS


def rss_mb(pid: int) -> float:
    """Memory in use now, over the whole process tree."""
    return sum(_status_kb(each, "VmRSS") for each in _tree(pid)) / 1024


def peak_rss_mb(pid: int) -> float:
    return sum(_status_kb(each, "VmHWM") for each in _tree(pid)) / 1024


def _status_kb(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    return 0


def _tree(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in _tree(int(child)))]


@dataclass
class CpuMeter:
    """`with CpuMeter(pid) as meter: ...` then `meter.seconds`."""

    pid: int
    seconds: float = 0.0

    def __enter__(self) -> CpuMeter:
        self._start = cpu_seconds(self.pid)
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = cpu_seconds(self.pid) - self._start
