"""Which log directory of its broker a new replica goes to.

Kafka's controller leaves that to a broker with several of them, which chooses one and tells (AssignReplicasToDirs). Here the
controller chooses, so the partition's first record says where it is: that with the fewest partitions.
"""

from __future__ import annotations

from collections import Counter

from headrace.replica.image import UNASSIGNED_DIRECTORY, BrokerImage, ClusterImage


class DirectoryChoice:
    """Choices for the partitions of one change, each aware of those before it."""

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self._load: dict[int, Counter[bytes]] = {}

    def choose(self, broker: BrokerImage) -> bytes:
        """The directory for one more replica of this broker; unassigned when it has told of none."""
        if len(broker.log_dirs) < 2:
            return broker.log_dirs[0] if broker.log_dirs else UNASSIGNED_DIRECTORY
        load = self._load.get(broker.id)
        if load is None:
            load = self._load[broker.id] = self._count(broker.id)
        cordoned = broker.cordoned_log_dirs or ()
        candidates = [one for one in broker.log_dirs if one not in cordoned] or list(broker.log_dirs)
        chosen = min(candidates, key=load.__getitem__)
        load[chosen] += 1
        return chosen

    def _count(self, broker_id: int) -> Counter[bytes]:
        return Counter(
            directory
            for topic in self._image.topics_by_id.values()
            for partition in topic.partitions
            for replica, directory in zip(partition.replicas, partition.directories, strict=False)
            if replica == broker_id
        )
