"""A cluster of one node for tests of the controller: an image, settings, and the requests that change it."""

from __future__ import annotations

from typing import Any

from headrace.replica import controller
from headrace.replica.features import NEW_CLUSTER
from headrace.replica.image import ClusterImage
from headrace.settings import BrokerSettings
from headrace.settings.listeners import Listener
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from headrace.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from headrace.wire.records.metadata import FeatureLevelRecord
from headrace.wire.schema import Message

NODE_ID = 1
DIRECTORY_ID = bytes(range(16))


def registration(**changes: Any) -> controller.Registration:
    fields: dict[str, Any] = {
        "node_id": NODE_ID,
        "listeners": [Listener("PLAINTEXT", "broker", 9092, "PLAINTEXT")],
        "controller_listener": Listener("CONTROLLER", "broker", 9093, "PLAINTEXT"),
        "log_dirs": [DIRECTORY_ID],
    }
    return controller.Registration(**(fields | changes))


class Cluster:
    """Applies what the controller decides; keeps every record for replaying."""

    def __init__(self, **settings: object) -> None:
        self.settings = BrokerSettings.parse({name.replace("_", "."): value for name, value in settings.items()})
        self.image = ClusterImage(cluster_id="cluster", controller_id=NODE_ID)
        self.records: list[Message] = []
        self.take([FeatureLevelRecord(name=name, feature_level=level) for name, level in NEW_CLUSTER.items()])
        self.take(controller.on_register_broker(self.image, registration()))

    def take(self, records: list[Message]) -> list[Message]:
        self.records += records
        self.image = self.image.apply(records)
        return records

    def create_all(self, *topics: CreatableTopic, validate_only: bool = False) -> list[Any]:
        request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
        records, response = controller.on_create_topics(self.image, request, self.settings)
        self.take(records)
        return response.topics

    def create(self, name: str, partitions: int = 1, factor: int = 1, **configs: str) -> Any:
        return self.create_all(creatable(name, partitions, factor, **configs))[0]

    def delete(self, *names: str) -> list[Any]:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names])
        records, response = controller.on_delete_topics(self.image, request, self.settings)
        self.take(records)
        return response.responses

    def add_partitions(self, name: str, count: int) -> Any:
        request = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name=name, count=count, assignments=None)])
        records, response = controller.on_create_partitions(self.image, request, self.settings)
        self.take(records)
        return response.results[0]

    def alter(self, kind: int, name: str, *operations: tuple[str, int, str | None]) -> Any:
        resource = AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in operations],
        )
        request = IncrementalAlterConfigsRequest(resources=[resource])
        records, response = controller.on_incremental_alter_configs(self.image, request, self.settings, NODE_ID)
        self.take(records)
        return response.responses[0]


def creatable(name: str, partitions: int = 1, factor: int = 1, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


def code(result: Any) -> ErrorCode:
    return ErrorCode(result.error_code)
