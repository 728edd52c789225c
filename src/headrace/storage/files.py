"""Names of the files in a partition's folder, as Kafka spells them.

    00000000000000368769.log         record batches
    00000000000000368769.index       offset index
    00000000000000368769.timeindex   time index
    00000000000000368769.txnindex    aborted transactions (only once there are any)
    00000000000000368769.snapshot    producer state at that offset
    leader-epoch-checkpoint          first offset of each leader epoch
    partition.metadata               the topic's id

The number is the base offset, twenty digits. Names ending in .deleted, .cleaned, .swap or .tmp are unfinished business.
"""

from __future__ import annotations

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"
TEMPORARY = ".tmp"
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"

SEGMENT_SUFFIXES = (LOG, OFFSET_INDEX, TIME_INDEX, TXN_INDEX)


def file_name(offset: int, suffix: str) -> str:
    return f"{offset:020d}{suffix}"


def offset_of(name: str) -> int | None:
    """The offset a file is named after, or None for a file that is not named after one."""
    stem = name.partition(".")[0]
    return int(stem) if len(stem) == 20 and stem.isascii() and stem.isdigit() else None
