"""A runner that does what a test tells it."""

from __future__ import annotations

import threading
from typing import Any

from headrace.engine.record import PipelineRecord


class ScriptedRunning:
    def __init__(self, record: PipelineRecord) -> None:
        self.record = record
        self.error: Exception | None = None
        self.told: dict[str, str] = {}
        self.stopped = threading.Event()
        self.may_stop = threading.Event()
        self.may_stop.set()

    def stop(self) -> None:
        self.may_stop.wait(10)
        self.stopped.set()

    def progress(self) -> dict[str, Any]:
        late = {"step": "count", "partition": "in-1", "records": 3, "behind_ms": 60_000}
        return {
            "rows_in": 1,
            "late": 3,
            "dropped": 2,
            "late_partitions": [late],
            "warnings": ["late: 3 records of in-1"],
        }

    def warnings(self) -> dict[str, str]:
        return self.told

    def exception(self) -> Exception | None:
        return self.error


class ScriptedRunner:
    def __init__(self) -> None:
        self.runs: list[ScriptedRunning] = []
        self.refusals: list[Exception] = []
        self.open_failures: list[Exception] = []
        self.is_alive = True
        self.opened = 0
        self.closed = 0
        self.forgotten: list[PipelineRecord] = []
        self.may_run = threading.Event()
        self.may_run.set()

    def open(self) -> None:
        if self.open_failures:
            raise self.open_failures.pop()
        self.opened += 1
        self.is_alive = True

    def run(self, record: PipelineRecord) -> ScriptedRunning:
        self.may_run.wait(10)
        if self.refusals:
            raise self.refusals.pop()
        self.runs.append(ScriptedRunning(record))
        return self.runs[-1]

    def alive(self) -> bool:
        return self.is_alive

    def forget(self, record: PipelineRecord) -> None:
        self.forgotten.append(record)

    def close(self) -> None:
        self.closed += 1
