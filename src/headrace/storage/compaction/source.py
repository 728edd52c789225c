"""The batches of a closed segment's file, read in large pieces and at no more than a given pace."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from headrace.fs import Fs
from headrace.storage.batches import HEADER_SIZE, MIN_BATCH_LENGTH, CorruptLog
from headrace.wire.batch import MAGIC, BatchHeader, check_crc, read_header
from headrace.wire.compression import decompress

_CHUNK = 1024 * 1024


class Pace:
    """Bytes per second, read and written together. Sleeps as soon as it is ahead."""

    def __init__(self, bytes_per_second: float) -> None:
        self._rate = bytes_per_second
        self._begin = time.monotonic()
        self._bytes = 0

    def spend(self, count: int) -> None:
        self._bytes += count
        ahead = self._bytes / self._rate - (time.monotonic() - self._begin)
        if ahead > 0.005:
            time.sleep(ahead)
        elif ahead < -1.0:
            # Time that was not used is not saved up.
            self._begin, self._bytes = time.monotonic(), 0


class SourceBatch:
    """One batch where it lies in a piece of the file."""

    __slots__ = ("at", "header", "piece")

    def __init__(self, piece: bytes, at: int, header: BatchHeader) -> None:
        self.piece = piece
        self.at = at
        self.header = header

    def view(self) -> memoryview:
        return memoryview(self.piece)[self.at : self.at + self.header.size]

    def check(self) -> None:
        """What is written anew gets a new checksum: it must not cover up for a wrong one."""
        if not check_crc(self.piece, self.at):
            raise CorruptLog(f"the CRC of the batch at offset {self.header.base_offset} does not match its bytes")

    def records(self) -> tuple[bytes, int, int]:
        """Data in the clear, and where in it the records begin and end."""
        begin, end = self.at + HEADER_SIZE, self.at + self.header.size
        if not self.header.codec:
            return self.piece, begin, end
        data = bytes(decompress(self.header.codec, memoryview(self.piece)[begin:end]))
        return data, 0, len(data)


def read_batches(fs: Fs, path: str, size: int, pace: Pace) -> Iterator[SourceBatch]:
    """All batches in the first `size` bytes; CorruptLog where there is something else."""
    fd = fs.open(path, os.O_RDONLY)
    try:
        position, wanted = 0, _CHUNK
        while position < size:
            piece = fs.pread(fd, min(wanted, size - position), position)
            pace.spend(len(piece))
            at, wanted = 0, _CHUNK
            while at + HEADER_SIZE <= len(piece):
                header = read_header(piece, at)
                if header.magic != MAGIC or header.batch_length < MIN_BATCH_LENGTH or header.last_offset_delta < 0:
                    raise CorruptLog(f"no record batch at position {position + at} of {path}")
                if at + header.size > len(piece):
                    wanted = max(_CHUNK, header.size)
                    break
                yield SourceBatch(piece, at, header)
                at += header.size
            if at == 0 and len(piece) == size - position:
                raise CorruptLog(f"the batch at position {position} of {path} is cut off")
            position += at
    finally:
        fs.close(fd)
