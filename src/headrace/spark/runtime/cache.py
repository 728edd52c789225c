"""The directory that holds what was downloaded or compiled: `HEADRACE_CACHE`, else the user's cache directory.

    connectors/<artifact>-<revision>.jar    as Maven Central has them, checked by SHA-256
    classes/headrace-<hash>.jar             our Scala, compiled; named after everything that went into it
    archives/<hash>.jsa                     Java's class data, which makes starts faster

Several processes may use it at once: whoever makes something holds the lock of its folder, writes beside it and renames, so a
file under its final name is always whole. Nothing here is precious; deleting all of it costs one `headrace setup`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

Progress = Callable[[str], None]

# What nothing has used for a month belongs to a version that is gone.
UNUSED_S = 30 * 24 * 3600.0


def silent(_: str) -> None:
    """Progress that nobody wants to hear."""


def cache_directory() -> Path:
    given = os.environ.get("HEADRACE_CACHE")
    if given:
        return Path(given).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "headrace"


def folder(name: str) -> Path:
    """A folder of the cache, made for this user alone: what lies there is executed."""
    path = cache_directory() / name
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def exclusive(directory: Path, progress: Progress = silent) -> Iterator[None]:
    """Hold the directory's lock. The kernel releases it when the process ends, however it ends."""
    with (directory / ".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another process that is setting up")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def scratch(directory: Path) -> Iterator[Path]:
    """A directory on the same file system, to write in and rename from; gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix=".making-", dir=directory))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def used(path: Path) -> Path:
    """Note that the file is in use, so that `forget_unused` keeps it. A cache that may only be read is fine."""
    with contextlib.suppress(OSError):
        os.utime(path)
    return path


def forget_unused(directory: Path, pattern: str) -> None:
    """Delete what no start has used for a month. Call it with the directory's lock held."""
    for path in directory.glob(pattern):
        if time.time() - path.stat().st_mtime > UNUSED_S:
            path.unlink()
