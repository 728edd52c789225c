"""Opening a log from whatever a shutdown or a crash left behind.

After a clean shutdown only the last few kilobytes of the active segment are looked at. After anything else, every batch
that was not flushed is read and its checksum verified; the first one that is not whole ends the log, the rest is cut off,
and indexes, leader epochs and producer state are made anew from what is left. Missing or damaged index, snapshot and
epoch files are rebuilt; they are never a reason not to open.
"""

from __future__ import annotations

import logging

from headrace.clock import Clock
from headrace.storage import checkpoint, files, index, leftovers, producer_snapshot, transaction_index
from headrace.storage.config import LogConfig
from headrace.storage.descriptors import Folder
from headrace.storage.epochs import LeaderEpochs
from headrace.storage.index import CorruptIndex, SegmentIndex
from headrace.storage.log import Defer, Log, run_now
from headrace.storage.producers import Producers
from headrace.storage.rebuild import choose_snapshot, replay, replay_batch
from headrace.storage.scan import scan
from headrace.storage.segment import Segment
from headrace.storage.transaction_index import CorruptTransactionIndex, TransactionIndex
from headrace.wire.batch import BatchHeader, read_header

logger = logging.getLogger("headrace.storage")


def open_log(
    folder: Folder,
    topic: str,
    partition: int,
    config: LogConfig,
    *,
    clean: bool = False,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    topic_id: bytes | None = None,
    defer: Defer = run_now,
    now_ms: int = 0,
    clock: Clock | None = None,
) -> Log:
    """Opens or creates the log in an existing folder. `clean`: the directory was shut down cleanly."""
    opening = Opening(folder, config, clean, recovery_point, log_start_offset, now_ms)
    opening.load()
    if opening.end_offset < log_start_offset:
        logger.warning(
            "%s ends at %d, before its log start offset %d: it starts anew there",
            folder.path,
            opening.end_offset,
            log_start_offset,
        )
        opening.start_anew()
    start = max(log_start_offset, opening.segments[0].base_offset)
    opening.leader_epochs.truncate_from_end(opening.end_offset)
    opening.leader_epochs.truncate_from_start(start)
    opened = Log(
        folder,
        topic,
        partition,
        config,
        tuple(opening.segments),
        log_start_offset=start,
        log_end_offset=opening.end_offset,
        recovery_point=opening.end_offset if opening.clean else min(recovery_point, opening.end_offset),
        producers=opening.producers,
        leader_epochs=opening.leader_epochs,
        topic_id=topic_id,
        defer=defer,
        now_ms=now_ms,
        clock=clock,
    )
    opened.snapshot_offset = opening.snapshot_offset
    opened.stray_snapshot = opening.stray_snapshot
    return opened


