"""Feature levels: which of Kafka's this code knows, which it implements, and what a new cluster starts with.

A directory may carry a level that Kafka 4.3 knows and Headrace does not implement yet (Apache Kafka finalizes all of them when it
formats one). Such a level is kept and written to snapshots, and clients are told of what is implemented only, so that none of them
uses what is not there. A name or level that Kafka 4.3 does not know stops the start: its records cannot be understood.
"""

from __future__ import annotations

from collections.abc import Mapping

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
ELIGIBLE_LEADER_REPLICAS = "eligible.leader.replicas.version"
TRANSACTION_VERSION = "transaction.version"

# The metadata.version (3.7-IV2) from which on partitions say in which log directory they are.
DIRECTORY_ASSIGNMENT = 17

# Kafka 4.3's ranges. metadata.version 7 is 3.3-IV3, 30 is 4.3-IV0.
KNOWN: dict[str, tuple[int, int]] = {
    METADATA_VERSION: (7, 30),
    KRAFT_VERSION: (0, 1),
    ELIGIBLE_LEADER_REPLICAS: (0, 1),
    "group.version": (0, 1),
    "share.version": (0, 1),
    "streams.version": (0, 1),
    TRANSACTION_VERSION: (0, 2),
}

# What Headrace does. group.version rises to 1 with the newer group protocol.
IMPLEMENTED: dict[str, tuple[int, int]] = {
    METADATA_VERSION: (7, 30),
    KRAFT_VERSION: (0, 1),
    ELIGIBLE_LEADER_REPLICAS: (0, 1),
    "group.version": (0, 0),
    TRANSACTION_VERSION: (0, 2),
}

# Finalized when a directory is formatted, in the order in which Kafka writes them; level 0 needs no record.
NEW_CLUSTER: dict[str, int] = {METADATA_VERSION: 30, ELIGIBLE_LEADER_REPLICAS: 1, TRANSACTION_VERSION: 2}

# What a level needs of another feature, where Kafka says so: eligible leader replicas came with 4.0-IV1.
DEPENDENCIES: dict[tuple[str, int], tuple[str, int]] = {(ELIGIBLE_LEADER_REPLICAS, 1): (METADATA_VERSION, 23)}

# The levels of metadata.version that brought records or fields which the level before cannot hold.
_NEW_METADATA = frozenset({7, 8, 11, 13, 14, 15, 17, 23, 30})


class UnknownMetadata(Exception):
    """The metadata log holds something this version cannot apply; going on would fork the cluster's state."""


def check_level(name: str, level: int) -> None:
    """Refuse a feature that Kafka 4.3 does not know, by name and level."""
    if name not in KNOWN:
        raise UnknownMetadata(f"the cluster uses the feature {name} (level {level}), which this version does not know")
    low, high = KNOWN[name]
    if not low <= level <= high and level != 0:
        raise UnknownMetadata(f"the cluster uses {name} at level {level}; this version knows {low} to {high}")


def advertised(finalized: Mapping[str, int]) -> dict[str, int]:
    """The finalized levels that clients are told of: no higher than what is implemented, and never 0."""
    levels = {name: min(level, IMPLEMENTED[name][1]) for name, level in finalized.items() if name in IMPLEMENTED}
    return {name: level for name, level in levels.items() if level > 0}


def loses_metadata(current: int, lower: int) -> bool:
    """Whether metadata.version cannot go down without losing what a level in between has brought."""
    return any(lower < level <= current for level in _NEW_METADATA)


def effective_level(finalized: Mapping[str, int], name: str) -> int:
    """The level of a feature that this node works by: what is finalized, as far as it is implemented."""
    return min(finalized.get(name, 0), IMPLEMENTED[name][1])
