"""Configs: the four operations, who may be altered, and Kafka's error for each mistake."""

from __future__ import annotations

import pytest

from headrace.replica import controller
from headrace.replica.image import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from headrace.wire.errors import ErrorCode
from headrace.wire.messages import alter_configs as legacy
from headrace.wire.messages import incremental_alter_configs as incremental
from headrace.wire.records.metadata import ClearElrRecord, ConfigRecord
from tests.replica.cluster import NODE_ID, Cluster, code

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.create("t")
    return cluster


def test_set_and_delete(cluster: Cluster) -> None:
    assert code(cluster.alter(TOPIC_RESOURCE, "t", ("retention.ms", SET, "5"))) == ErrorCode.NONE
    assert cluster.image.topic_config("t") == {"retention.ms": "5"}
    assert code(cluster.alter(TOPIC_RESOURCE, "t", ("retention.ms", DELETE, None))) == ErrorCode.NONE
    assert cluster.image.topic_config("t") == {}


def test_append_and_subtract_start_from_the_default(cluster: Cluster) -> None:
    cluster.alter(TOPIC_RESOURCE, "t", ("cleanup.policy", APPEND, "compact"))
    assert cluster.image.topic_config("t") == {"cleanup.policy": "delete,compact"}
    cluster.alter(TOPIC_RESOURCE, "t", ("cleanup.policy", APPEND, "compact"))
    assert cluster.image.topic_config("t") == {"cleanup.policy": "delete,compact"}
    cluster.alter(TOPIC_RESOURCE, "t", ("cleanup.policy", SUBTRACT, "delete"))
    assert cluster.image.topic_config("t") == {"cleanup.policy": "compact"}


def test_nothing_is_written_when_nothing_changes(cluster: Cluster) -> None:
    cluster.alter(TOPIC_RESOURCE, "t", ("retention.ms", SET, "5"))
    before = len(cluster.records)
    cluster.alter(TOPIC_RESOURCE, "t", ("retention.ms", SET, "5"), ("flush.ms", DELETE, None))
    assert len(cluster.records) == before


