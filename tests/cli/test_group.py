"""`headrace group`: lag, resets that show first and act later, deletion."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from headrace.testing import wait_until
from tests.cli.conftest import Run


@pytest.fixture
def group(cli: Run, topic: str, name: str) -> str:
    """A group that has read four of ten records in one partition."""
    cli("produce", topic, "--partition", "0", stdin="".join(f"{n}\n" for n in range(10)))
    assert cli("consume", topic, "--group", name + "-g", "--count", "4").code == 0
    return name + "-g"


def offset(cli: Run, group: str) -> int:
    partitions = cli("group", "describe", group, "--json").json["partitions"]
    return next(row["committed_offset"] for row in partitions if row["partition"] == 0)


def test_lag(cli: Run, topic: str, group: str) -> None:
    (listed,) = [row for row in cli("group", "list", "--json").json if row["group"] == group]
    assert (listed["state"], listed["members"], listed["topics"], listed["lag"]) == ("Empty", 0, [topic], 6)
    described = cli("group", "describe", group, "--json").json
    row = next(row for row in described["partitions"] if row["partition"] == 0)
    assert (row["committed_offset"], row["end_offset"], row["lag"]) == (4, 10, 6)
    assert "lag 6" in cli("group", "describe", group).out
    assert group in cli("group", "list").out


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (["--to-earliest"], 0),
        (["--to-latest"], 10),
        (["--to-offset", "7"], 7),
        (["--to-offset", "99"], 10),
        (["--shift-by", "-3"], 1),
        (["--shift-by", "-30"], 0),
        (["--to-datetime", "-1h"], 0),
        (["--to-datetime", "now"], 10),
    ],
)
def test_resets(cli: Run, topic: str, group: str, target: list[str], expected: int) -> None:
    command = ["group", "reset-offsets", group, "--topic", f"{topic}:0", *target, "--json"]
    planned = cli(*command)
    assert planned.json["partitions"] == [{"topic": topic, "partition": 0, "from": 4, "to": expected}]
    assert planned.json["executed"] is False
    assert offset(cli, group) == 4
    assert cli(*command, "--execute").json["executed"] is True
    assert offset(cli, group) == expected


def test_a_dry_run_says_so(cli: Run, group: str) -> None:
    outcome = cli("group", "reset-offsets", group, "--to-earliest")
    assert outcome.code == 0
    assert "Nothing was changed. Add --execute to do it." in outcome.err


def test_a_group_with_members_can_be_seen_but_not_moved(
    cli: Run, topic: str, group: str, spawn: Callable[..., subprocess.Popen[bytes]]
) -> None:
    spawn("consume", topic, "--group", group, "--follow")
    described = wait_until(
        lambda: next((d for d in [cli("group", "describe", group, "--json").json] if d["state"] == "Stable"), None),
        timeout_s=30,
        interval_s=0.2,
        message="a stable group",
    )
    assert len(described["members"]) == 1
    assert {row["member_id"] for row in described["partitions"]} == {described["members"][0]["member_id"]}
    for command in (["reset-offsets", group, "--to-earliest", "--execute"], ["delete", group, "--yes"]):
        refused = cli("group", *command)
        assert refused.code == 1
        assert "1 active member" in refused.err


def test_deletion(cli: Run, group: str) -> None:
    assert cli("group", "delete", group).code == 2
    assert cli("group", "delete", group, "--yes", "--json").json == [{"group": group, "deleted": True}]
    assert group not in [row["group"] for row in cli("group", "list", "--json").json]


def test_mistakes(cli: Run, topic: str, group: str) -> None:
    assert cli("group", "reset-offsets", group).code == 2
    assert cli("group", "reset-offsets", group, "--to-earliest", "--to-latest").code == 2
    assert cli("group", "reset-offsets", group, "--topic", f"{topic}:x", "--to-earliest").code == 2
    assert cli("group", "reset-offsets", group, "--topic", f"{topic}:9", "--to-earliest").code == 1
    assert cli("group", "reset-offsets", group + "-new", "--to-earliest").code == 1
    unknown = cli("group", "describe", group + "x")
    assert (unknown.code, f"'{group}'" in unknown.err) == (1, True)
