"""A runner that does what a test tells it."""

from __future__ import annotations

import threading
from typing import Any

from headrace.engine.record import PipelineRecord


class ScriptedRunning:
    def __init__(self, record: PipelineRecord) -> None:
        self.record = record
        self.error: Exception | None = None
        self.stopped = threading.Event()
        self.may_stop = threading.Event()
        self.may_stop.set()

    def stop(self) -> None:
        self.may_stop.wait(10)
        self.stopped.set()

    def progress(self) -> dict[str, Any]:
        return {"rows_in": 1}

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
