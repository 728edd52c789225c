"""A file system that can lose power: what was not synced may be gone, in whole or in part."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from headrace.fs import Fs


class PowerFs(Fs):
    """Remembers what fsync was asked to keep. Renames, removals and truncations are never lost, as with a journal."""

    __slots__ = ("_names", "_synced")

    def __init__(self) -> None:
        super().__init__()
        self._synced: dict[int, bytes] = {}
        self._names: dict[str, set[str]] = {}

    def fsync(self, fd: int) -> None:
        stat = os.fstat(fd)
        path = os.readlink(f"/proc/self/fd/{fd}")
        if os.path.isdir(path):
            self._names[path] = set(os.listdir(path))
        else:
            self._synced[stat.st_ino] = Path(path).read_bytes()

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        if flags & os.O_CREAT and not os.path.exists(path):
            fd = super().open(path, flags, mode)
            # An inode number may have belonged to a file that is gone.
            self._synced.pop(os.fstat(fd).st_ino, None)
            return fd
        return super().open(path, flags, mode)

    def truncate(self, fd: int, length: int) -> None:
        super().truncate(fd, length)
        inode = os.fstat(fd).st_ino
        if inode in self._synced:
            self._synced[inode] = self._synced[inode][:length]

    def sync_file_system(self, path: str) -> bool:
        return False

    def lose_power(self, folder: Path, random: Random) -> None:
        """Each file falls back to what was synced, or to that and a part of what came after it."""
        known = self._names.get(str(folder), set())
        for path in sorted(folder.iterdir()):
            now = path.read_bytes()
            synced = self._synced.get(path.stat().st_ino)
            if synced is None and path.name not in known and random.random() < 0.5:
                path.unlink()
                continue
            path.write_bytes(_fall_back(now, synced or b"", random))


def _fall_back(now: bytes, synced: bytes, random: Random) -> bytes:
    choice = random.randrange(4)
    if choice == 0:
        return now
    if choice == 1 or not now.startswith(synced):
        return synced
    kept = synced + now[len(synced) : len(synced) + random.randrange(len(now) - len(synced) + 1)]
    # Blocks that were set aside and never written read as zeros.
    return kept if choice == 2 else kept + bytes(len(now) - len(kept))
