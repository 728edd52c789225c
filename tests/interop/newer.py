"""What Apache Kafka 4.3 has and Headrace has not: groups of the newer protocols, share groups, quotas, SCRAM credentials.

A directory with them must come back to Apache Kafka with all of them. `use_all` leaves one of each, `described` reads them back.
"""

from __future__ import annotations

from typing import Any

from conformance.apache_kafka import run_tool
from headrace.testing import wait_until
from headrace.wire.messages.list_groups import ListGroupsRequest
from tests.broker.raw import RawClient
from tests.interop.programs import alter, consume, create_topics, produce

GROUP = 32
CONSOLE = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
CONFIGS = "kafka.admin.ConfigCommand"
ALICE = ["--entity-type", "users", "--entity-name", "alice"]


def use_all(port: int) -> None:
    servers = f"127.0.0.1:{port}"
    create_topics(servers)
    produce(servers, "codec-lz4", "lz4")
    consume(servers, "newer", "codec-lz4", 60, **{"group.protocol": "consumer"})
    consume(servers, "upgraded", "codec-lz4", 50)
    consume(servers, "upgraded", "codec-lz4", 1, **{"group.protocol": "consumer"})
    with RawClient(port) as client:
        alter(client, GROUP, "shared", {"share.auto.offset.reset": "earliest"})
    limits = ["--max-messages", "20", "--timeout-ms", "60000"]
    run_tool(CONSOLE, "--bootstrap-server", servers, "--topic", "codec-lz4", "--group", "shared", *limits)
    for given in ("producer_byte_rate=12345", "SCRAM-SHA-256=[iterations=4096,password=secret]"):
        run_tool(CONFIGS, "--bootstrap-server", servers, "--alter", *ALICE, "--add-config", given)


def described(port: int) -> dict[str, Any]:
    """Everything above as Apache Kafka shows it, members gone."""
    server = ["--bootstrap-server", f"127.0.0.1:{port}"]

    def groups() -> Any:
        with RawClient(port) as client:
            listed = client.call(ListGroupsRequest(), 5).groups
        found = {one.group_id: (one.group_type, one.group_state) for one in listed}
        return found if all(state == "Empty" for _, state in found.values()) and "shared" in found else None

    return {
        "groups": wait_until(groups, timeout_s=60),
        "shared": run_tool(SHARE_GROUPS, *server, "--describe", "--group", "shared", "--offsets").stdout.split(),
        "alice": run_tool(CONFIGS, *server, "--describe", *ALICE).stdout.split(),
    }
