"""The leader of three registries is killed over and over while four writers register schemas.

Every registration that was acknowledged must be there at the end, on every instance, under the id and version that were acknowledged. No id may stand
for two schemas, at any time; no schema may have two ids or stand twice under a subject.

    python -m tests.faults.registry_kills --rounds 20 --broker headrace kafka
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.testing import broker_process, wait_until
from tests.registry.avro import body, record
from tests.registry.rest import Rest

WRITERS = 4
REGISTRIES = 3
READY_TIMEOUT_S = 120.0


class RegistryProcess:
    """`headrace registry` in a process of its own, on one port over all its lives."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap = bootstrap_servers
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self.url = ""

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "headrace",
            "registry",
            "--json",
            "--stop-with-stdin",
            "--port",
            str(self._port),
        ]
        command += ["--bootstrap-server", self._bootstrap, "--log-level", "error"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the registry ended before it was ready"
        self.url = json.loads(line)["url"]
        self._port = int(self.url.rpartition(":")[2])

    def end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(60)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    @property
    def leading(self) -> bool:
        try:
            return "headrace_registry_leader 1.0" in str(Rest(self.url).get("/metrics").body)
        except OSError:
            return False


@dataclass
class Writer:
    """Registers one schema after the other at any instance, again until it is told an id."""

    name: int
    urls: list[str]
    rng: random.Random
    acknowledged: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    retries: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self.thread = threading.Thread(target=self._run, name=f"writer-{self.name}", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join(120)
        if self.thread.is_alive():
            self.problems.append(f"writer {self.name} did not come to its end")

    def _run(self) -> None:
        number = 0
        while not self.stopped.is_set():
            # Some schemas are every writer's, so that they meet; the others are its own.
            shared = self.rng.random() < 0.3
            name = f"shared{number // 3}" if shared else f"w{self.name}_{number}"
            subject = f"s{self.rng.randrange(5)}"
            self._register(subject, f"{name}?")
            number += 1

    def _register(self, subject: str, name: str) -> None:
        while True:
            try:
                answer = Rest(self.rng.choice(self.urls)).post(f"/subjects/{subject}/versions", body(name))
            except (OSError, ValueError) as error:
                self._again(str(error))
                continue
            if answer.status == 200:
                found = (answer.body["id"], answer.body["version"])
                known = self.acknowledged.setdefault((subject, record(name)), found)
                if known != found:
                    self.problems.append(f"{subject} {name} was {known} and became {found}")
                return
            if answer.status < 500:
                self.problems.append(f"{subject} {name}: {answer.status} {answer.body}")
                return
            self._again(str(answer.body))

    def _again(self, _why: str) -> None:
        self.retries += 1
        time.sleep(0.02)  # paces the retries; nothing is awaited here


def run(rounds: int, seed: int, bootstrap_servers: str) -> dict[str, Any]:
    """Kill and start leaders; the figures, with everything that is wrong under `problems`."""
    started = time.monotonic()
    rng = random.Random(seed)
    with _registries(bootstrap_servers) as registries:
        urls = [each.url for each in registries]
        writers = [Writer(number, urls, random.Random(seed + number)) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        waits = []
        for _ in range(rounds):
            # In the middle of registrations, and not always at the same moment of them.
            wanted = _acknowledged(writers) + rng.randrange(10, 60)
            leader = _leader(registries)
            wait_until(
                lambda wanted=wanted: _acknowledged(writers) >= wanted,  # type: ignore[misc]
                timeout_s=READY_TIMEOUT_S,
                message="registrations go on",
            )
            leader.end(signal.SIGKILL)
            killed = time.monotonic()
            leader.start()
            _leader(registries)
            waits.append(time.monotonic() - killed)
        for writer in writers:
            writer.stop()
        problems = [problem for writer in writers for problem in writer.problems]
        problems += _wrong(registries, writers)
    return {
        "rounds": rounds,
        "acknowledged": _acknowledged(writers),
        "retries": sum(writer.retries for writer in writers),
        "longest_without_leader_s": round(max(waits, default=0.0), 1),
        "seconds": round(time.monotonic() - started, 1),
        "problems": problems,
    }


def _acknowledged(writers: list[Writer]) -> int:
    return sum(len(writer.acknowledged) for writer in writers)


@contextmanager
def _registries(bootstrap_servers: str) -> Iterator[list[RegistryProcess]]:
    registries = [RegistryProcess(bootstrap_servers) for _ in range(REGISTRIES)]
    with ExitStack() as stack:
        for each in registries:
            each.start()
            stack.callback(each.end, signal.SIGTERM)
        yield registries


def _leader(registries: list[RegistryProcess]) -> RegistryProcess:
    return wait_until(
        lambda: next((each for each in registries if each.leading), None),
        timeout_s=READY_TIMEOUT_S,
        message="one leads",
        interval_s=0.1,
    )  # type: ignore[return-value]


def _wrong(registries: list[RegistryProcess], writers: list[Writer]) -> list[str]:
    """What is not as it was acknowledged, on any instance."""
    problems: list[str] = []
    acknowledged: dict[tuple[str, str], tuple[int, int]] = {}
    for writer in writers:
        for key, found in writer.acknowledged.items():
            if acknowledged.setdefault(key, found) != found:
                problems.append(f"{key} was acknowledged as {acknowledged[key]} and as {found}")
    for each in registries:
        # What the leader wrote last takes a moment to reach the others.
        wait_until(lambda each=each: len(_all(each)) >= len(acknowledged), timeout_s=30, message="all is read")  # type: ignore[misc]
        problems += _wrong_on(_all(each), acknowledged)
    pictures = {json.dumps(_all(each), sort_keys=True) for each in registries}
    if len(pictures) > 1:
        problems.append("the instances do not agree")
    return problems


def _all(registry: RegistryProcess) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while page := Rest(registry.url).get(f"/schemas?deleted=true&offset={len(found)}&limit=1000").body:
        found += page
    return found


def _wrong_on(schemas: list[dict[str, Any]], acknowledged: dict[tuple[str, str], tuple[int, int]]) -> list[str]:
    problems = []
    texts_of, ids_of = defaultdict(set), defaultdict(set)
    versions: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for each in schemas:
        texts_of[each["id"]].add(each["schema"])
        ids_of[each["schema"]].add(each["id"])
        versions[each["subject"], each["schema"]].append((each["id"], each["version"]))
    problems += [f"id {id_} stands for {len(texts)} schemas" for id_, texts in texts_of.items() if len(texts) > 1]
    problems += [f"a schema has the ids {sorted(ids)}" for ids in ids_of.values() if len(ids) > 1]
    problems += [f"{key} is there {len(found)} times" for key, found in versions.items() if len(found) > 1]
    for key, found in acknowledged.items():
        if versions.get(key) != [found]:
            problems.append(f"{key} was acknowledged as {found} and is {versions.get(key)}")
    return problems


@contextmanager
def _broker(name: str) -> Iterator[str]:
    if name == "headrace":
        with broker_process() as running:
            yield running.bootstrap_servers
    else:
        from conformance.apache_kafka import apache_kafka

        with apache_kafka() as running:
            yield running.bootstrap_servers


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.registry_kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broker", nargs="+", choices=["headrace", "kafka"], default=["headrace", "kafka"])
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for name in options.broker:
        with _broker(name) as bootstrap_servers:
            figures[name] = run(options.rounds, options.seed, bootstrap_servers)
        print(name, json.dumps(figures[name]), flush=True)
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1))
    sys.exit(any(each["problems"] for each in figures.values()))


if __name__ == "__main__":
    main()
