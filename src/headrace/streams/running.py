"""An app that runs: on an engine that was given, on one that answers, or on one in this process."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from headrace.plan.engine import Engine, EngineError, Guarantee, PipelineState, PipelineStatus, Submission
from headrace.plan.expressions import PythonCall, walk
from headrace.plan.plan import Plan
from headrace.plan.python_code import LOCAL
from headrace.plan.steps import Process

DEFAULT_ENGINE = "http://127.0.0.1:8084"


class RunningApp:
    """The app on its engine. As a context manager it is stopped at the end."""

    def __init__(self, engine: Engine, name: str, owns_engine: bool) -> None:
        self.engine = engine
        self.name = name
        self._owns_engine = owns_engine
        self._stopped = threading.Event()

    @property
    def holds_its_engine(self) -> bool:
        """Whether the engine is the app's own, and ends with it."""
        return self._owns_engine

    def status(self) -> PipelineStatus:
        """What the app does at the moment."""
        return self.engine.status(self.name)

    def progress(self) -> Mapping[str, Any]:
        """Rates, latency, lag, watermark, state, late and bad records."""
        return self.engine.progress(self.name)

    def wait_until_running(self, timeout_s: float = 120.0) -> RunningApp:
        """Wait until all its queries run; `EngineError` says why they do not."""
        deadline = time.monotonic() + timeout_s
        while (status := self.status()).state is not PipelineState.RUNNING:
            if status.state is PipelineState.FAILED or time.monotonic() >= deadline:
                raise EngineError(
                    f"{self.name!r} does not run (it is {status.state}): {status.error or 'nothing was reported'}"
                )
            self._stopped.wait(0.1)
        return self

    def wait(self) -> None:
        """Wait until the app is stopped by somebody."""
        while not self._stopped.wait(1.0):
            if self.name not in {status.name for status in self.engine.pipelines()}:
                return

    def stop(self) -> None:
        """End the app. Its topics and its state stay, so that it goes on where it was when it is started again."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        try:
            self.engine.stop(self.name)
        finally:
            if self._owns_engine:
                self.engine.close()

    def __enter__(self) -> RunningApp:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(
    plan: Plan,
    bootstrap_servers: str,
    kafka: Mapping[str, str],
    guarantee: Guarantee,
    engine: Engine | str | None,
    settings: Mapping[str, str],
) -> RunningApp:
    """Submit a plan."""
    chosen, owned = _engine(plan, bootstrap_servers, kafka, engine)
    try:
        chosen.submit(Submission(plan, guarantee, settings))
    except BaseException:
        if owned:
            chosen.close()
        raise
    return RunningApp(chosen, plan.name, owned)


def _engine(
    plan: Plan, bootstrap_servers: str, kafka: Mapping[str, str], engine: Engine | str | None
) -> tuple[Engine, bool]:
    """The engine to use, and whether it is this app's own."""
    if engine is not None and not isinstance(engine, str):
        return engine, False
    local = [reference for reference in references(plan) if reference.startswith(LOCAL)]
    if engine is not None or not local:
        remote = import_module("headrace.engine.http_client").RemoteEngine(engine or DEFAULT_ENGINE)
        if engine is not None and local:
            raise EngineError(
                f"the plan has functions that exist in this process only ({', '.join(local)}): move them to a module that the engine "
                "can import, or start the app without an engine so that it holds its own"
            )
        if engine is not None or remote.reachable():
            return remote, False
    return _own_engine(plan.name, bootstrap_servers, kafka), True


def _own_engine(name: str, bootstrap_servers: str, kafka: Mapping[str, str]) -> Engine:
    """An engine for this app alone. It comes by name, so that this package can be imported without Spark and HTTP."""
    settings = import_module("headrace.engine.settings").EngineSettings(
        bootstrap_servers=bootstrap_servers,
        data_dir=f"headrace-engine/apps/{name}",
        python_modules=None,
        embedded=True,
        kafka=dict(kafka),
    )
    engine: Any = import_module("headrace.engine.service").LocalEngine(settings)
    engine.start()
    return cast(Engine, engine)


def references(plan: Plan) -> list[str]:
    """The Python code that a plan uses."""
    found = [node.reference for step in plan.steps for node in _expressions(step) if isinstance(node, PythonCall)]
    found += [step.processor for step in plan.steps if isinstance(step, Process)]
    return sorted(set(found))


def _expressions(node: Any) -> Any:
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if dataclasses.is_dataclass(part) and not isinstance(part, type):
                yield from walk(part)
                yield from _expressions(part)
