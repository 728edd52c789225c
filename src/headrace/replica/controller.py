"""The controller of one node: pure functions `on_<request>(image, request, ...) -> (records, response)`.

The caller writes the records to the metadata log and answers once they are there; nothing here does I/O or keeps state. Validation and
error codes are Kafka's; the words of the messages are our own.
"""

from __future__ import annotations

from headrace.replica.controller_brokers import (
    Registration,
    on_allocate_producer_ids,
    on_assign_directories,
    on_directories_lost,
    on_register_broker,
)
from headrace.replica.controller_configs import on_alter_configs, on_incremental_alter_configs
from headrace.replica.controller_error import Refused
from headrace.replica.controller_features import on_update_features
from headrace.replica.controller_reassignments import on_alter_partition_reassignments
from headrace.replica.controller_topics import on_create_partitions, on_create_topics, on_delete_topics
from headrace.replica.internal_topics import internal_topic, on_create_internal_topic

__all__ = [
    "Refused",
    "Registration",
    "internal_topic",
    "on_allocate_producer_ids",
    "on_alter_configs",
    "on_alter_partition_reassignments",
    "on_assign_directories",
    "on_create_internal_topic",
    "on_create_partitions",
    "on_create_topics",
    "on_delete_topics",
    "on_directories_lost",
    "on_incremental_alter_configs",
    "on_register_broker",
    "on_update_features",
]