class Opening:
    """One log being opened."""

    def __init__(
        self, folder: Folder, config: LogConfig, clean: bool, recovery_point: int, log_start_offset: int, now_ms: int
    ) -> None:
        self.folder = folder
        self.config = config
        self.clean = clean
        self.recovery_point = recovery_point
        self.log_start_offset = log_start_offset
        self.now_ms = now_ms
        self.segments: list[Segment] = []
        self.leader_epochs = LeaderEpochs()
        self.producers = Producers()
        self.snapshot_offset = -1
        self.stray_snapshot = -1
        self.end_offset = log_start_offset
        self._names: set[str] = set()

    def load(self) -> None:
        """Fills everything in, from what is in the folder or for a log that begins here."""
        self._names = leftovers.tidy(self.folder)
        bases = sorted(files.offset_of(name) or 0 for name in self._names if name.endswith(files.LOG))
        if not bases:
            self._add_first_segment()
            return
        self._list_segments(bases)
        if self.clean and not self._load_clean():
            logger.warning("%s was closed cleanly and is damaged all the same: recovering it", self.folder.path)
            self.clean = False
            self.recovery_point = min(self.recovery_point, self.segments[-1].base_offset)
            self._list_segments(bases)
        if not self.clean:
            self._recover()
        bases = [segment.base_offset for segment in self.segments]
        self.stray_snapshot = leftovers.sort_out_snapshots(self.folder, self._names, bases, self.end_offset)

    def _list_segments(self, bases: list[int]) -> None:
        for segment in self.segments:
            segment.forget()
        self.leader_epochs = LeaderEpochs()
        self.segments = []
        for base in bases:
            size = self.folder.fs.stat(self.folder.join(files.file_name(base, files.LOG))).st_size
            self.segments.append(Segment(self.folder, base, size=size, created_ms=self.now_ms))

    def start_anew(self) -> None:
        for segment in self.segments:
            segment.forget()
            leftovers.unlink_segment(self.folder, segment.base_offset)
        self.segments = []
        self.leader_epochs = LeaderEpochs()
        self.leader_epochs.dirty = True
        self._add_first_segment()

    def _add_first_segment(self) -> None:
        segment = Segment(self.folder, self.log_start_offset, created_ms=self.now_ms)
        segment.preallocate = self.config.segment_bytes if self.config.preallocate else 0
        segment.create()
        segment.activate(SegmentIndex())
        self.segments = [segment]
        self.end_offset = self.log_start_offset
        self.producers = Producers(self.log_start_offset)

    def _load_leader_epochs(self, flushed: list[Segment]) -> None:
        """From the file, or else from the headers in the segments that are not going to be read anyway."""
        path = self.folder.join(files.LEADER_EPOCHS)
        try:
            if files.LEADER_EPOCHS in self._names:
                self.leader_epochs = LeaderEpochs(checkpoint.read_leader_epochs(self.folder.fs, path))
                return
        except checkpoint.CorruptCheckpoint as error:
            logger.warning("%s; leader epochs are read from the log instead", error)
        for segment in flushed:
            for header in self._headers(segment):
                if header.partition_leader_epoch > self.leader_epochs.latest:
                    self.leader_epochs.assign(header.partition_leader_epoch, header.base_offset)

    def _headers(self, segment: Segment) -> list[BatchHeader]:
        fd = self.folder.files.pin(segment.log)
        try:
            base = segment.base_offset
            found = scan(segment.reader(fd), 0, segment.size, base_offset=base, first_offset=base, checksum=False)
            return [header for _, header in found]
        finally:
            self.folder.files.unpin(segment.log)

    # After a clean shutdown.

    def _load_clean(self) -> bool:
        self._load_leader_epochs(self.segments)
        for segment in self.segments[:-1]:
            self._check_index_files(segment)
        active = self.segments[-1]
        self.producers, self.snapshot_offset = choose_snapshot(self.folder, self._names, self.log_start_offset, None)
        if not self._load_active(active, checksum=False, last_known_offset=None):
            return False
        if self.producers.end_offset > self.end_offset:
            self.producers, self.snapshot_offset = choose_snapshot(
                self.folder, self._names, self.log_start_offset, self.end_offset
            )
        if self.producers.end_offset < self.end_offset:
            replay(self.segments, self.producers, self.end_offset)
        self.producers.expire(self.now_ms, self.config.producer_id_expiration_ms)
        return True

    def _check_index_files(self, segment: Segment) -> None:
        """A flushed segment without index files gets new ones, from the headers of its batches."""
        self._check_aborted(segment)
        wanted = {files.file_name(segment.base_offset, suffix) for suffix in (files.OFFSET_INDEX, files.TIME_INDEX)}
        if wanted <= self._names and self._sizes_fit(segment):
            return
        logger.warning("%s has no sound index; rebuilding it", segment.log.path)
        segment.activate(SegmentIndex())
        self._scan_segment(segment, 0, segment.base_offset, checksum=False, track=False)
        segment.add_last_time_entry()
        segment.write_indexes(sync=False)
        segment.deactivate()

    def _check_aborted(self, segment: Segment) -> None:
        """No index of aborted transactions means that there are none. A damaged one is made anew from the log."""
        try:
            aborted = self._read_aborted(segment)
            segment.has_aborted = aborted is not None and bool(aborted.entries)
        except CorruptTransactionIndex as error:
            logger.warning("%s: transaction index made anew: %s", segment.log.path, error)
            base, slot = segment.base_offset, self.segments.index(segment)
            producers, _ = choose_snapshot(self.folder, self._names, self.log_start_offset, base)
            replay(self.segments[:slot], producers, max(base, producers.end_offset))
            entries = replay([segment], producers, self.segments[slot + 1].base_offset)
            path = self.folder.join(files.file_name(base, files.TXN_INDEX))
            self.folder.fs.write_file(path, transaction_index.encode(entries))
            segment.has_aborted = bool(entries)

    def _read_aborted(self, segment: Segment) -> TransactionIndex | None:
        if files.file_name(segment.base_offset, files.TXN_INDEX) not in self._names:
            return None
        return transaction_index.parse(self._read(segment, files.TXN_INDEX), segment.base_offset)

    def _sizes_fit(self, segment: Segment) -> bool:
        if self.clean:
            return True
        stat = self.folder.fs.stat
        offsets = stat(self.folder.join(files.file_name(segment.base_offset, files.OFFSET_INDEX))).st_size
        times = stat(self.folder.join(files.file_name(segment.base_offset, files.TIME_INDEX))).st_size
        return offsets % index.OFFSET_ENTRY_SIZE == 0 and times % index.TIME_ENTRY_SIZE == 0

    # After anything else.

    def _recover(self) -> None:
        first = 0
        while first + 1 < len(self.segments) and self.segments[first + 1].base_offset <= self.recovery_point:
            self._check_index_files(self.segments[first])
            first += 1
        start_offset = self.segments[first].base_offset
        # A recovery point inside a segment: what lies before it is not read again either.
        self._load_leader_epochs(self.segments[: first + (self.recovery_point > start_offset)])
        self.producers, self.snapshot_offset = choose_snapshot(
            self.folder, self._names, self.log_start_offset, start_offset
        )
        if self.producers.end_offset < start_offset:
            replay(self.segments[: first + 1], self.producers, start_offset)
        self.leader_epochs.truncate_from_end(max(self.recovery_point, start_offset))
        for slot in range(first, len(self.segments)):
            segment = self.segments[slot]
            if slot > first:
                self._write_snapshot(segment.base_offset)
            whole = self._load_active(segment, checksum=True, last_known_offset=self.recovery_point)
            after = self.segments[slot + 1 :]
            if after and whole and after[0].base_offset >= self.end_offset:
                segment.add_last_time_entry()
                segment.write_indexes(sync=False)
                segment.deactivate()
                continue
            if not whole or after:
                self._cut(segment, after)
                del self.segments[slot + 1 :]
            break
        self.producers.expire(self.now_ms, self.config.producer_id_expiration_ms)

    def _write_snapshot(self, offset: int) -> None:
        """State is complete at every segment's start: the next start need not go back further."""
        path = self.folder.join(files.file_name(offset, files.SNAPSHOT))
        self.folder.fs.write_file(path, producer_snapshot.encode(self.producers.entries), sync=False)
        self.snapshot_offset = offset

    def _cut(self, segment: Segment, after: list[Segment]) -> None:
        """The log ends here: after the last sound batch of `segment`."""
        fd = segment.log.fd
        lost = self.folder.fs.fstat(fd).st_size - segment.size
        if lost:
            logger.warning("%s: cut %d bytes after offset %d, no whole batch", segment.log.path, lost, self.end_offset)
            self.folder.fs.truncate(fd, segment.size)
        for later in after:
            logger.warning("%s does not continue the log before it and is removed", later.log.path)
            later.forget()
            leftovers.unlink_segment(self.folder, later.base_offset)

    # Both.

    def _load_active(self, segment: Segment, *, checksum: bool, last_known_offset: int | None) -> bool:
        """Indexes into memory, then every batch after the last trusted index entry. False: it is damaged after
        `segment.size`, which then says how much is sound."""
        try:
            aborted = self._read_aborted(segment)
        except CorruptTransactionIndex as error:
            logger.warning("%s: transaction index not used: %s", segment.log.path, error)
            if last_known_offset is None:
                return False
            # Markers are all in the log, and read again from its start.
            aborted, last_known_offset = TransactionIndex(written=-1), segment.base_offset
        entries, position, offset = self._trusted_index(segment, last_known_offset)
        if self.producers.end_offset < offset:
            replay([segment], self.producers, offset)
        file_size = segment.size
        segment.activate(entries)
        if aborted is not None:
            if last_known_offset is not None:
                aborted.cut(offset)
            segment.aborted, segment.has_aborted = aborted, bool(aborted.entries)
        if entries.timestamps:
            segment.max_timestamp = entries.timestamps[-1]
            segment.max_timestamp_offset = segment.base_offset + entries.time_offsets[-1]
        segment.bytes_since_index = 0
        self.end_offset = offset
        self._scan_segment(segment, position, offset, checksum=checksum, track=True)
        if segment.aborted is not None:
            segment.aborted.cut(self.end_offset)
        if segment.size > 0:
            first = self.folder.fs.pread(segment.log.fd, 61, 0)
            segment.first_timestamp = read_header(first).max_timestamp
        return segment.size == file_size

    def _trusted_index(self, segment: Segment, last_known_offset: int | None) -> tuple[SegmentIndex, int, int]:
        """The index from its files as far as it may be believed, with the position and offset of its last entry."""
        fresh = SegmentIndex(), 0, segment.base_offset
        if last_known_offset is not None and last_known_offset <= segment.base_offset:
            return fresh
        try:
            entries = index.parse(self._read(segment, files.OFFSET_INDEX), self._read(segment, files.TIME_INDEX))
        except (CorruptIndex, FileNotFoundError) as error:
            logger.warning("%s: index not used: %s", segment.log.path, error)
            return fresh
        if last_known_offset is not None:
            entries.cut(last_known_offset - segment.base_offset)
        if not entries.offsets:
            return (entries, 0, segment.base_offset) if last_known_offset is None else fresh
        found = self._batch_at(segment, entries.positions[-1])
        if found is None or found.last_offset - segment.base_offset != entries.offsets[-1]:
            logger.warning("%s: the index does not fit the log", segment.log.path)
            return fresh
        return entries, entries.positions[-1], found.base_offset

    def _read(self, segment: Segment, suffix: str) -> bytes:
        return self.folder.fs.read_file(self.folder.join(files.file_name(segment.base_offset, suffix)))

    def _batch_at(self, segment: Segment, position: int) -> BatchHeader | None:
        fd = self.folder.files.pin(segment.log)
        try:
            data = self.folder.fs.pread(fd, 61, position)
            return read_header(data) if len(data) == 61 else None
        finally:
            self.folder.files.unpin(segment.log)

    def _scan_segment(self, segment: Segment, start: int, offset: int, *, checksum: bool, track: bool) -> None:
        """Indexes every batch from `start` on and leaves `segment.size` at the end of the last sound one."""
        file_size, segment.size = segment.size, start
        interval = self.config.index_interval_bytes
        read = segment.reader(segment.log.fd)
        for position, header in scan(
            read, start, file_size, base_offset=segment.base_offset, first_offset=offset, checksum=checksum
        ):
            last_offset = header[0] + header[6]
            segment.committed(position, header[1] + 12, last_offset, header[8], interval)
            if track:
                self._track(header, position, segment)
        if not track:
            segment.size = file_size

    def _track(self, header: BatchHeader, position: int, segment: Segment) -> None:
        self.end_offset = header[0] + header[6] + 1
        if header[2] > self.leader_epochs.latest:
            self.leader_epochs.assign(header[2], header[0])
        if self.end_offset > self.producers.end_offset:
            entry = replay_batch(self.producers, header, position, segment)
            # After a clean shutdown the index holds it already, and the log was read for its producers only.
            if entry is not None and (segment.aborted is None or segment.aborted.last_offset < entry.last_offset):
                segment.add_aborted(entry)
