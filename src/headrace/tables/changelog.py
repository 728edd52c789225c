"""Messages of a consumer become changes of a store. Knows Kafka's messages, no threads and no state of a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.tables.store import TIMESTAMP, Changes

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message


class Trouble(Exception):
    """A consumer reported an error about a partition. What was read before it is in the changes."""

    def __init__(self, error: KafkaError, partition: int) -> None:
        super().__init__(f"partition {partition}: {error.str()}")
        self.error = error


def collect(messages: Iterable[Message], changes: Changes) -> int:
    """Add messages to changes and return how many had no key. Raises Trouble at the first error."""
    pack, upserts, deletes = TIMESTAMP.pack, changes.upserts, changes.deletes
    lasts: dict[int, Message] = {}
    skipped = 0
    try:
        for message in messages:
            if message.error() is not None:
                _end_of_partition(message, changes, lasts)
                continue
            lasts[message.partition() or 0] = message
            key, value = message.key(), message.value()
            if key is None:
                skipped += 1
            elif value is None:
                upserts.pop(key, None)
                deletes.add(key)
            else:
                upserts[key] = pack(message.timestamp()[1]) + value
                deletes.discard(key)
            changes.records += 1
    finally:
        _take_positions(lasts, changes)
    return skipped


def _end_of_partition(message: Message, changes: Changes, lasts: dict[int, Message]) -> None:
    """The end of a partition moves the position past markers and aborted records, which are never delivered."""
    from confluent_kafka import KafkaError

    error, partition = message.error(), message.partition()
    assert error is not None and partition is not None, "an error message has both"
    if error.code() != KafkaError._PARTITION_EOF:
        raise Trouble(error, partition)
    last = lasts.pop(partition, None)
    if last is not None:
        _take_positions({partition: last}, changes)
    changes.offsets[partition] = message.offset() or 0


def _take_positions(lasts: dict[int, Message], changes: Changes) -> None:
    for partition, message in lasts.items():
        changes.offsets[partition] = (message.offset() or 0) + 1
        epoch = message.leader_epoch()
        if epoch is not None:
            changes.epochs[partition] = epoch
