"""A process under measurement: when it says how far it is, its clock, CPU and memory are read, children included."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.process_meter import cpu_seconds, jit_cpu_seconds, peak_rss_mb
from conformance.cache import PROJECT

TIMEOUT_S = 600.0


@dataclass(frozen=True)
class Mark:
    """A moment of a process: seconds since its start, CPU seconds so far, those of Java's compiler among them, and records processed."""

    seconds: float
    cpu: float
    jit: float = 0.0
    count: int = 0


@dataclass(frozen=True)
class Marks:
    """The moments of a run: `ready` to begin, `started`, after a `first` part, `done`."""

    ready: Mark
    started: Mark
    first: Mark
    done: Mark
    peak_rss_mb: float

    def measured(self) -> dict[str, float]:
        """Records per second and CPU seconds per million: of the whole run from the query's start on, and warm: without the first part, and
        without Java's compiler, which is busy for a minute whatever it compiles and would be most of a short run.

        What comes before the query, the start of the process, stands alone.
        """
        whole, warm = self.done.count, self.done.count - self.first.count
        jit = self.done.jit - self.first.jit
        return {
            "rate": whole / (self.done.seconds - self.ready.seconds),
            "warm_rate": warm / (self.done.seconds - self.first.seconds),
            "cpu": (self.done.cpu - self.ready.cpu) / whole * 1e6,
            "warm_cpu": (self.done.cpu - self.first.cpu - jit) / warm * 1e6,
            "jit_cpu": self.done.jit,
            "start_cpu": self.ready.cpu,
            "start_s": self.ready.seconds,
            "peak_rss_mb": self.peak_rss_mb,
        }


class ProcessFailed(Exception):
    """The measured process ended before it was done."""


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Marks:
    """Run a process until it is done. It prints marks and waits for the end of its input."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT, env=environment
    )
    assert process.stdout is not None and process.stdin is not None
    # A run that hangs ends; killing Python ends its Java, whose input closes.
    guard = threading.Timer(TIMEOUT_S, process.kill)
    guard.start()
    marks: dict[str, Mark] = {}
    try:
        for line in process.stdout:
            name, _, count = line.strip().partition(" ")
            now = time.perf_counter() - began
            marks[name] = Mark(now, cpu_seconds(process.pid), jit_cpu_seconds(process.pid), int(count or 0))
            if name == "done":
                peak = peak_rss_mb(process.pid)
                process.stdin.close()
                process.wait(60)
                return Marks(
                    marks["ready"], marks["started"], marks.get("first", marks["started"]), marks["done"], peak
                )
        raise ProcessFailed(
            f"{' '.join(command)[:300]} ended with {process.wait()} after {', '.join(marks) or 'nothing'}"
        )
    finally:
        guard.cancel()
        if process.poll() is None:
            process.kill()
            process.wait()
