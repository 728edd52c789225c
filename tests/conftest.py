"""For all tests: real programs of others are used where the machine offers them, and the end says which were not.

A test with `@pytest.mark.peer("kcat")` is skipped when kcat is not here. With HEADRACE_REQUIRE_PEERS=1 (`make conformance`)
it fails instead: there, everything has been installed before.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
if str(PROJECT) not in sys.path:
    sys.path.insert(0, str(PROJECT))

PYTHON_PEERS = {"confluent-kafka": "confluent_kafka", "kafka-python": "kafka", "aiokafka": "aiokafka"}
SPARK_FOLDERS = ("demo", "engine", "examples", "formats", "spark", "streams")
skipped_peers = pytest.StashKey[dict[str, list[str]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[skipped_peers] = {}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Started in the background of a shell; the programs that tests interrupt would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several processes (`-n`), all that needs Spark runs in one of them: its session takes seconds to start and half a gigabyte. So does all that shares a browser."""
    for item in items:
        folder = item.path.relative_to(PROJECT).parts[1] if item.path.is_relative_to(PROJECT / "tests") else ""
        if folder in SPARK_FOLDERS or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
        elif folder == "console":
            item.add_marker(pytest.mark.xdist_group("console"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("peer"):
        (name,) = mark.args
        if _is_present(name):
            continue
        reason = f"{name} is not installed here (`make conformance` installs it)"
        if os.environ.get("HEADRACE_REQUIRE_PEERS") == "1":
            pytest.fail(reason, pytrace=False)
        item.config.stash[skipped_peers].setdefault(name, []).append(item.nodeid)
        pytest.skip(reason)


def _is_present(name: str) -> bool:
    if name in PYTHON_PEERS:
        return importlib.util.find_spec(PYTHON_PEERS[name]) is not None
    from conformance.install import PEERS

    return PEERS[name].present()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    skipped = config.stash[skipped_peers]
    if not skipped:
        return
    terminalreporter.section("not tested with, because not on this machine")
    for name, tests in sorted(skipped.items()):
        terminalreporter.write_line(f"{name}: {len(tests)} tests skipped; `make conformance` installs it and runs them")
