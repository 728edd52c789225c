"""A broker's settings: what is taken, what is refused and in which words, and which layer wins."""

from __future__ import annotations

import pytest

from headrace.settings import BrokerSettings, SettingError


def problem(**settings: object) -> str:
    with pytest.raises(SettingError) as raised:
        BrokerSettings.parse({name.replace("_", "."): value for name, value in settings.items()})
    return str(raised.value)


def test_typed_access() -> None:
    settings = BrokerSettings.parse(
        {"log.dirs": "/a, /b", "num.partitions": " 4 ", "auto.create.topics.enable": "False"}
    )
    assert settings["log.dirs"] == settings.log_dirs == ["/a", "/b"]
    assert settings["num.partitions"] == 4
    assert settings["auto.create.topics.enable"] is False


def test_python_values_are_taken_too() -> None:
    settings = BrokerSettings.parse({"num.partitions": 3, "delete.topic.enable": False, "log.dirs": ["/x", "/y"]})
    assert (settings["num.partitions"], settings["delete.topic.enable"]) == (3, False)
    assert settings.log_dirs == ["/x", "/y"]


def test_errors_name_the_key_the_value_and_what_is_allowed() -> None:
    assert problem(num_partitions="0") == "num.partitions: '0' is not allowed, it must be at least 1"
    assert problem(num_partitions="two") == "num.partitions: 'two' is not a whole number of 32 bits"
    assert problem(num_partitions="3000000000") == "num.partitions: '3000000000' is not a whole number of 32 bits"
    assert "one of CreateTime, LogAppendTime" in problem(log_message_timestamp_type="Now")
    assert "neither true nor false" in problem(delete_topic_enable="yes")
    assert "a list of compact and/or delete" in problem(log_cleanup_policy="shred")
    assert "-1 (for ever)" in problem(log_retention_ms="0")


def test_unknown_names_get_a_suggestion() -> None:
    assert problem(num_partition="1").endswith("(did you mean num.partitions?)")
    assert "did you mean" not in problem(zzz_qqq="1")


def test_kafkas_settings_without_effect_are_taken_and_listed() -> None:
    settings = BrokerSettings.parse({"ssl.keystore.location": "/k", "listener.name.x.ssl.client.auth": "none"})
    assert settings.unused == ["ssl.keystore.location", "listener.name.x.ssl.client.auth"]


def test_old_names() -> None:
    settings = BrokerSettings.parse({"broker.id": "7", "log.dir": "/old"})
    assert (settings.node_id, settings.log_dirs) == (7, ["/old"])
    assert "differs from node.id" in problem(broker_id="7", node_id="8")


def test_the_metadata_log_is_in_the_first_directory() -> None:
    BrokerSettings.parse({"log.dirs": "/a,/b", "metadata.log.dir": "/a"})
    assert "must be the first of log.dirs" in problem(log_dirs="/a,/b", metadata_log_dir="/b")


def test_listeners() -> None:
    settings = BrokerSettings.parse(
        {
            "listeners": "PLAINTEXT://:9092,inside://[::1]:0,CONTROLLER://:9093",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
            "advertised.listeners": "PLAINTEXT://kafka.example:19092",
        }
    )
    assert [str(one) for one in settings.listeners] == ["PLAINTEXT://:9092", "INSIDE://[::1]:0"]
    assert settings.controller_listener.port == 9093
    assert settings.advertised_listeners["PLAINTEXT"].host == "kafka.example"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("listeners", "9092", "NAME://host:port"),
        ("listeners", "PLAINTEXT://:99999", "between 0 and 65535"),
        ("listeners", "OTHER://:1", "listener.security.protocol.map"),
        ("listeners", "SSL://:9092", "only PLAINTEXT exists so far"),
        ("listeners", "PLAINTEXT://h:1,PLAINTEXT://h:2", "a name of its own"),
        ("listeners", "CONTROLLER://:9093", "clients need one too"),
        ("advertised.listeners", "PLAINTEXT://0.0.0.0:9092", "no address a client can connect to"),
        ("listener.security.protocol.map", "A", "NAME:PROTOCOL"),
        ("inter.broker.listener.name", "INSIDE", "not among listeners"),
        ("max.connections.per.ip.overrides", "localhost", "host:count"),
    ],
)
def test_bad_listeners(name: str, value: str, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        BrokerSettings.parse({name: value})


def test_dynamic_layers_win_over_what_was_given() -> None:
    settings = BrokerSettings.parse({"message.max.bytes": "1000", "num.partitions": "2"})
    assert settings.apply_dynamic({"message.max.bytes": "2000"}, {}) == {"message.max.bytes"}
    assert settings["message.max.bytes"] == 2000
    assert settings.apply_dynamic({"message.max.bytes": "2000"}, {"message.max.bytes": "3000"}) == {"message.max.bytes"}
    assert settings["message.max.bytes"] == 3000
    assert settings.apply_dynamic({}, {}) == {"message.max.bytes"}
    assert settings["message.max.bytes"] == 1000


def test_a_dynamic_value_that_cannot_be_is_left_out() -> None:
    """A directory written by another Kafka must still open."""
    settings = BrokerSettings.parse({})
    assert settings.apply_dynamic({"message.max.bytes": "many", "num.partitions": "9", "custom": "x"}, {}) == set()


def test_cached_values_follow_changes() -> None:
    settings = BrokerSettings.parse({})
    assert settings.cached("x", lambda: settings["message.max.bytes"]) == 1048588
    settings.apply_dynamic({"message.max.bytes": "5"}, {})
    assert settings.cached("x", lambda: settings["message.max.bytes"]) == 5
