"""How records change an image: the only writer of cluster state, at start (replay) and while running alike.

An `ImageDelta` starts from an image, copies a mapping when it first changes it, and builds the next image. One method per record type;
a type without one is unknown, and UnknownMetadata names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from headrace.replica.features import UnknownMetadata, check_level
from headrace.replica.image import (
    TOPIC_RESOURCE,
    BrokerImage,
    ClusterImage,
    PartitionImage,
    ProducerIds,
    TopicImage,
    ints,
    unified_name,
)
from headrace.wire.records import metadata as md
from headrace.wire.schema import Message

UNCHANGED_LEADER = -2
FENCE, UNFENCE = 1, -1


class ImageDelta:
    def __init__(self, base: ClusterImage) -> None:
        self._base = base
        self._copied: dict[str, Any] = {}
        self._carried: dict[str, dict[Any, Any]] = {}
        self._producer_ids = base.producer_ids
        self._partition_count = base.partition_count
        self._held_back = None if base.held_back is None else list(base.held_back)
        # Topics that changed: name, and partitions by number until build() makes tuples of them.
        self._names: dict[bytes, str] = {}
        self._partitions: dict[bytes, dict[int, PartitionImage]] = {}

    def replay_all(self, records: Iterable[Message]) -> None:
        for record in records:
            self.replay(record)

    def replay(self, record: Message) -> None:
        """Apply one record, or hold it back while a metadata transaction is open."""
        kind = type(record)
        if self._held_back is not None:
            self._replay_in_transaction(record, kind)
        elif kind is md.BeginTransactionRecord:
            self._held_back = []
        elif kind is md.EndTransactionRecord or kind is md.AbortTransactionRecord:
            raise UnknownMetadata(f"{kind.__name__} without a transaction that it could end")
        else:
            self._apply(record, kind)

    def _replay_in_transaction(self, record: Message, kind: type[Message]) -> None:
        assert self._held_back is not None
        if kind is md.EndTransactionRecord:
            held_back, self._held_back = self._held_back, None
            for held in held_back:
                self._apply(held, type(held))
        elif kind is md.AbortTransactionRecord:
            self._held_back = None
        elif kind is md.BeginTransactionRecord:
            raise UnknownMetadata("a metadata transaction inside of another one")
        else:
            self._held_back.append(record)

    def _apply(self, record: Message, kind: type[Message]) -> None:
        replay = _REPLAY.get(kind)
        if replay is None:
            raise UnknownMetadata(f"the metadata log holds a {kind.__name__}, which this version does not know")
        replay(self, record)

    def build(self) -> ClusterImage:
        for topic_id, partitions in self._partitions.items():
            ordered = tuple(partitions[index] for index in sorted(partitions))
            topic = TopicImage(self._names[topic_id], topic_id, ordered)
            before = self._base.topics_by_id.get(topic_id)
            self._partition_count += len(ordered) - (len(before.partitions) if before is not None else 0)
            self._own("topics")[topic.name] = topic
            self._own("topics_by_id")[topic_id] = topic
        carried = self._base.carried
        if self._carried:
            carried = carried._replace(**self._carried)
        held_back = None if self._held_back is None else tuple(self._held_back)
        return replace(
            self._base,
            **self._copied,
            partition_count=self._partition_count,
            producer_ids=self._producer_ids,
            carried=carried,
            held_back=held_back,
            derived={},
        )

    def _own(self, name: str) -> dict[Any, Any]:
        """This delta's copy of one of the image's mappings."""
        mapping = self._copied.get(name)
        if mapping is None:
            mapping = self._copied[name] = dict(getattr(self._base, name))
        return mapping

    def _own_carried(self, name: str) -> dict[Any, Any]:
        mapping = self._carried.get(name)
        if mapping is None:
            mapping = self._carried[name] = dict(getattr(self._base.carried, name))
        return mapping

    def _look(self, name: str) -> Any:
        """One of the image's mappings for reading, with this delta's changes."""
        return self._copied[name] if name in self._copied else getattr(self._base, name)

    # Topics.

    def replay_topic(self, record: md.TopicRecord) -> None:
        self._names[record.topic_id] = record.name
        self._partitions[record.topic_id] = {}
        unified = unified_name(record.name)
        if unified is not None:
            similar = self._own("similar_names")
            similar[unified] = (*similar.get(unified, ()), record.name)

    def replay_remove_topic(self, record: md.RemoveTopicRecord) -> None:
        name = self._name_of(record.topic_id)
        before = self._base.topics_by_id.get(record.topic_id)
        self._partition_count -= len(before.partitions) if before is not None else 0
        self._names.pop(record.topic_id, None)
        self._partitions.pop(record.topic_id, None)
        self._own("topics").pop(name, None)
        self._own("topics_by_id").pop(record.topic_id, None)
        if (TOPIC_RESOURCE, name) in self._look("configs"):
            del self._own("configs")[TOPIC_RESOURCE, name]
        unified = unified_name(name)
        if unified is not None:
            similar = self._own("similar_names")
            left = tuple(other for other in similar[unified] if other != name)
            if left:
                similar[unified] = left
            else:
                del similar[unified]

    def replay_partition(self, record: md.PartitionRecord) -> None:
        self._open(record.topic_id)[record.partition_id] = PartitionImage(
            record.partition_id,
            tuple(record.replicas),
            tuple(record.isr),
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            tuple(record.directories),
            tuple(record.removing_replicas),
            tuple(record.adding_replicas),
            record.leader_recovery_state,
            ints(record.eligible_leader_replicas),
            ints(record.last_known_elr),
        )

    def replay_partition_change(self, record: md.PartitionChangeRecord) -> None:
        partitions = self._open(record.topic_id)
        before = partitions.get(record.partition_id)
        if before is None:
            raise UnknownMetadata(
                f"a PartitionChangeRecord for partition {record.partition_id} of topic {self._name_of(record.topic_id)}, which has none such"
            )
        changes: dict[str, Any] = {"partition_epoch": before.partition_epoch + 1}
        if record.leader != UNCHANGED_LEADER:
            changes |= {"leader": record.leader, "leader_epoch": before.leader_epoch + 1}
        if record.leader_recovery_state >= 0:
            changes["leader_recovery_state"] = record.leader_recovery_state
        lists = {
            "isr": record.isr,
            "replicas": record.replicas,
            "removing_replicas": record.removing_replicas,
            "adding_replicas": record.adding_replicas,
            "directories": record.directories,
            "elr": record.eligible_leader_replicas,
            "last_known_elr": record.last_known_elr,
        }
        changes |= {name: tuple(value) for name, value in lists.items() if value is not None}
        partitions[record.partition_id] = before._replace(**changes)

    def replay_clear_elr(self, record: md.ClearElrRecord) -> None:
        for topic_id in {*self._look("topics_by_id"), *self._partitions}:
            if record.topic_name not in ("", self._name_of(topic_id)):
                continue
            topic = self._base.topics_by_id.get(topic_id)
            current = (
                self._partitions[topic_id].values()
                if topic_id in self._partitions
                else topic.partitions
                if topic
                else ()
            )
            for partition in [p for p in current if p.elr or p.last_known_elr]:
                self._open(topic_id)[partition.partition] = partition._replace(
                    elr=(), last_known_elr=(), partition_epoch=partition.partition_epoch + 1
                )

    def _open(self, topic_id: bytes) -> dict[int, PartitionImage]:
        """A topic's partitions, to be changed."""
        partitions = self._partitions.get(topic_id)
        if partitions is None:
            topic = self._base.topics_by_id.get(topic_id)
            if topic is None or topic_id not in self._look("topics_by_id"):
                raise UnknownMetadata(f"a partition of topic id {topic_id.hex()}, which does not exist")
            partitions = self._partitions[topic_id] = {p.partition: p for p in topic.partitions}
            self._names[topic_id] = topic.name
        return partitions

    def _name_of(self, topic_id: bytes) -> str:
        name = self._names.get(topic_id)
        if name is not None:
            return name
        topic = self._base.topics_by_id.get(topic_id)
        if topic is None:
            raise UnknownMetadata(f"topic id {topic_id.hex()}, which does not exist")
        return topic.name

    # Brokers.

    def replay_register_broker(self, record: md.RegisterBrokerRecord) -> None:
        cordoned = record.cordoned_log_dirs
        self._own("brokers")[record.broker_id] = BrokerImage(
            record.broker_id,
            record.broker_epoch,
            record.incarnation_id,
            tuple(record.end_points),
            tuple(record.features),
            record.rack,
            record.fenced,
            record.in_controlled_shutdown,
            tuple(record.log_dirs),
            None if cordoned is None else tuple(cordoned),
        )

    def replay_unregister_broker(self, record: md.UnregisterBrokerRecord) -> None:
        self._own("brokers").pop(record.broker_id, None)

    def replay_broker_change(self, record: md.BrokerRegistrationChangeRecord) -> None:
        changes: dict[str, Any] = {}
        if record.fenced:
            changes["fenced"] = record.fenced == FENCE
        if record.in_controlled_shutdown:
            changes["in_controlled_shutdown"] = record.in_controlled_shutdown == 1
        if record.log_dirs:
            changes["log_dirs"] = tuple(record.log_dirs)
        if record.cordoned_log_dirs is not None:
            changes["cordoned_log_dirs"] = tuple(record.cordoned_log_dirs)
        self._change_broker(record.broker_id, changes)

    def replay_fence(self, record: md.FenceBrokerRecord) -> None:
        self._change_broker(record.id, {"fenced": True})

    def replay_unfence(self, record: md.UnfenceBrokerRecord) -> None:
        self._change_broker(record.id, {"fenced": False})

    def _change_broker(self, broker_id: int, changes: dict[str, Any]) -> None:
        brokers = self._own("brokers")
        if broker_id not in brokers:
            raise UnknownMetadata(f"a change of broker {broker_id}, which is not registered")
        brokers[broker_id] = brokers[broker_id]._replace(**changes)

    # Configs, features, producer ids.

    def replay_config(self, record: md.ConfigRecord) -> None:
        key = (record.resource_type, record.resource_name)
        configs = self._own("configs")
        values = dict(configs.get(key, {}))
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value
        if values:
            configs[key] = values
        else:
            configs.pop(key, None)

    def replay_feature_level(self, record: md.FeatureLevelRecord) -> None:
        check_level(record.name, record.feature_level)
        if record.feature_level:
            self._own("features")[record.name] = record.feature_level
        else:
            self._own("features").pop(record.name, None)

    def replay_producer_ids(self, record: md.ProducerIdsRecord) -> None:
        self._producer_ids = ProducerIds(record.broker_id, record.broker_epoch, record.next_producer_id)

    # Carried for others.

    def replay_controller(self, record: md.RegisterControllerRecord) -> None:
        self._own_carried("controllers")[record.controller_id] = record

    def replay_acl(self, record: md.AccessControlEntryRecord) -> None:
        self._own_carried("acls")[record.id] = record

    def replay_remove_acl(self, record: md.RemoveAccessControlEntryRecord) -> None:
        self._own_carried("acls").pop(record.id, None)

    def replay_scram(self, record: md.UserScramCredentialRecord) -> None:
        self._own_carried("scram_credentials")[record.name, record.mechanism] = record

    def replay_remove_scram(self, record: md.RemoveUserScramCredentialRecord) -> None:
        self._own_carried("scram_credentials").pop((record.name, record.mechanism), None)

    def replay_token(self, record: md.DelegationTokenRecord) -> None:
        self._own_carried("delegation_tokens")[record.token_id] = record

    def replay_remove_token(self, record: md.RemoveDelegationTokenRecord) -> None:
        self._own_carried("delegation_tokens").pop(record.token_id, None)

    def replay_quota(self, record: md.ClientQuotaRecord) -> None:
        entity = tuple((part.entity_type, part.entity_name) for part in record.entity)
        if record.remove:
            self._own_carried("client_quotas").pop((entity, record.key), None)
        else:
            self._own_carried("client_quotas")[entity, record.key] = record

    def replay_nothing(self, record: Message) -> None:
        """NoOp keeps idle logs moving; ZkMigrationState is history."""


