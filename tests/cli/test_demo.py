"""The demo: deterministic events, and the whole of it on a broker of its own and on one that runs."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from headrace.cli.demo.events import FEEDS, stream
from headrace.cli.output import sparkline
from tests.cli.conftest import Run

Spawn = Callable[..., subprocess.Popen[bytes]]


def test_the_same_seed_gives_the_same_events() -> None:
    def some(seed: int) -> list[object]:
        return [
            (feed.topic, event)
            for step in itertools.islice(stream(seed, start_ms=1_700_000_000_000, step_ms=50), 100)
            for feed, event in step
        ]

    assert some(7) == some(7)
    assert some(7) != some(8)


def test_rates_are_about_what_they_should_be_and_events_are_json() -> None:
    counts: Counter[str] = Counter()
    for step in itertools.islice(stream(1, start_ms=0, step_ms=50), 1200):
        for feed, event in step:
            counts[feed.topic] += 1
            assert json.loads(json.dumps(event.value)) == event.value
            assert event.key
            assert event.headers["source"]
    for feed in FEEDS:
        assert 0.7 < counts[feed.topic] / (feed.rate * 60) < 2.5


def test_on_a_running_broker(cli: Run) -> None:
    outcome = cli("demo", "--seconds", "3", "--json")
    assert outcome.code == 0, outcome.err
    *samples, summary = outcome.json_lines
    assert len(samples) >= 3
    assert summary["sent"] > 100
    assert summary["failed"] == 0
    assert {feed.topic for feed in FEEDS} == set(summary["topics"])
    assert sum(topic["records"] for topic in summary["topics"].values()) >= summary["sent"]


def test_on_a_broker_of_its_own_until_ctrl_c(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn("demo", "--port", "0", "--data-dir", "d", with_broker=False)
    assert process.stdout is not None
    assert "earthquakes" in process.stdout.readline().decode()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    assert "Started a broker at" in err.decode()
    assert "events sent and acknowledged" in out.decode()
    assert "headrace broker --data-dir d" in out.decode()
    assert (tmp_path / "d" / ".kafka_cleanshutdown").exists(), "its broker was stopped cleanly"


def test_a_broker_that_is_asked_for_must_be_there(run: Run) -> None:
    assert run("demo", "-b", "127.0.0.1:1", "--seconds", "1").code == 1


def test_sparklines() -> None:
    assert sparkline([0, 1, 2, 4]) == "▁▃▅█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""
