"""A session's directory while others clean up: it is taken by nobody from the moment the session has it, and none stays behind."""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

import pytest

from headrace.spark import scratch
from headrace.spark.scratch import LOCKLESS_S, Scratch, remove_abandoned


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_cleaner_between_making_and_locking(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    """It finds a lock that nobody holds yet, and removes the directory; the session takes another one."""
    flock, cleaned = fcntl.flock, threading.Event()

    def flock_after_a_cleaner(file: Any, operation: int) -> None:
        if not cleaned.is_set():
            cleaned.set()
            remove_abandoned()
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock_after_a_cleaner)
    made = Scratch()
    assert cleaned.is_set()
    assert (made.path / "local").is_dir() and (made.path / ".lock").exists()
    remove_abandoned()
    assert (made.path / "java").is_dir()
    made.remove()
    assert not list(temporary.iterdir())


def test_a_cleaner_that_has_the_lock_when_the_session_wants_it(
    monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    is_free, cleaners = scratch._lock_is_free, []

    def is_free_unless_taken(lock: IO[str]) -> bool:
        if not cleaners:
            cleaners.append(os.open(lock.name, os.O_RDWR))
            fcntl.flock(cleaners[0], fcntl.LOCK_EX)
        return is_free(lock)

    monkeypatch.setattr(scratch, "_lock_is_free", is_free_unless_taken)
    made = Scratch()
    os.close(cleaners[0])
    assert len(list(temporary.iterdir())) == 2, "the first is the cleaner's"
    remove_abandoned()
    assert list(temporary.iterdir()) == [made.path]
    made.remove()


def test_many_sessions_that_come_and_go(temporary: Path) -> None:
    problems: list[str] = []

    def come_and_go() -> None:
        for _ in range(40):
            made = Scratch()
            remove_abandoned()
            if not ((made.path / "local").is_dir() and (made.path / ".lock").exists()):
                problems.append(str(made.path))
            made.remove()

    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    remove_abandoned()
    assert not problems and not list(temporary.iterdir())


def test_a_directory_without_a_lock_goes_when_it_is_old(temporary: Path) -> None:
    """What Java wrote after its session had removed the directory, or a session that was killed before it had a lock."""
    new, old = temporary / "headrace-session-new", temporary / "headrace-session-old"
    for path in (new, old):
        path.mkdir()
        (path / "last words").touch()
    past = time.time() - LOCKLESS_S - 10
    os.utime(old, (past, past))
    remove_abandoned()
    assert list(temporary.iterdir()) == [new]
