"""Topic settings: checks, and defaults that come from the broker in other units."""

from __future__ import annotations

import pytest

from headrace.settings import BrokerSettings, SettingError
from headrace.settings.describe import (
    Source,
    describe_all_brokers,
    describe_broker,
    describe_client_metrics,
    describe_group,
    describe_topic,
    topic_values,
)
from headrace.settings.topic import check_topic_overrides, check_topic_values


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "compact,delete"),
        ("cleanup.policy", ""),
        ("cleanup.policy", "compact , delete"),
        ("compression.type", "zstd"),
        ("compression.gzip.level", "-1"),
        ("compression.zstd.level", "-131072"),
        ("retention.ms", "-1"),
        ("retention.bytes", "-5"),
        ("segment.bytes", "1048576"),
        ("leader.replication.throttled.replicas", "*"),
        ("leader.replication.throttled.replicas", "0:1,2:3"),
        ("min.cleanable.dirty.ratio", "0.25"),
        ("internal.segment.bytes", "100"),
    ],
)
def test_allowed(name: str, value: str) -> None:
    check_topic_overrides({name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "compact,compact"),
        ("cleanup.policy", "compact,"),
        ("compression.type", "none"),
        ("compression.gzip.level", "0"),
        ("compression.lz4.level", "18"),
        ("retention.ms", "-2"),
        ("segment.bytes", "1048575"),
        ("leader.replication.throttled.replicas", "a:b"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("max.message.bytes", "-1"),
        ("max.message.bytes", "1e6"),
        ("no.such.thing", "1"),
    ],
)
def test_refused(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=name):
        check_topic_overrides({name: value})


def test_values_that_contradict_one_another() -> None:
    broker = BrokerSettings.parse({})
    with pytest.raises(SettingError, match=r"larger than max\.compaction\.lag\.ms"):
        check_topic_values(topic_values({"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"}, broker))
    with pytest.raises(SettingError, match="no tiered storage"):
        check_topic_values(topic_values({"remote.storage.enable": "true"}, broker))


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"log.retention.hours": "2"}, "retention.ms", 7_200_000),
        ({"log.retention.hours": "-1"}, "retention.ms", -1),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, "retention.ms", 180_000),
        ({"log.retention.minutes": "3", "log.retention.ms": "4"}, "retention.ms", 4),
        ({"log.roll.hours": "1"}, "segment.ms", 3_600_000),
        ({"log.flush.scheduler.interval.ms": "5"}, "flush.ms", 5),
        ({"log.flush.scheduler.interval.ms": "5", "log.flush.interval.ms": "6"}, "flush.ms", 6),
        ({"message.max.bytes": "7"}, "max.message.bytes", 7),
    ],
)
def test_defaults_from_the_broker(given: dict[str, str], name: str, value: int) -> None:
    assert topic_values({}, BrokerSettings.parse(given))[name] == value


def test_sources_in_kafkas_order() -> None:
    broker = BrokerSettings.parse({"message.max.bytes": "1"})
    broker.apply_dynamic({"message.max.bytes": "2"}, {"message.max.bytes": "3"})
    one = next(d for d in describe_topic({"max.message.bytes": "4"}, broker) if d.name == "max.message.bytes")
    assert (one.value, one.source) == ("4", Source.TOPIC_CONFIG)
    assert [(s.value, s.source) for s in one.synonyms] == [
        ("4", Source.TOPIC_CONFIG),
        ("3", Source.DYNAMIC_BROKER_CONFIG),
        ("2", Source.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("1", Source.STATIC_BROKER_CONFIG),
        ("1048588", Source.DEFAULT_CONFIG),
    ]


def test_broker_configs() -> None:
    broker = BrokerSettings.parse({"num.partitions": "4"})
    broker.apply_dynamic({"num.io.threads": "3", "plugin.secret": "x"}, {})
    described = {one.name: one for one in describe_broker(broker)}
    assert (described["num.partitions"].value, described["num.partitions"].source) == ("4", Source.STATIC_BROKER_CONFIG)
    assert described["num.partitions"].read_only
    assert not described["num.io.threads"].read_only
    assert described["plugin.secret"].value is None
    assert described["plugin.secret"].sensitive, "what we do not know may be a password"
    assert {one.name for one in describe_all_brokers(broker)} == {"num.io.threads", "plugin.secret"}


def test_group_and_client_metrics_configs() -> None:
    broker = BrokerSettings.parse({"group.consumer.session.timeout.ms": "50000"})
    group = {one.name: one for one in describe_group({"share.delivery.count.limit": "9"}, broker)}
    assert group["consumer.session.timeout.ms"].value == "50000"
    assert group["consumer.session.timeout.ms"].source == Source.STATIC_BROKER_CONFIG
    assert group["share.delivery.count.limit"].source == Source.GROUP_CONFIG
    metrics = {one.name: one for one in describe_client_metrics({"interval.ms": "1000"})}
    assert (metrics["interval.ms"].value, metrics["interval.ms"].source) == ("1000", Source.CLIENT_METRICS_CONFIG)
    assert metrics["match"].source == Source.DEFAULT_CONFIG
