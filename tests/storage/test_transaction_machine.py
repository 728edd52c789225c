"""Any history of transactions, restarts, crashes, truncations and deletions reads as a simple model says."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headrace.storage import transaction_index
from headrace.storage.config import LogConfig
from headrace.storage.log import Log
from headrace.wire.control import encode_marker
from tests.model_settings import machine_settings
from tests.storage.builders import NOW, append, batch, crash, idempotent, new_log
from tests.storage.power import PowerFs
from tests.storage.transaction_model import Entry, Readable, read_committed, readable

CONFIG = LogConfig(segment_bytes=700, index_interval_bytes=150, retention_ms=-1)
PRODUCERS = st.integers(1, 4)
STEPS = st.tuples(st.sampled_from(["plain", "records", "records", "abort", "abort", "commit"]), PRODUCERS)
# Mostly near the end: a log that is cut to nothing every time shows little.
NEAR_THE_END = st.floats(0, 1).map(lambda where: 1 - where**3)


class TransactionMachine(RuleBasedStateMachine):
    """Producers 1 to 4 write in transactions, others without an id between them."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.path = self.root / "t-0"
        self._begin()

    def _begin(self) -> None:
        self.fs = PowerFs()
        self.log: Log = new_log(self.path, CONFIG, fs=self.fs)
        self.entries: list[Entry] = []
        self.flushed = 0

    def teardown(self) -> None:
        self.log.drop()
        shutil.rmtree(self.root)

    # What producers and coordinators do.

    @rule(steps=st.lists(STEPS, min_size=8, max_size=30), size=st.integers(1, 120), flush_after=st.integers(0, 12))
    def write(self, steps: list[tuple[str, int]], size: int, flush_after: int) -> None:
        for number, (step, producer) in enumerate(steps):
            if number == flush_after:
                self.flush()
            if step == "plain":
                self._note(append(self.log, batch(producer, size=size)))
            elif step == "records":
                self._note(append(self.log, self._batch(producer, 1 + size % 3, size)), producer)
            else:
                commit = step == "commit"
                self._note(append(self.log, self._marker(producer, commit), origin="coordinator"), producer, commit)

    @rule(producer=PRODUCERS, commit=st.booleans())
    def write_that_fails(self, producer: int, commit: bool) -> None:
        """Several batches are judged and given their places, and then the disk fails."""
        before = self.log.last_stable_offset, dict(self.log.producers.entries)
        for data, origin in (
            (self._batch(producer, 1, 50), "client"),
            (self._marker(producer, commit), "coordinator"),
            (batch(1, size=600), "client"),
        ):
            self.log.reserve(data, leader_epoch=0, now_ms=NOW, origin=origin)
        assert self.log.last_stable_offset == before[0]
        self.log.abandon()
        assert (self.log.last_stable_offset, self.log.producers.entries) == before

    # What happens to the log.

    def flush(self) -> None:
        self.log.flush(NOW)
        self.flushed = self.log.recovery_point

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.flushed = self.log.recovery_point
        in_files = [
            entry
            for index in sorted(self.path.glob("*.txnindex"))
            for entry in transaction_index.parse(index.read_bytes(), int(index.stem)).entries
        ]
        known = readable(self.entries, self.log.log_end_offset).aborted
        if self.log.log_start_offset == 0:
            assert in_files == known
        self._open(clean=True)

    @rule()
    def kill(self) -> None:
        crash(self.log)
        self._open()

    @rule(seed=st.integers(0, 1000), torn=st.binary(max_size=80))
    def lose_power(self, seed: int, torn: bytes) -> None:
        """Bytes that were not synced are lost, from any one on; an index file may have a torn end."""
        crash(self.log)
        self.fs.lose_power(self.path, Random(seed))
        index = max(self.path.glob("*.log"), default=self.path).with_suffix(".txnindex")
        if index.exists():
            index.write_bytes(index.read_bytes() + torn)
        kept = sum(entry.last_offset < self.flushed for entry in self.entries)
        self._open()
        self._forget_from(self.log.log_end_offset)
        if self.log.size == 0:
            # What is left ends before the log's start, so that the log begins anew there.
            self.entries = self.entries[:kept] if self.log.log_start_offset == 0 else []
        assert len(self.entries) >= kept or self.log.size == 0
        if readable(self.entries, self.log.log_end_offset).last_stable_offset < self.log.log_start_offset:
            # A transaction has lost its marker and, to deletion, its first records: it may be open or forgotten.
            assert self.log.last_stable_offset >= self.log.log_start_offset
            self.log.drop()
            shutil.rmtree(self.path)
            self._begin()

    @rule(seed=st.integers(0, 1000), steps=st.lists(STEPS, min_size=4, max_size=12), size=st.integers(1, 60))
    def crash_again(self, seed: int, steps: list[tuple[str, int]], size: int) -> None:
        """Files that the first crash left ahead of the log are still there when others lie at the same offsets."""
        self.write(steps, size, 99)
        self.lose_power(seed, b"")
        self.write(steps[1:], size, 99)
        self.kill()

    @rule(where=st.floats(0, 1))
    def damage_an_index(self, where: float) -> None:
        """An entry that cannot be one is noticed, and the index made anew from the log."""
        self.log.close()
        self.flushed = self.log.recovery_point
        found = sorted(self.path.glob("*.txnindex"))
        if found and self.log.log_start_offset == 0:
            index = found[int(where * (len(found) - 1))]
            data = bytearray(index.read_bytes())
            data[int(where * (len(data) - 1)) : int(where * (len(data) - 1)) + 1] = b""
            index.write_bytes(data)
        self._open(clean=True)

    @precondition(lambda self: self.log.log_end_offset > self.log.log_start_offset)
    @rule(where=NEAR_THE_END)
    def truncate(self, where: float) -> None:
        """A follower's log is cut from the end."""
        start, end = self.log.log_start_offset, self.log.log_end_offset
        offset = start + int((end - start) * where)
        left = [entry for entry in self.entries if entry.last_offset < offset]
        if readable(left, offset).last_stable_offset < start:
            # A transaction is open again whose records are deleted. Nobody can tell whether it is.
            return
        self.log.truncate_to(offset, NOW)
        self.flushed = min(self.flushed, offset)
        self._forget_from(self.log.log_end_offset)

    @precondition(lambda self: self.log.log_end_offset > self.log.log_start_offset)
    @rule(where=st.floats(0, 1))
    def delete_records(self, where: float) -> None:
        start, end = self.log.log_start_offset, self.log.last_stable_offset
        self.log.advance_log_start(start + int((end - start) * where))
        self.log.apply_retention(NOW)

    # What must hold.

    @invariant()
    def reads_as_the_model_says(self) -> None:
        log = self.log
        model = readable(self.entries, log.log_end_offset)
        start = log.log_start_offset
        assert log.last_stable_offset == model.last_stable_offset
        assert list(log.producers.transactions) == model.open
        for offset in {start, (start + log.log_end_offset) // 2}:
            expected = [first for first in model.visible if self._last(first) >= offset]
            for max_bytes in (1, 300, 10_000):
                assert read_committed(log, offset, max_bytes) == expected
        # Of a transaction that is deleted in part or whole, the index need not know.
        for upper in () if start else (start, (start + log.log_end_offset) // 2, log.log_end_offset):
            self._check_index(model, start, upper)

    def _check_index(self, model: Readable, first: int, upper: int) -> None:
        found = self.log.aborted_transactions(first, upper)
        assert found == [
            (one.producer_id, one.first_offset)
            for one in model.aborted
            if one.last_offset >= first and one.first_offset < upper
        ]

    # Bookkeeping.

    def _last(self, first: int) -> int:
        return next(entry.last_offset for entry in self.entries if entry.first_offset == first)

    def _batch(self, producer: int, count: int, size: int) -> memoryview:
        entry = self.log.producers.entries.get(producer)
        sequence = 0 if entry is None else entry.last_sequence + 1
        return idempotent(sequence, count, producer_id=producer, size=size, is_transactional=True)

    def _marker(self, producer: int, commit: bool) -> memoryview:
        return memoryview(encode_marker(producer, 0, commit, 0, NOW))

    def _note(self, appended: object, producer: int = -1, commit: bool | None = None) -> None:
        first, last = appended.first_offset, appended.last_offset  # type: ignore[attr-defined]
        self.entries.append(Entry(first, last, producer, producer > 0, commit))

    def _forget_from(self, end: int) -> None:
        self.entries = [entry for entry in self.entries if entry.last_offset < end]

    def _open(self, clean: bool = False) -> None:
        start = self.log.log_start_offset
        self.log = new_log(
            self.path, CONFIG, fs=self.fs, clean=clean, recovery_point=self.flushed, log_start_offset=start
        )


TransactionMachine.TestCase.settings = machine_settings(50, 12)
test_any_history = TransactionMachine.TestCase
