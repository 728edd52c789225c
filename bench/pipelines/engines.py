"""Part three: an engine as a process, `headrace engine`: how long it takes to start, and what twenty pipelines cost that wait for records."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.pipelines import records, topologies
from bench.pipelines.backlog import Topics
from bench.process_meter import children_rss_mb, cpu_seconds
from conformance.cache import PROJECT, free_port
from headrace import client
from headrace.engine.http_client import RemoteEngine
from headrace.plan.engine import PipelineState, Submission
from headrace.spark.pipeline_settings import PipelineSettings
from headrace.streams import App

PIPELINES = 20
COUNTS = 5
"""So many of them are windowed counts, the others maps."""
TRAFFIC = 2_000
"""Records for each of them before it is left alone."""
SETTLE_S = 20.0
IDLE_S = PipelineSettings.real_time_batch_ms / 1000
"""So that every pipeline ends a batch and begins the next once."""
TIMEOUT_S = 180.0
_POLL_S = 0.01


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """The engine's own, of all starts: one that comes back is known to its group, where another would wait until the first is given up."""
    return tempfile.TemporaryDirectory(prefix="bench-engine-", ignore_cleanup_errors=True)


@contextmanager
def engine(bootstrap_servers: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """An engine that is started, and its address. It may not be ready yet."""
    port = free_port()
    program = str(Path(sys.executable).parent / "headrace")
    where = ["--bootstrap-server", bootstrap_servers, "--port", str(port), "--data-dir", _folder().name]
    process = subprocess.Popen([program, "engine", *where], stdout=subprocess.DEVNULL, cwd=PROJECT)
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_healthy(process: subprocess.Popen[bytes], url: str) -> None:
    """Until it says that pipelines run: Spark is up, and the pipelines of the cluster are its own."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the engine ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(_POLL_S)
    raise TimeoutError(f"the engine at {url} is not healthy after {TIMEOUT_S:.0f} s")


@dataclass(frozen=True)
class EngineStart:
    """From the process's start until it says that it is well."""

    name: str = "engine-start"
    title: str = "start of an engine"
    systems: tuple[str, ...] = ("headrace",)
    runs: int = 5

    def measure(self, topics: Topics, _system: str) -> dict[str, float]:
        began = time.perf_counter()
        with engine(topics.bootstrap_servers) as (process, url):
            wait_until_healthy(process, url)
            return {"start_s": time.perf_counter() - began, "start_cpu": cpu_seconds(process.pid)}


@dataclass(frozen=True)
class Idle:
    """Twenty pipelines in real-time mode after some traffic."""

    name: str = "idle"
    title: str = "20 pipelines in real-time mode, nothing to do"
    systems: tuple[str, ...] = ("headrace",)
    runs: int = 1

    def measure(self, topics: Topics, _system: str) -> dict[str, float]:
        inputs = [topics.create("bench-idle-in", 1) for _ in range(PIPELINES)]
        outputs = [topics.create("bench-idle-out", 1) for _ in range(PIPELINES)]
        try:
            with engine(topics.bootstrap_servers) as (process, url):
                wait_until_healthy(process, url)
                names = _submit(RemoteEngine(url), topics.bootstrap_servers, inputs, outputs)
                try:
                    _traffic(topics.bootstrap_servers, inputs)
                    _wait_for_output(topics, outputs)
                    return _watch(process.pid)
                finally:
                    for name in names:
                        RemoteEngine(url).stop(name)
        finally:
            topics.delete(*inputs, *outputs)


def _submit(remote: RemoteEngine, bootstrap_servers: str, inputs: list[str], outputs: list[str]) -> list[str]:
    names = []
    for number, (source, target) in enumerate(zip(inputs, outputs, strict=True)):
        app = App(f"bench-idle-{number}", bootstrap_servers=bootstrap_servers)
        topologies.JOBS["count" if number < COUNTS else "map"](app, source, "", target)
        remote.submit(Submission(app.plan()))
        names.append(app.name)
    deadline = time.monotonic() + TIMEOUT_S
    while any(remote.status(name).state is not PipelineState.RUNNING for name in names):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not all pipelines run: {[remote.status(name) for name in names]}")
        time.sleep(0.5)
    return names


def _traffic(bootstrap_servers: str, topics: list[str]) -> None:
    producer = client.producer(bootstrap_servers)
    for number in range(TRAFFIC):
        for topic in topics:
            producer.produce(topic, records.event(number), records.key(records.user_of(number)))
        producer.poll(0)
    producer.flush(60)


def _wait_for_output(topics: Topics, outputs: list[str]) -> None:
    """Every pipeline has answered: a count with an update for each record, a map with what passes its filter."""
    deadline = time.monotonic() + TIMEOUT_S
    for number, topic in enumerate(outputs):
        wanted = TRAFFIC if number < COUNTS else TRAFFIC * 9 // 10
        while (count := topics.count(topic)) < wanted:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic} has {count} records, not {wanted}")
            time.sleep(0.2)


def _watch(pid: int) -> dict[str, float]:
    time.sleep(SETTLE_S)
    before, began = cpu_seconds(pid), time.monotonic()
    time.sleep(IDLE_S)
    cores = (cpu_seconds(pid) - before) / (time.monotonic() - began)
    return {"cores": cores, "jvm_rss_mb": children_rss_mb(pid)}


CASES = (EngineStart(), Idle())
