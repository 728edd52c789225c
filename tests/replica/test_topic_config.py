"""What a topic's log runs with."""

from __future__ import annotations

from headrace.replica.image import TOPIC_RESOURCE
from headrace.replica.topic_config import log_config, min_insync_replicas, topic_config
from headrace.settings import BrokerSettings
from headrace.storage.config import LogConfig
from tests.replica.cluster import Cluster


def test_defaults_are_those_of_storage() -> None:
    assert topic_config({}, BrokerSettings.parse({})) == LogConfig()


def test_topic_over_broker_over_default() -> None:
    broker = BrokerSettings.parse(
        {"log.retention.hours": "1", "log.segment.bytes": "2000000", "producer.id.expiration.ms": "9"}
    )
    config = topic_config({"retention.ms": "5", "cleanup.policy": "compact,delete"}, broker)
    assert (config.retention_ms, config.segment_bytes, config.producer_id_expiration_ms) == (5, 2_000_000, 9)
    assert config.cleanup_policy == {"compact", "delete"}


def test_small_segments_for_tests() -> None:
    assert topic_config({"internal.segment.bytes": "100"}, BrokerSettings.parse({})).segment_bytes == 100


def test_topics_without_configs_share_one_object_until_a_setting_changes() -> None:
    cluster = Cluster()
    cluster.create("a")
    cluster.create("b")
    cluster.create("c", retention_ms="7")
    first = log_config(cluster.image, "a", cluster.settings)
    assert log_config(cluster.image, "b", cluster.settings) is first
    assert log_config(cluster.image, "c", cluster.settings).retention_ms == 7
    cluster.settings.apply_dynamic({"message.max.bytes": "5"}, {})
    assert log_config(cluster.image, "a", cluster.settings).max_message_bytes == 5


def test_min_insync_replicas() -> None:
    cluster = Cluster()
    cluster.create("t")
    assert min_insync_replicas(cluster.image, "t", cluster.settings) == 1
    cluster.alter(TOPIC_RESOURCE, "t", ("min.insync.replicas", 0, "2"))
    assert min_insync_replicas(cluster.image, "t", cluster.settings) == 2
