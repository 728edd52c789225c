"""The temporary directory of one session: Spark's scratch files, its logs, state stores at work. Gone when the session stops.

A process that is killed leaves its directory behind. Each holds a locked file, and the kernel gives up locks of the dead, so the
next session finds such directories and removes them. Whoever has the lock of a directory decides about it: a session uses one only with
the lock in hand, and another session may have taken it in the moment between.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import IO

_PREFIX = "headrace-session-"
_LOCK = ".lock"
# A directory has no lock for the moment in which it is made; one that has none for this long lost its session, or was written to by a
# Java that ended after it was removed.
LOCKLESS_S = 3600


class Scratch:
    def __init__(self) -> None:
        remove_abandoned()
        self.path, self._lock = _locked_directory()
        for name in ("local", "java"):
            (self.path / name).mkdir()

    def remove(self) -> None:
        # Java may still be writing its last words while it ends; what it makes after this is found by a later session.
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def _locked_directory() -> tuple[Path, IO[str]]:
    """A new directory and its lock, held. One that a cleaner took for abandoned before it was locked is left to the cleaner."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        try:
            lock = (path / _LOCK).open("w")
        except FileNotFoundError:
            continue
        if _lock_is_free(lock) and _is_there(path / _LOCK, lock):
            return path, lock
        lock.close()


def _is_there(path: Path, file: IO[str]) -> bool:
    """Whether the open file is still the one of this name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def remove_abandoned() -> None:
    """Remove the directories of this user whose process is gone."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if path.stat().st_uid != os.getuid():
                continue
            if not (path / _LOCK).exists():
                if time.time() - path.stat().st_mtime > LOCKLESS_S:
                    shutil.rmtree(path, ignore_errors=True)
                continue
            with (path / _LOCK).open("r+") as lock:
                if _lock_is_free(lock):
                    shutil.rmtree(path, ignore_errors=True)
        except OSError:
            # Another process is making or removing it at this moment; it is not ours to judge.
            continue


def _lock_is_free(lock: IO[str]) -> bool:
    """Whether nobody has the lock; then it is ours."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
