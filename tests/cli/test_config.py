"""`headrace config`: topics and brokers."""

from __future__ import annotations

from tests.cli.conftest import Run


def value(cli: Run, key: str, *whose: str) -> tuple[str, str]:
    entries = cli("config", "describe", *whose, "--all", "--json").json
    return next((entry["value"], entry["source"]) for entry in entries if entry["name"] == key)


def test_a_topic(cli: Run, topic: str) -> None:
    assert value(cli, "retention.ms", "--topic", topic) == ("604800000", "default")
    assert cli("config", "set", "retention.ms=60000", "cleanup.policy=delete,compact", "--topic", topic).code == 0
    assert value(cli, "retention.ms", "--topic", topic) == ("60000", "topic")
    text = cli("config", "describe", "--topic", topic).out
    assert "60000 (1 m)" in text
    assert "segment.bytes" not in text
    assert cli("config", "unset", "retention.ms", "cleanup.policy", "--topic", topic).code == 0
    assert value(cli, "retention.ms", "--topic", topic) == ("604800000", "default")
    assert "retention.ms" not in cli("config", "describe", "--topic", topic).out


def test_a_broker(cli: Run) -> None:
    broker = cli("config", "describe", "--broker", "nobody").err.rsplit(" ", 1)[-1].strip()
    assert cli("config", "set", "log.retention.ms=123456789", "--broker", broker).code == 0
    assert value(cli, "log.retention.ms", "--broker", broker) == ("123456789", "broker")
    assert cli("config", "unset", "log.retention.ms", "--broker", broker).code == 0


def test_mistakes(cli: Run, topic: str) -> None:
    assert cli("config", "describe").code == 2
    assert cli("config", "describe", "--topic", topic, "--broker", "1").code == 2
    assert cli("config", "set", "retention.ms", "--topic", topic).code == 2
    assert "Did you mean 'cleanup.policy'" in cli("config", "set", "cleanup.polisy=x", "--topic", topic).err
    assert "There is no broker '77'" in cli("config", "describe", "--broker", "77").err
    refused = cli("config", "set", "cleanup.policy=shred", "--topic", topic)
    assert refused.code == 1
    assert refused.err.count("\n") == 1
