"""Delete once consumed: which groups hold which records of a topic, and how far the log start may move.

A decision and nothing else; whoever asks knows the groups and the logs. Kafka has no such setting, so these rules are ours:
a group holds a partition at the offset it has committed there. One that reads the topic and has not committed in this
partition holds all of it, and so does a group that is named and has never committed anywhere in the topic. A named group
that has committed once and has no offset any more was deleted or has expired: it holds nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

ALL_GROUPS = "*"


class Hold(NamedTuple):
    """What one group wants kept of a partition: everything from `offset` on, or everything if it is None."""

    group: str
    offset: int | None


def holds(
    names: Collection[str], committed: Mapping[str, Mapping[int, int]], known: Collection[str], partition: int
) -> list[Hold]:
    """Who holds a partition, by the topic's setting.

    `committed` has the committed offsets of this topic by group and partition, `known` the groups that ever had any.
    """
    wanted = dict.fromkeys(name for name in names if name != ALL_GROUPS)
    if ALL_GROUPS in names:
        wanted |= dict.fromkeys(committed)
    return [
        Hold(group, committed.get(group, {}).get(partition))
        for group in wanted
        if committed.get(group) or group not in known
    ]


def new_log_start(held: Collection[Hold], last_stable_offset: int) -> int | None:
    """Where the log may start; None where nothing may go, as when nobody reads it."""
    offsets = [hold.offset for hold in held if hold.offset is not None]
    if not offsets or len(offsets) < len(held):
        return None
    return min(*offsets, last_stable_offset)
