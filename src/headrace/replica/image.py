"""The cluster as its metadata log describes it: an immutable image, made from the one before and the records in between.

Brokers, topics, configs and features are held as values of their own; what a single node only has to carry (ACLs, credentials, quotas,
tokens, controllers) is kept as the records themselves, so that a snapshot loses nothing. Nothing here does I/O or knows a clock.

Images share what did not change. A change copies only the top-level mapping it touches: 10,000 topics cost tens of microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from headrace.replica.features import ELIGIBLE_LEADER_REPLICAS
from headrace.wire.records.control import Voter
from headrace.wire.records.metadata import BrokerEndpoint, BrokerFeature
from headrace.wire.schema import Message

NO_LEADER = -1
UNASSIGNED_DIRECTORY = bytes(15) + b"\x01"

# Resource types of ConfigRecord and of the config APIs.
TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
BROKER_LOGGER_RESOURCE = 8
CLIENT_METRICS_RESOURCE = 16
GROUP_RESOURCE = 32


class PartitionImage(NamedTuple):
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[bytes, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = 0
    elr: tuple[int, ...] = ()  # eligible leader replicas, KIP-966
    last_known_elr: tuple[int, ...] = ()

    @property
    def in_reassignment(self) -> bool:
        """Whether replicas are being added or removed (KIP-455)."""
        return bool(self.adding_replicas or self.removing_replicas)


class TopicImage(NamedTuple):
    name: str
    id: bytes
    partitions: tuple[PartitionImage, ...]

    def partition(self, index: int) -> PartitionImage | None:
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


class BrokerImage(NamedTuple):
    id: int
    epoch: int
    incarnation_id: bytes
    end_points: tuple[BrokerEndpoint, ...]
    features: tuple[BrokerFeature, ...]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[bytes, ...]
    cordoned_log_dirs: tuple[bytes, ...] | None = None


class ProducerIds(NamedTuple):
    """The last block of producer ids handed out: to whom, and where the next one starts."""

    broker_id: int = -1
    broker_epoch: int = -1
    next_producer_id: int = 0


class Carried(NamedTuple):
    """Records of features that this node does not use, by what identifies them."""

    controllers: Mapping[int, Message] = {}
    acls: Mapping[bytes, Message] = {}
    scram_credentials: Mapping[tuple[str, int], Message] = {}
    delegation_tokens: Mapping[str, Message] = {}
    client_quotas: Mapping[tuple[tuple[tuple[str, str | None], ...], str], Message] = {}


@dataclass(frozen=True, slots=True)
class ClusterImage:
    cluster_id: str = ""
    controller_id: int = -1
    offset: int = -1  # of the last record applied
    epoch: int = 0  # the raft epoch it was written in
    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    topics_by_id: Mapping[bytes, TopicImage] = field(default_factory=dict)
    # Names with a dot or an underscore by their form with underscores: `a.b` and `a_b` must not both exist.
    similar_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    configs: Mapping[tuple[int, str], Mapping[str, str]] = field(default_factory=dict)
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=dict)
    voters: tuple[Voter, ...] = ()  # of the metadata quorum; from raft control records, not from metadata records
    partition_count: int = 0
    producer_ids: ProducerIds = field(default_factory=ProducerIds)
    carried: Carried = field(default_factory=Carried)
    # Records between BeginTransaction and its end, held back until it is there (KIP-868); None outside of one.
    held_back: tuple[Message, ...] | None = None
    # What others computed from this image and want to keep for as long as it is the current one.
    derived: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def apply(self, records: Iterable[Message], *, offset: int | None = None, epoch: int | None = None) -> ClusterImage:
        """The image after `records`; raises UnknownMetadata on what this version does not know, and changes nothing."""
        # The delta needs the image's types, so it can only be imported once they exist.
        from headrace.replica.delta import ImageDelta

        delta = ImageDelta(self)
        delta.replay_all(records)
        image = delta.build()
        new_offset = self.offset if offset is None else offset
        new_epoch = self.epoch if epoch is None else epoch
        if new_offset == image.offset and new_epoch == image.epoch:
            return image
        return replace(image, offset=new_offset, epoch=new_epoch, derived={})

    def config(self, resource_type: int, name: str) -> Mapping[str, str]:
        """What is set on a resource, as text; empty when nothing is."""
        return self.configs.get((resource_type, name), {})

    def topic_config(self, name: str) -> Mapping[str, str]:
        return self.configs.get((TOPIC_RESOURCE, name), {})

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        found = self.topics.get(topic)
        return found.partition(index) if found is not None else None

    @property
    def next_producer_id(self) -> int:
        return self.producer_ids.next_producer_id

    @property
    def elr_enabled(self) -> bool:
        return self.features.get(ELIGIBLE_LEADER_REPLICAS, 0) > 0


def unified_name(topic: str) -> str | None:
    """The form under which `topic` could be mistaken for another one in metric names; None if it cannot."""
    return topic.replace(".", "_") if "." in topic or "_" in topic else None


def ints(values: Sequence[int] | None) -> tuple[int, ...]:
    return tuple(values) if values else ()
