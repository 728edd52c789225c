"""Logs to compact, and rounds of compaction over them."""

from __future__ import annotations

from headrace.fs import Fs
from headrace.storage.compaction import planning
from headrace.storage.compaction.cleaning import Finished, Round
from headrace.storage.compaction.swapping import swap_in
from headrace.storage.log import Log
from headrace.wire.batch import Record, decode_records, iter_batches
from tests.storage.builders import NOW, read_all


def clean(
    log: Log,
    cleaned_to: int | None = None,
    *,
    now_ms: int = NOW,
    max_keys: int = 1 << 20,
    fs: Fs | None = None,
    stable: int | None = None,
) -> Finished:
    """One round over everything that may be cleaned, put in place as it goes."""
    cleanable = planning.assess(log, cleaned_to, now_ms, log.log_end_offset if stable is None else stable)
    task = planning.make_task(log, cleanable, planning.last_of_producers(log), now_ms, max_keys, float("inf"))
    for outcome in Round(type(task).from_json(task.to_json()), fs or log.folder.fs).run():
        if isinstance(outcome, Finished):
            return outcome
        assert swap_in(log, outcome, now_ms)
    raise AssertionError("a round ends")


def records_of(log: Log) -> list[Record]:
    """Every record of the log, with markers."""
    data = read_all(log)
    return [record for position, _ in iter_batches(data) for record in decode_records(data, position)]


def last_values(records: list[Record]) -> dict[bytes, bytes]:
    """What a reader who keeps the last value of each key ends with."""
    values: dict[bytes, bytes] = {}
    for record in records:
        assert record.key is not None
        if record.value is None:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
    return values
