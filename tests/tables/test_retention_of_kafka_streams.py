"""The retention held against the original: Kafka Streams' window and session stores, in memory and in RocksDB, keep the rows that ours do."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

import pytest

from conformance.apache_kafka import LIBS, java_command
from headrace.tables.store import Store
from headrace.tables.windows import SessionWindows, TimeWindows, Windows, session_windowed, time_windowed
from tests.tables.test_retention import opened
from tests.tables.test_stores import KINDS, changes

pytestmark = [pytest.mark.peer("apache-kafka"), pytest.mark.peer("javac"), pytest.mark.timeout(240)]
SOURCE = Path(__file__).parent / "java" / "WindowStores.java"
MINUTE_MS = 60_000  # RocksDB's segments are at least this long, so that shorter retentions would never drop one
Put = tuple[str, int, int, str]


def script(random: Random, retention_ms: int, windows: Windows) -> list[Put]:
    """Puts around a time that moves on, some of them older than the retention, some of them deletions; edges more often than chance has them."""
    puts: list[Put] = []
    newest = 0
    for number in range(random.randrange(1, 40)):
        ages = [0, 1, retention_ms - 1, retention_ms, retention_ms + 1, random.randrange(3 * retention_ms)]
        step = random.choice([0, 1, retention_ms // 2, 2 * retention_ms])
        end = max(0, newest + step - random.choice(ages))
        newest = max(newest, end)
        start = end if isinstance(windows, TimeWindows) else max(0, end - random.choice([0, 1, retention_ms]))
        puts.append((random.choice("abc"), start, end, random.choice(["-", f"v{number}"])))
        if random.random() < 0.2:
            key, start, end, _ = random.choice(puts)
            puts.append((key, start, end, "-"))
    return puts


def rows(store: Store, windows: Windows) -> str:
    found = []
    for key, value in store.scan((b"", None), None)[0]:
        cut = len(key) - windows.suffix_bytes
        start, end = windows.window(key[cut:])
        found.append(
            f"{key[:cut].decode()}/{start}/{start if isinstance(windows, TimeWindows) else end}/{value.decode()}"
        )
    return " ".join(sorted(found))


def ours(kind: str, directory: Path, windows: Windows, retention_ms: int, puts: list[Put], random: Random) -> str:
    """In batches of any size."""
    store = opened(kind, directory, windows, retention_ms)
    try:
        while puts:
            count = random.randrange(1, 10)
            batch, puts = puts[:count], puts[count:]
            pairs: list[tuple[bytes, bytes | None]] = []
            for name, start, end, value in batch:
                time = isinstance(windows, TimeWindows)
                key = time_windowed(name.encode(), start) if time else session_windowed(name.encode(), start, end)
                pairs.append((key, None if value == "-" else value.encode()))
            store.apply(changes(pairs, 1))
        return rows(store, windows)
    finally:
        store.close()


def test_kafka_streams_keeps_the_same_rows(tmp_path: Path) -> None:
    compiled = subprocess.run(
        ["javac", "-nowarn", "-cp", f"{LIBS}/*", "-d", str(tmp_path), str(SOURCE)], capture_output=True, text=True
    )
    assert compiled.returncode == 0, compiled.stderr
    random = Random(1)
    asked: list[tuple[Windows, str, int, list[Put]]] = []
    lines: list[str] = []
    for _ in range(15):
        for windows, name in ((TimeWindows(), "time"), (SessionWindows(), "session")):
            retention_ms = random.choice([MINUTE_MS, 5 * MINUTE_MS])
            puts = script(random, retention_ms, windows)
            for theirs in ("memory", "disk"):
                asked.append((windows, theirs, retention_ms, puts))
                lines += [f"new {name} {theirs} {retention_ms}"]
                lines += [f"put {key} {start} {end} {value}" for key, start, end, value in puts] + ["all"]
    command = java_command("WindowStores", str(tmp_path / "state"), classes=tmp_path)
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    answers = done.stdout.split("\n")[:-1]
    assert len(answers) == len(asked) and any(answers) and not all(answers)
    for number, ((windows, theirs, retention_ms, puts), answer) in enumerate(zip(asked, answers)):
        for kind in KINDS:
            found = ours(kind, tmp_path / f"{number}", windows, retention_ms, puts, random)
            assert found == answer, f"{kind} and Kafka's {theirs}: {windows} kept for {retention_ms} ms after {puts}"
