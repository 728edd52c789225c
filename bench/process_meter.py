"""CPU seconds and memory of a broker process, of its children and of its threads, from /proc and the kernel's clocks."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
# From Linux's posix-timers.h: what makes a clock id of a process id, as clock_getcpuclockid(3) does.
CPUCLOCK_SCHED = 2
# "C2 CompilerThread0" and "C1 CompilerThread0", as far as the kernel keeps names.
JIT_THREADS = ("C1 Compiler", "C2 Compiler")


def cpu_seconds(pid: int) -> float:
    """User and system time of the process, of children it has waited for, and of those still running."""
    return _process_clock(pid) + children_cpu_seconds(pid)


def children_cpu_seconds(pid: int) -> float:
    """Of children it has waited for, and of those still running."""
    while True:
        waited = _waited_cpu_seconds(pid)
        try:
            running = sum(_process_clock(each) + _waited_cpu_seconds(each) for each in _tree(pid)[1:])
        except OSError:
            continue  # One of them ended just now, and is found among those waited for.
        if waited == _waited_cpu_seconds(pid):
            return waited + running


def thread_cpu_seconds(pid: int, name: str) -> float:
    """Of the only thread with that name, which the kernel knows by 15 characters at most."""
    shown = {name[:15], f"{name[:7]}..{name[-6:]}"}  # Cut off, or shortened as the JVM does it.
    threads = [thread for thread in _threads(pid) if _read(thread / "comm").strip() in shown]
    if len(threads) != 1:
        raise LookupError(f"process {pid} has {len(threads)} threads called {name}")
    return int((threads[0] / "schedstat").read_text().split()[0]) / 1e9


def jit_cpu_seconds(pid: int) -> float:
    """Of the threads that compile Java's code, over the whole process tree."""
    return sum(
        int(_read(thread / "schedstat").split()[0] or 0) / 1e9
        for each in _tree(pid)
        for thread in _threads(each)
        if _read(thread / "comm").startswith(JIT_THREADS)
    )


def _process_clock(pid: int) -> float:
    """All threads of the process, to the nanosecond; /proc/PID/stat would say it in ticks of 10 ms."""
    return time.clock_gettime(~pid << 3 | CPUCLOCK_SCHED)


def _waited_cpu_seconds(pid: int) -> float:
    return sum(int(field) for field in _stat(Path(f"/proc/{pid}"))[13:15]) / TICKS


def _stat(folder: Path) -> list[str]:
    # The command name stands in parentheses and may hold spaces; the numbers follow the last one.
    return (folder / "stat").read_text().rpartition(")")[2].split()


def rss_mb(pid: int) -> float:
    """Memory in use now, over the whole process tree."""
    return sum(_status_kb(each, "VmRSS") for each in _tree(pid)) / 1024


def children_rss_mb(pid: int) -> float:
    """Memory in use now by the processes that it started, without its own."""
    return rss_mb(pid) - _status_kb(pid, "VmRSS") / 1024


def peak_rss_mb(pid: int) -> float:
    return sum(_status_kb(each, "VmHWM") for each in _tree(pid)) / 1024


def _status_kb(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    return 0


def _tree(pid: int) -> list[int]:
    """The process and those that it started, from whichever of its threads."""
    children = [child for thread in _threads(pid) for child in _read(thread / "children").split()]
    return [pid, *(each for child in children for each in _tree(int(child)))]


def _threads(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/task").iterdir())


def _read(path: Path) -> str:
    """Nothing, if the thread has ended meanwhile."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


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
