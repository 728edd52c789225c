"""`headrace topic` from creation to deletion."""

from __future__ import annotations

from tests.cli.conftest import Run


def test_the_life_of_a_topic(cli: Run, name: str) -> None:
    created = cli("topic", "create", name, "-p", "2", "-c", "retention.ms=60000", "--json")
    assert (created.code, created.json) == (0, [{"topic": name, "created": True}])

    (listed,) = [row for row in cli("topic", "list", "--json").json if row["topic"] == name]
    assert (listed["partitions"], listed["replication_factor"], listed["records"]) == (2, 1, 0)

    (described,) = cli("topic", "describe", name, "--json").json
    assert described["config"] == {"retention.ms": "60000"}
    assert [p["partition"] for p in described["partitions"]] == [0, 1]
    assert all(p["start_offset"] == p["end_offset"] == 0 for p in described["partitions"])

    assert cli("topic", "alter", name, "--set", "retention.ms=70000", "--set", "max.message.bytes=2000").code == 0
    assert cli("topic", "alter", name, "--unset", "retention.ms", "--json").json["unset"] == ["retention.ms"]
    assert cli("topic", "describe", name, "--json").json[0]["config"] == {"max.message.bytes": "2000"}

    assert cli("topic", "add-partitions", name, "--to", "5", "--json").json == {
        "topic": name,
        "partitions": 5,
        "before": 2,
    }
    assert len(cli("topic", "describe", name, "--json").json[0]["partitions"]) == 5

    assert cli("topic", "delete", name, "--yes", "--json").json == [{"topic": name, "deleted": True}]
    assert name not in [row["topic"] for row in cli("topic", "list", "--json").json]


def test_sizes_and_records_are_shown(cli: Run, topic: str) -> None:
    cli("produce", topic, "--value", "x" * 1000, "--partition", "1")
    (described,) = cli("topic", "describe", topic, "--json").json
    assert [p["records"] for p in described["partitions"]] == [0, 1, 0]
    assert described["partitions"][1]["bytes"] > 1000
    text = cli("topic", "describe", topic)
    assert f"{topic}  3 partitions, 1 record\n" in text.out
    assert "PARTITION" in text.out


def test_a_topic_that_exists(cli: Run, topic: str) -> None:
    again = cli("topic", "create", topic)
    assert again.code == 1
    assert again.err.startswith(f"Error: Cannot create '{topic}'")
    assert "--if-not-exists" in again.err
    assert cli("topic", "create", topic, "--if-not-exists").code == 0


def test_a_topic_that_does_not_exist_is_answered_with_near_misses(cli: Run, topic: str) -> None:
    wrong = topic[:-1] + "x" + topic[-1]
    for command in (["describe", wrong], ["delete", wrong, "--yes"], ["alter", wrong, "--set", "a=b"]):
        outcome = cli("topic", *command)
        assert outcome.code == 1
        assert outcome.err.count("\n") == 1
        assert f"There is no topic '{wrong}'" in outcome.err
        assert f"'{topic}'" in outcome.err
        assert f"headrace topic create {wrong}" in outcome.err
    assert cli("topic", "delete", wrong, "--if-exists", "--yes").code == 0


def test_bad_settings_and_sizes(cli: Run, topic: str) -> None:
    misspelt = cli("topic", "alter", topic, "--set", "retention.msec=5")
    assert (misspelt.code, "Did you mean 'retention.ms'" in misspelt.err) == (1, True)
    bad_value = cli("topic", "alter", topic, "--set", "retention.ms=soon")
    assert bad_value.code == 1
    assert "retention.ms" in bad_value.err
    fewer = cli("topic", "add-partitions", topic, "--to", "2")
    assert (fewer.code, "--to 4" in fewer.err) == (1, True)
    assert cli("topic", "create", "no/slash").code == 1
    assert cli("topic", "create", "x", "-c", "novalue").code == 2
    assert cli("topic", "alter", topic).code == 2


def test_deleting_asks_and_without_anybody_to_ask_insists_on_yes(cli: Run, topic: str) -> None:
    outcome = cli("topic", "delete", topic)
    assert outcome.code == 2
    assert "--yes" in outcome.err
    assert cli("topic", "describe", topic).code == 0
