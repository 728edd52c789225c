"""`headrace consume`: where it starts, where it ends, in which order, and as a member of a group."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def filled(cli: Run, topic: str) -> str:
    """Nine records: value n in partition n % 3, ten seconds apart from each other."""
    lines = [
        f'{{"value":"{n}","key":"k{n}","partition":{n % 3},"timestamp":{1_700_000_000_000 + n * 10_000}}}'
        for n in range(9)
    ]
    assert cli("produce", topic, "--input", "json", stdin="\n".join(lines)).code == 0
    return topic


def values(cli: Run, *arguments: str) -> list[int]:
    outcome = cli("consume", *arguments)
    assert outcome.code == 0, outcome.err
    return [int(line) for line in outcome.out.split()]


def test_everything_by_default(cli: Run, filled: str) -> None:
    assert sorted(values(cli, filled)) == list(range(9))
    assert sorted(values(cli, filled, "--from-beginning")) == list(range(9))


def test_merged_by_timestamp(cli: Run, filled: str) -> None:
    assert values(cli, filled, "--merge") == list(range(9))
    assert values(cli, filled, "--merge", "--count", "4") == [0, 1, 2, 3]


def test_where_to_start_and_end(cli: Run, filled: str) -> None:
    assert values(cli, filled, "--from", "2", "--merge") == [6, 7, 8]
    assert values(cli, filled, "--from", "-1", "--merge") == [6, 7, 8]
    assert values(cli, filled, "--from", "end") == []
    assert values(cli, filled, "--from", "99") == []
    assert values(cli, filled, "--from", "@1700000040000", "--merge") == [4, 5, 6, 7, 8]
    assert values(cli, filled, "--from", "2023-11-14T22:14:00Z", "--merge") == [4, 5, 6, 7, 8]
    assert values(cli, filled, "--until", "@1700000040000", "--merge") == [0, 1, 2, 3]
    assert values(cli, filled, "--from", "-5m") == []
    assert values(cli, filled, "--partition", "1") == [1, 4, 7]
    assert values(cli, filled, "-p", "1", "-p", "2", "--merge") == [1, 2, 4, 5, 7, 8]


def test_several_topics(cli: Run, filled: str, name: str) -> None:
    other = name + "-other"
    cli("topic", "create", other)
    cli("produce", other, "--value", "100", "--timestamp", "@1700000005000")
    assert values(cli, filled, other, "--merge") == [0, 100, *range(1, 9)]


def test_templates_and_json(cli: Run, filled: str) -> None:
    outcome = cli("consume", filled, "-p", "0", "-n", "1", "--format", "{partition}@{offset} {key}={value}")
    assert outcome.out == "0@0 k0=0\n"
    (record,) = cli("consume", filled, "-p", "0", "-n", "1", "--json-values").json_lines
    assert record["value"] == 0


def test_a_group_goes_on_where_it_stopped(cli: Run, filled: str, name: str) -> None:
    group = name + "-group"
    first = values(cli, filled, "--group", group, "--count", "4")
    second = values(cli, filled, "--group", group)
    assert len(first) == 4
    assert sorted(first + second) == list(range(9))
    assert values(cli, filled, "--group", group) == []


def test_following_ends_with_ctrl_c_and_130(
    cli: Run, topic: str, spawn: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = spawn("consume", topic, "--follow", "--merge")
    for value in ("first", "second"):
        assert cli("produce", topic, "--value", value).code == 0
        assert process.stdout is not None
        assert process.stdout.readline().decode().strip() == value
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_a_reader_that_has_seen_enough_gets_no_complaint(
    cli: Run, topic: str, spawn: Callable[..., subprocess.Popen[bytes]]
) -> None:
    cli("produce", topic, stdin="".join(f"{n} {'x' * 200}\n" for n in range(5000)))
    reader = spawn("consume", topic)
    head = subprocess.run(["head", "-n", "2"], stdin=reader.stdout, capture_output=True, timeout=30)
    assert reader.stdout is not None and reader.stderr is not None
    reader.stdout.close()
    assert len(head.stdout.splitlines()) == 2
    assert reader.wait(20) == 0
    assert reader.stderr.read() == b""


def test_mistakes(cli: Run, filled: str) -> None:
    assert cli("consume", filled, "--from", "sometime").code == 2
    assert cli("consume", filled, "--partition", "7").code == 1
    assert cli("consume", filled, "--follow", "--until", "end").code == 2
    assert cli("consume", filled, "--group", "g", "--partition", "0").code == 2
    assert cli("consume", filled, "--group", "g", "--from", "5").code == 2
    assert cli("consume", filled, "--format", "xml").code == 2
    unknown = cli("consume", filled + "x")
    assert (unknown.code, f"'{filled}'" in unknown.err) == (1, True)
