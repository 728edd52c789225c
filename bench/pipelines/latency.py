"""Part two: how long after `produce` a consumer sees what came of a record, at a thousand records a second."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.pipelines.backlog import Topics
from bench.process_meter import cpu_seconds
from conformance.cache import PROJECT
from headrace.spark.pipeline_settings import PipelineSettings

RATE = 1_000
REHEARSAL_S = 40
"""Before the measured pipeline another runs in the same process, in batches of five seconds: an engine lives for weeks, and the first ends of a batch in the
life of a Java take two seconds, later ones half of one."""
WARM_UP_S = 20
MEASURED_S = 60
BATCH_S = PipelineSettings.real_time_batch_ms // 1000
"""Real-time mode is measured for as long as one of its batches: the moment when one ends and the next begins is in every measurement."""
TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Latency:
    """A job that runs while records come."""

    name: str
    job: str
    title: str
    guarantee: str
    measured_s: int = MEASURED_S
    systems: tuple[str, ...] = ("headrace",)
    runs: int = 1

    def measure(self, topics: Topics, system: str) -> dict[str, float]:
        folder = Path(tempfile.mkdtemp(prefix="bench-latency-"))
        events, output, *rehearsal = (
            topics.create(f"bench-{name}", 1) for name in ("latency-in", "latency-out", "rehearsal-in", "rehearsal-out")
        )
        where = {
            "name": f"{self.name}-{system}",
            "system": system,
            "job": self.job,
            "bootstrap_servers": topics.bootstrap_servers,
            "checkpoints": str(folder / "checkpoints"),
            "events": events,
            "users": topics.users(),
            "output": output,
            "count": 0,
            "settings": {"guarantee": self.guarantee, "real_time": True},
            "rehearsal": {"name": f"{self.name}-rehearsal", "events": rehearsal[0], "output": rehearsal[1]},
        }
        try:
            with _pipeline(where) as pipeline:
                _rehearse(pipeline, topics.bootstrap_servers, self.job, rehearsal[0])
                return self._load(topics.bootstrap_servers, events, output, folder, pipeline.pid)
        finally:
            topics.delete(events, output, *rehearsal)
            shutil.rmtree(folder, ignore_errors=True)

    def _load(self, bootstrap_servers: str, events: str, output: str, folder: Path, pid: int) -> dict[str, float]:
        sent, seen = folder / "sent", folder / "seen"
        reader = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "bench.pipelines.latency_client",
                "consume",
                bootstrap_servers,
                output,
                self.job,
                str(seen),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
        )
        assert reader.stdin is not None and reader.stdout is not None
        try:
            reader.stdout.readline()
            seconds = WARM_UP_S + self.measured_s
            before, began = cpu_seconds(pid), time.monotonic()
            _produce(bootstrap_servers, events, self.job, seconds, sent)
            cores = (cpu_seconds(pid) - before) / (time.monotonic() - began)
            time.sleep(2)  # for what is on its way
            reader.stdin.close()
            reader.wait(TIMEOUT_S)
        finally:
            if reader.poll() is None:
                reader.kill()
                reader.wait()
        return {**quantiles(times(sent.read_text()), times(seen.read_text())), "cores": cores}


@contextmanager
def _pipeline(where: Mapping[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """The process, which has not said anything yet."""
    command = [sys.executable, "-m", "bench.pipelines.spark_process", json.dumps(where)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT)
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process
        process.stdin.close()
        process.wait(TIMEOUT_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _rehearse(pipeline: subprocess.Popen[str], bootstrap_servers: str, job: str, events: str) -> None:
    assert pipeline.stdin is not None
    _await_mark(pipeline, "rehearsing")
    with tempfile.NamedTemporaryFile() as sent:
        _produce(bootstrap_servers, events, job, REHEARSAL_S, Path(sent.name))
    pipeline.stdin.write("\n")
    pipeline.stdin.flush()
    _await_mark(pipeline, "started")


def _await_mark(pipeline: subprocess.Popen[str], mark: str) -> None:
    assert pipeline.stdout is not None
    if not any(line.strip() == mark for line in iter(pipeline.stdout.readline, "")):
        raise RuntimeError(f"the pipeline ended with {pipeline.wait()}")


def _produce(bootstrap_servers: str, events: str, job: str, seconds: int, sent: Path) -> None:
    command = [sys.executable, "-m", "bench.pipelines.latency_client", "produce", bootstrap_servers, events, job]
    arguments = [str(RATE), str(seconds), str(sent)]
    subprocess.run([*command, *arguments], check=True, timeout=seconds + TIMEOUT_S, cwd=PROJECT)


def times(text: str) -> dict[str, int]:
    """Lines of identity and nanoseconds; the first of each counts, because at least once may say it again."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        identity, _, moment = line.rpartition(" ")
        found.setdefault(identity, int(moment))
    return found


def quantiles(sent: Mapping[str, int], seen: Mapping[str, int], warm_up_s: float = WARM_UP_S) -> dict[str, float]:
    """Milliseconds from sent to seen, of what was sent after the warm-up. What was never seen is an error."""
    begin = min(sent.values()) + warm_up_s * 1e9
    wanted = [identity for identity, moment in sent.items() if moment >= begin]
    lost = [identity for identity in wanted if identity not in seen]
    if lost:
        raise RuntimeError(f"{len(lost)} of {len(wanted)} records did not come out, {lost[0]} among them")
    waited = [(seen[identity] - sent[identity]) / 1e6 for identity in wanted]
    cuts = statistics.quantiles(waited, n=100)
    return {"p50_ms": cuts[49], "p99_ms": cuts[98], "max_ms": max(waited)}


CASES = (
    Latency("latency-map", "map", "map", "at_least_once", BATCH_S),
    Latency("latency-count", "count", "10 s windowed count of 1,000 keys", "at_least_once", BATCH_S),
    Latency("latency-join", "join", "stream-table join", "at_least_once", BATCH_S),
    Latency("latency-map-eos", "map", "map, exactly once", "exactly_once"),
    Latency("latency-count-eos", "count", "10 s windowed count, exactly once", "exactly_once"),
)
