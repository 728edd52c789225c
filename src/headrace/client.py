"""The one factory for Kafka clients inside Headrace: producers, consumers and admin clients of `confluent-kafka`.

Every producer of ours is idempotent, asks for all acknowledgements, and places keys with Java's hash: librdkafka's own default
would put one key into two partitions as soon as a Java program writes to the same topic. The same functions serve Headrace and
Apache Kafka. This module must not know anything about a broker but its address.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient

PRODUCER_DEFAULTS: Mapping[str, Any] = {
    "partitioner": "murmur2_random",
    "enable.idempotence": True,
    "acks": "all",
}

# librdkafka prints connection failures on its own; the caller sees them as exceptions or through `error_cb` instead.
_SILENT = logging.getLogger("headrace.client.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def common(bootstrap_servers: str, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What every client starts from: the address, no printing, and what the caller wants to change."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "client.id": "headrace",
        "logger": _SILENT,
        "error_cb": _ignore,
        **(overrides or {}),
    }


def _ignore(_error: Any) -> None:
    """Errors that concern a call are raised by that call; those that heal by themselves are nobody's business."""


def producer(bootstrap_servers: str, overrides: Mapping[str, Any] | None = None) -> Producer:
    """An idempotent producer with acks=all and Java's partitioner, unless `overrides` says otherwise."""
    from confluent_kafka import Producer

    config = {**PRODUCER_DEFAULTS, **(overrides or {})}
    if str(config["acks"]) not in ("all", "-1"):
        config["enable.idempotence"] = False
    return Producer(common(bootstrap_servers, config))


def consumer(
    bootstrap_servers: str, group_id: str | None = None, overrides: Mapping[str, Any] | None = None
) -> Consumer:
    """A consumer that starts at the beginning. Without `group_id` it is for `assign` only and commits nothing."""
    from confluent_kafka import Consumer

    config: dict[str, Any] = {"auto.offset.reset": "earliest", "enable.partition.eof": False}
    if group_id is None:
        config |= {"group.id": "headrace-without-group", "enable.auto.commit": False, "enable.auto.offset.store": False}
    else:
        config["group.id"] = group_id
    return Consumer(common(bootstrap_servers, config | dict(overrides or {})))


def admin(bootstrap_servers: str, overrides: Mapping[str, Any] | None = None) -> AdminClient:
    """An admin client."""
    from confluent_kafka.admin import AdminClient

    return AdminClient(common(bootstrap_servers, overrides))