_REPLAY: dict[type[Message], Callable[[ImageDelta, Any], None]] = {
    md.TopicRecord: ImageDelta.replay_topic,
    md.RemoveTopicRecord: ImageDelta.replay_remove_topic,
    md.PartitionRecord: ImageDelta.replay_partition,
    md.PartitionChangeRecord: ImageDelta.replay_partition_change,
    md.ClearElrRecord: ImageDelta.replay_clear_elr,
    md.RegisterBrokerRecord: ImageDelta.replay_register_broker,
    md.UnregisterBrokerRecord: ImageDelta.replay_unregister_broker,
    md.BrokerRegistrationChangeRecord: ImageDelta.replay_broker_change,
    md.FenceBrokerRecord: ImageDelta.replay_fence,
    md.UnfenceBrokerRecord: ImageDelta.replay_unfence,
    md.ConfigRecord: ImageDelta.replay_config,
    md.FeatureLevelRecord: ImageDelta.replay_feature_level,
    md.ProducerIdsRecord: ImageDelta.replay_producer_ids,
    md.RegisterControllerRecord: ImageDelta.replay_controller,
    md.AccessControlEntryRecord: ImageDelta.replay_acl,
    md.RemoveAccessControlEntryRecord: ImageDelta.replay_remove_acl,
    md.UserScramCredentialRecord: ImageDelta.replay_scram,
    md.RemoveUserScramCredentialRecord: ImageDelta.replay_remove_scram,
    md.DelegationTokenRecord: ImageDelta.replay_token,
    md.RemoveDelegationTokenRecord: ImageDelta.replay_remove_token,
    md.ClientQuotaRecord: ImageDelta.replay_quota,
    md.NoOpRecord: ImageDelta.replay_nothing,
    md.ZkMigrationStateRecord: ImageDelta.replay_nothing,
}
