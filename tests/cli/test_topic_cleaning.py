"""What `headrace topic describe` says of retention, compaction and deletion once consumed."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.cli import cleaning_view
from headrace.testing import LocalBroker, broker
from tests.cli.conftest import Run


def cleaning(cli: Run, topic: str) -> dict[str, Any]:
    (described,) = cli("topic", "describe", topic, "--json").json
    return described["cleaning"]


def test_retention(cli: Run, name: str) -> None:
    assert cli("topic", "create", name, "-c", "retention.ms=3600000", "-c", "retention.bytes=1048576").code == 0
    assert cli("produce", name, "--value", "x").code == 0
    found = cleaning(cli, name)
    assert (found["policy"], found["retention_ms"], found["retention_bytes"]) == (["delete"], 3_600_000, 1_048_576)
    text = cli("topic", "describe", name).out
    assert "deleted: what is older than 1 h or beyond 1.0 MiB per partition, by segments" in text


def test_progress_is_told_by_headrace(run: Run, headrace_shared_broker: LocalBroker, name: str) -> None:
    server = headrace_shared_broker
    cluster = ("-b", server.bootstrap_servers)
    server.create_topic(name, headrace_delete_consumed_groups=f"{name}-slow,{name}-absent")
    server.produce(name, [b"1", b"2", b"3"])
    assert run("consume", name, "--group", f"{name}-slow", "--count", "2", *cluster).code == 0
    (described,) = run("topic", "describe", name, "--json", *cluster).json
    (partition,) = described["cleaning"]["partitions"]
    assert partition["oldest_expires_ms"] > 0
    assert partition["consumed"] == {
        "groups": [{"group": f"{name}-slow", "offset": 2}, {"group": f"{name}-absent", "offset": None}],
        "log_will_start_at": 0,
    }
    text = run("topic", "describe", name, *cluster).out
    assert f"deleted once consumed by {name}-slow, {name}-absent" in text
    assert f"{name}-absent (has committed nothing)" in text
    assert "OLDEST SEGMENT GOES" in text


def test_compaction(run: Run, name: str) -> None:
    with broker(log_cleaner_enable=False) as server:
        cluster = ("-b", server.bootstrap_servers)
        server.create_topic(name, cleanup_policy="compact", internal_segment_bytes=200, max_compaction_lag_ms=3_600_000)
        server.produce(name, [(b"k", b"v" * 50)] * 10, batch_num_messages=1)
        (described,) = run("topic", "describe", name, "--json", *cluster).json
        (partition,) = described["cleaning"]["partitions"]
        compaction = partition["compaction"]
        assert (compaction["cleaned_to"], compaction["clean_bytes"], compaction["is_due"]) == (None, 0, True)
        assert compaction["dirty_ratio"] == 1.0
        text = run("topic", "describe", name, *cluster).out
        assert "runs when over 50% is dirty, or something dirty is 1 h old" in text
        assert "(100%, due)" in text
        assert "OLDEST SEGMENT GOES" not in text


def test_it_is_told_only_by_name(headrace_shared_broker: LocalBroker, name: str) -> None:
    from confluent_kafka.admin import ConfigResource, ResourceType

    headrace_shared_broker.create_topic(name)
    resource = ConfigResource(ResourceType.TOPIC, name)
    admin = headrace_shared_broker.admin()
    assert "headrace.cleaning" not in admin.describe_configs([resource])[resource].result(10)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"policy": []}, ["kept for ever"]),
        ({"retention_ms": None}, ["deleted by nothing: no limit is set"]),
        ({"retention_bytes": 2048}, ["deleted: what is older than 7 d or beyond 2.0 KiB per partition, by segments"]),
        ({"policy": [], "consumed_by": ["*"]}, ["deleted once consumed by every group that commits"]),
        (
            {"policy": ["compact"]},
            ["compacted: the last value of each key stays; runs when over 50% is dirty"],
        ),
    ],
)
def test_rules(changed: dict[str, Any], expected: list[str]) -> None:
    document = {
        "policy": ["delete"],
        "retention_ms": 604_800_000,
        "retention_bytes": None,
        "min_dirty_ratio": 0.5,
        "max_compaction_lag_ms": None,
        "consumed_by": [],
        "partitions": None,
    }
    assert cleaning_view.rules(document | changed) == expected
    assert cleaning_view.table(document | changed) is None
