"""The brokers of the cluster as a client of one listener sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.broker.server import Broker

# What may be done with a resource, as bits of Kafka's operation codes. Without an authorizer, everything that can be.
TOPIC_OPERATIONS = sum(1 << code for code in (3, 4, 5, 6, 7, 8, 10, 11))
CLUSTER_OPERATIONS = sum(1 << code for code in (5, 7, 8, 9, 10, 11, 12))


class Node(NamedTuple):
    id: int
    host: str
    port: int
    rack: str | None
    fenced: bool


def nodes(broker: Broker, listener_name: str) -> list[Node]:
    """Every registered broker that has this listener; this one with the address its own listener advertises."""
    result = []
    for registered in broker.image.brokers.values():
        if registered.id == broker.node_id:
            host, port = broker.advertised(listener_name)
            result.append(Node(registered.id, host, port, registered.rack, False))
            continue
        result += [
            Node(registered.id, end_point.host, end_point.port, registered.rack, registered.fenced)
            for end_point in registered.end_points
            if end_point.name == listener_name
        ]
    return result
