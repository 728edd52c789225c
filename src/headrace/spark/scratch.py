"""The temporary directory of one session: Spark's scratch files, its logs, state stores at work. Gone when the session stops.

A process that is killed leaves its directory behind. Each holds a locked file, and the kernel gives up locks of the dead, so the
next session finds such directories and removes them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO

_PREFIX = "headrace-session-"


class Scratch:
    def __init__(self) -> None:
        remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = (self.path / ".lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        for name in ("local", "java"):
            (self.path / name).mkdir()

    def remove(self) -> None:
        # Java may still be writing its last words while it ends; what it makes after this is found by the next session.
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def remove_abandoned() -> None:
    """Remove the directories of this user whose process is gone."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if path.stat().st_uid != os.getuid():
                continue
            with (path / ".lock").open("r+") as lock:
                if _lock_is_free(lock):
                    shutil.rmtree(path, ignore_errors=True)
        except OSError:
            # Another process is making or removing it at this moment; it is not ours to judge.
            continue


def _lock_is_free(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
