"""Every declaration as such: documented, parsable, and with Kafka's names and defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.settings import BROKER_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS, BrokerSettings, Setting
from headrace.settings.describe import describe_topic
from headrace.settings.group import CLIENT_METRICS_SETTINGS
from headrace.settings.kafka_names import UNUSED_KAFKA_SETTINGS

GOLDEN = Path(__file__).parent / "golden"
ALL = [
    *BROKER_SETTINGS.values(),
    *TOPIC_SETTINGS.values(),
    *GROUP_SETTINGS.values(),
    *CLIENT_METRICS_SETTINGS.values(),
]

# Where Headrace differs from Kafka on purpose: one node, loopback, its own directory, sockets left to the operating system.
OWN_DEFAULTS = {
    "advertised.listeners",
    "broker.id",
    "controller.listener.names",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "node.id",
    "offsets.topic.replication.factor",
    "process.roles",
    "socket.listen.backlog.size",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "transaction.state.log.min.isr",
    "transaction.state.log.replication.factor",
}


def kafka_broker_defaults() -> dict[str, str | None]:
    lines = (GOLDEN / "kafka_4_3_broker_defaults.txt").read_text().splitlines()
    pairs = (line.partition("=") for line in lines)
    return {name: None if value == "null" else value for name, _, value in pairs}


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.name)
def test_every_setting_is_documented(setting: Setting) -> None:
    assert len(setting.doc) >= 20, "say what it does, in a sentence"
    assert setting.doc.endswith((".", ".)"))
    assert setting.importance in ("high", "medium", "low")


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.name)
def test_every_default_is_a_value_of_its_setting(setting: Setting) -> None:
    if setting.default is not None:
        assert setting.parse(setting.format(setting.default)) == setting.default


def test_broker_defaults_are_kafkas() -> None:
    kafka = kafka_broker_defaults()
    different = {
        name: (setting.format(setting.default), kafka[name])
        for name, setting in BROKER_SETTINGS.items()
        if name in kafka and name not in OWN_DEFAULTS and setting.format(setting.default) != kafka[name]
    }
    assert different == {}


def test_kafkas_broker_settings_are_declared_or_listed_as_unused() -> None:
    """No name of Kafka's stops a start, and none is in both places."""
    known = set(BROKER_SETTINGS) | UNUSED_KAFKA_SETTINGS
    assert set(kafka_broker_defaults()) - known == set()
    assert set(BROKER_SETTINGS) & UNUSED_KAFKA_SETTINGS == set()


def test_topic_settings_are_kafkas_with_defaults_and_synonyms() -> None:
    """Golden: what kafka-configs prints for a topic of Apache Kafka 4.3."""
    sources = {1: "DYNAMIC_TOPIC_CONFIG", 4: "STATIC_BROKER_CONFIG", 5: "DEFAULT_CONFIG"}
    lines = []
    for one in sorted(describe_topic({}, BrokerSettings.parse({}))):
        synonyms = ", ".join(f"{sources[s.source]}:{s.name}={s.value}" for s in one.synonyms)
        lines.append(f"{one.name}={one.value} synonyms={{{synonyms}}}")
    ours = [line for line in lines if not line.startswith("headrace.")]
    assert ours == (GOLDEN / "kafka_4_3_topic_configs.txt").read_text().splitlines()


def test_topic_synonyms_name_broker_settings() -> None:
    missing = [s.name for setting in TOPIC_SETTINGS.values() for s in setting.synonyms if s.name not in BROKER_SETTINGS]
    assert missing == []