@pytest.mark.parametrize(
    ("kind", "name", "operation", "error"),
    [
        (TOPIC_RESOURCE, "t", ("retention.ms", SET, "x"), ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "t", ("no.such", SET, "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "t", ("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "t", ("cleanup.policy", APPEND, "shred"), ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "t", ("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (TOPIC_RESOURCE, "t", ("retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
        (TOPIC_RESOURCE, "t", ("compression.type", SET, "z" * 40_000), ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "u", ("retention.ms", SET, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC_RESOURCE, "a b", ("retention.ms", SET, "1"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC_RESOURCE, "", ("retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "2", ("num.io.threads", SET, "1"), ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "1", ("num.io.threads", SET, "0"), ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "1", ("num.partitions", SET, "3"), ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "1", ("min.insync.replicas", SET, "1"), ErrorCode.INVALID_CONFIG),
        (BROKER_RESOURCE, "", ("min.insync.replicas", DELETE, None), ErrorCode.INVALID_CONFIG),
        (GROUP_RESOURCE, "", ("share.delivery.count.limit", SET, "3"), ErrorCode.INVALID_REQUEST),
        (GROUP_RESOURCE, "g", ("share.delivery.count.limit", SET, "1"), ErrorCode.INVALID_CONFIG),
        (GROUP_RESOURCE, "g", ("no.such", SET, "1"), ErrorCode.INVALID_CONFIG),
        (99, "x", ("a", SET, "1"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_refused(cluster: Cluster, kind: int, name: str, operation: tuple, error: ErrorCode) -> None:
    before = cluster.image.configs
    result = cluster.alter(kind, name, operation)
    assert code(result) == error
    assert result.error_message
    assert cluster.image.configs == before


def test_brokers_groups_and_subscriptions(cluster: Cluster) -> None:
    assert code(cluster.alter(BROKER_RESOURCE, "1", ("message.max.bytes", SET, "5"))) == ErrorCode.NONE
    assert code(cluster.alter(BROKER_RESOURCE, "", ("message.max.bytes", SET, "6"))) == ErrorCode.NONE
    # Plug-ins have names of their own, so Kafka takes any.
    assert code(cluster.alter(BROKER_RESOURCE, "1", ("my.plugin", SET, "x"))) == ErrorCode.NONE
    assert code(cluster.alter(GROUP_RESOURCE, "g", ("consumer.session.timeout.ms", SET, "46000"))) == ErrorCode.NONE
    assert code(cluster.alter(CLIENT_METRICS_RESOURCE, "m", ("interval.ms", SET, "1000"))) == ErrorCode.NONE
    assert cluster.image.config(BROKER_RESOURCE, "1") == {"message.max.bytes": "5", "my.plugin": "x"}
    assert cluster.image.config(GROUP_RESOURCE, "g") == {"consumer.session.timeout.ms": "46000"}


def test_a_resource_is_altered_as_a_whole_or_not_at_all(cluster: Cluster) -> None:
    cluster.alter(TOPIC_RESOURCE, "t", ("retention.ms", SET, "5"), ("flush.ms", SET, "soon"))
    assert cluster.image.topic_config("t") == {}


def request(*resources: incremental.AlterConfigsResource, validate_only: bool = False):
    return incremental.IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)


def resource(name: str, *configs: tuple[str, int, str]) -> incremental.AlterConfigsResource:
    items = [incremental.AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in configs]
    return incremental.AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configs=items)


def test_repetitions_and_validate_only(cluster: Cluster) -> None:
    one = resource("t", ("retention.ms", SET, "1"))
    for asked, errors in (
        (request(one, one), [ErrorCode.INVALID_REQUEST] * 2),
        (request(resource("t", ("flush.ms", SET, "1"), ("flush.ms", SET, "2"))), [ErrorCode.INVALID_REQUEST]),
        (request(one, validate_only=True), [ErrorCode.NONE]),
    ):
        records, response = controller.on_incremental_alter_configs(cluster.image, asked, cluster.settings, NODE_ID)
        assert records == []
        assert [code(result) for result in response.responses] == errors


def test_a_new_min_isr_clears_the_eligible_leaders(cluster: Cluster) -> None:
    cluster.alter(TOPIC_RESOURCE, "t", ("min.insync.replicas", SET, "2"))
    assert [type(record) for record in cluster.records[-2:]] == [ConfigRecord, ClearElrRecord]
    assert cluster.records[-1].topic_name == "t"
    cluster.alter(BROKER_RESOURCE, "", ("min.insync.replicas", SET, "2"))
    assert cluster.records[-1] == ClearElrRecord(topic_name="")


def test_the_older_way_replaces_everything(cluster: Cluster) -> None:
    cluster.alter(TOPIC_RESOURCE, "t", ("retention.ms", SET, "5"), ("flush.ms", SET, "6"))
    item = legacy.AlterableConfig(name="segment.ms", value="7")
    asked = legacy.AlterConfigsRequest(
        resources=[legacy.AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name="t", configs=[item])]
    )
    records, response = controller.on_alter_configs(cluster.image, asked, cluster.settings, NODE_ID)
    assert code(response.responses[0]) == ErrorCode.NONE
    cluster.take(records)
    assert cluster.image.topic_config("t") == {"segment.ms": "7"}
    item.value = None
    _, response = controller.on_alter_configs(cluster.image, asked, cluster.settings, NODE_ID)
    assert code(response.responses[0]) == ErrorCode.INVALID_REQUEST


def test_the_older_way_keeps_min_isr_of_all_brokers(cluster: Cluster) -> None:
    cluster.alter(BROKER_RESOURCE, "", ("min.insync.replicas", SET, "1"), ("num.io.threads", SET, "3"))
    item = legacy.AlterableConfig(name="num.io.threads", value="4")
    asked = legacy.AlterConfigsRequest(
        resources=[legacy.AlterConfigsResource(resource_type=BROKER_RESOURCE, resource_name="", configs=[item])]
    )
    records, response = controller.on_alter_configs(cluster.image, asked, cluster.settings, NODE_ID)
    assert code(response.responses[0]) == ErrorCode.NONE
    cluster.take(records)
    assert cluster.image.config(BROKER_RESOURCE, "") == {"min.insync.replicas": "1", "num.io.threads": "4"}
