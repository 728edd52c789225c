"""Delete once consumed, carried out: moves log starts to what the groups of `headrace.delete.consumed.groups` have committed.

Owns the memory of which named groups have ever committed in which topic (`headrace-consumed-groups.json` in the first log
directory): without it, a group that is gone could not be told from one that is still to come, and would hold its topic for
ever. The rules are in `headrace.coordinator.consumed`; segments are deleted by the retention that follows.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.broker.group_shard import GroupShard
from headrace.coordinator.consumed import ALL_GROUPS, Hold, holds, new_log_start
from headrace.coordinator.offsets import PartitionOffsets
from headrace.replica.partition import Partition
from headrace.replica.topic_names import is_internal
from headrace.wire import uuids
from headrace.wire.fields import ZERO_UUID

if TYPE_CHECKING:
    from headrace.broker.server import Broker

log = logging.getLogger("headrace.broker.consumed")

FILE = "headrace-consumed-groups.json"

Committed = dict[str, dict[int, int]]


class Consumed:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._known: dict[bytes, set[str]] = {}
        """By topic id, the named groups that have committed in it at some time."""

    def start(self) -> None:
        """Learns who has committed before."""
        directory = self._broker.replicas.directories[0].files
        path = f"{directory.path}/{FILE}"
        try:
            topics = json.loads(directory.fs.read_file(path))["topics"]
            self._known = {uuids.from_text(topic_id): set(names) for topic_id, names in topics.items()}
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("%s cannot be read (%s); named groups hold their topics until they commit again", path, error)

    async def note(self) -> None:
        """Remembers named groups that have committed, and forgets those that no topic names any more."""
        if not self._broker.groups.all_loaded:
            return
        known: dict[bytes, set[str]] = {}
        for partitions in self._topics():
            topic_id, names = partitions[0].topic_id, partitions[0].log.config.delete_consumed_groups
            committed = self._named(partitions[0], names)
            if found := {name for name in names if name in committed or name in self._known.get(topic_id, ())}:
                known[topic_id] = found
        if known != self._known:
            self._known = known
            await self._write()

    async def apply(self) -> None:
        """Moves the log starts to where every group that counts has been."""
        await self.note()
        if not self._broker.groups.all_loaded:
            return
        for partitions in self._topics():
            committed = self._committed(partitions[0])
            for partition in partitions:
                self._apply(partition, committed)
            await asyncio.sleep(0)

    def holds(self, partition: Partition) -> list[Hold]:
        """Who holds records of a partition now, by its topic's setting."""
        return self._holds(partition, self._committed(partition))

    def _apply(self, partition: Partition, committed: Committed) -> None:
        if partition.offline or partition.log.closed:
            return
        start = new_log_start(self._holds(partition, committed), partition.last_stable_offset)
        if start is not None and start > partition.log_start_offset:
            log.debug("%r starts at %d: everything before has been consumed", partition.log, start)
            partition.log.advance_log_start(start, partition.high_watermark)

    def _holds(self, partition: Partition, committed: Committed) -> list[Hold]:
        names = partition.log.config.delete_consumed_groups
        return holds(names, committed, self._known.get(partition.topic_id, ()), partition.partition)

    def _topics(self) -> Iterator[list[Partition]]:
        """The partitions of each topic that has the setting and may lose records."""
        for name, partitions in tuple(self._broker.replicas.topics.items()):
            first = next(iter(partitions.values()), None)
            if first is None or not first.log.config.delete_consumed_groups or is_internal(name):
                continue
            if first.log.config.may_delete_records:
                yield list(partitions.values())

    # What the groups have committed

    def _committed(self, partition: Partition) -> Committed:
        """The committed offsets of the partition's topic, of all groups that its setting speaks of."""
        names = partition.log.config.delete_consumed_groups
        if ALL_GROUPS not in names:
            return self._named(partition, names)
        found: Committed = {}
        for shard in self._broker.groups.loaded_shards:
            for group_id, topics in shard.groups.offsets.groups():
                if offsets := _of_topic(topics.get(partition.topic, {}), partition.topic_id):
                    found[group_id] = offsets
        return found

    def _named(self, partition: Partition, names: tuple[str, ...]) -> Committed:
        found: Committed = {}
        for name in names:
            shard = self._broker.groups.shard(name)
            if isinstance(shard, GroupShard):
                topics = shard.groups.offsets.of_group(name)
                if offsets := _of_topic(topics.get(partition.topic, {}), partition.topic_id):
                    found[name] = offsets
        return found

    async def _write(self) -> None:
        directory = self._broker.replicas.directories[0]
        topics = {uuids.to_text(topic_id): sorted(names) for topic_id, names in self._known.items()}
        data = json.dumps({"version": 1, "topics": topics}, ensure_ascii=False).encode()
        path = f"{directory.files.path}/{FILE}"
        try:
            await asyncio.get_running_loop().run_in_executor(
                directory.background, directory.files.fs.write_file, path, data
            )
        except OSError as error:
            directory.fail(error)


def _of_topic(partitions: PartitionOffsets, topic_id: bytes) -> dict[int, int]:
    """Without offsets that were committed for a deleted topic of the same name."""
    return {
        index: committed.offset
        for index, committed in partitions.items()
        if committed.topic_id in (ZERO_UUID, topic_id)
    }
