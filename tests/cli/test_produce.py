"""`headrace produce`: every way in, read back through `consume --json`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def read(cli: Run, topic: str) -> list[dict]:
    outcome = cli("consume", topic, "--json", "--merge")
    assert outcome.code == 0, outcome.err
    return outcome.json_lines


def test_lines_of_standard_input(cli: Run, topic: str) -> None:
    outcome = cli("produce", topic, "--json", stdin="one\ntwo\nthree\n")
    assert outcome.code == 0
    assert (outcome.json["sent"], outcome.json["failed"]) == (3, 0)
    assert sorted(record["value"] for record in read(cli, topic)) == ["one", "three", "two"]
    assert cli("produce", topic, stdin="").code == 0


def test_keys_headers_partition_time_and_null(cli: Run, topic: str) -> None:
    arguments = ["-K", "\\t", "-H", "a=1", "-H", "a=2", "-p", "2", "--timestamp", "@1700000000000", "-Z", "NULL"]
    assert cli("produce", topic, *arguments, stdin="k\tv\nk\tNULL\n").code == 0
    first, second = read(cli, topic)
    assert (first["key"], first["value"], first["partition"], first["timestamp"]) == ("k", "v", 2, 1_700_000_000_000)
    assert first["headers"] == [["a", "1"], ["a", "2"]]
    assert second["value"] is None


def test_values_and_tombstones_from_the_command_line(cli: Run, topic: str) -> None:
    assert cli("produce", topic, "--key", "k", "--value", "a", "--value", "b").code == 0
    assert cli("produce", topic, "--key", "k", "--tombstone").code == 0
    records = read(cli, topic)
    assert [record["value"] for record in records] == ["a", "b", None]
    assert len({record["partition"] for record in records}) == 1


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compression(cli: Run, topic: str, codec: str) -> None:
    assert (
        cli(
            "produce", topic, "--compression", codec, "--acks", "1", stdin="".join(f"line {n}\n" for n in range(200))
        ).code
        == 0
    )
    assert len(read(cli, topic)) == 200


def test_json_lines_round_trip(cli: Run, topic: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    records = [
        {"key": f"k{n}", "value": {"n": n}, "headers": {"h": "x"}, "partition": n % 3, "timestamp": 1000 + n}
        for n in range(9)
    ]
    file.write_text("\n".join(map(json.dumps, records)))
    assert cli("produce", topic, str(file), "--input", "json").code == 0
    exported = cli("consume", topic, "--json", "--merge")
    copy = name + "-copy"
    assert cli("topic", "create", copy, "-p", "3").code == 0
    assert cli("produce", copy, "--input", "json", stdin=exported.out).code == 0
    original, copied = exported.json_lines, read(cli, copy)
    assert [record | {"topic": ""} for record in copied] == [record | {"topic": ""} for record in original]
    assert [json.loads(record["value"])["n"] for record in copied] == list(range(9))


def test_whole_files(cli: Run, topic: str, tmp_path: Path) -> None:
    content = bytes(range(256)) * 4
    (tmp_path / "a.bin").write_bytes(content)
    assert cli("produce", topic, str(tmp_path / "a.bin"), "--whole").code == 0
    (record,) = read(cli, topic)
    assert "value_base64" in record
    assert cli("consume", topic, "--format", "hex").out.split("\t")[2].strip() == content.hex()


def test_a_missing_topic_is_not_created_unless_asked(cli: Run, name: str) -> None:
    outcome = cli("produce", name, "--value", "x")
    assert outcome.code == 1
    assert f"headrace topic create {name}" in outcome.err
    assert cli("topic", "describe", name).code == 1
    assert cli("produce", name, "--value", "x", "--create").code == 0


def test_mistakes(cli: Run, topic: str, tmp_path: Path) -> None:
    assert cli("produce", topic, "--tombstone").code == 2
    assert cli("produce", topic, "--whole").code == 2
    assert cli("produce", topic, str(tmp_path / "missing")).code == 1
    assert cli("produce", topic, "--value", "x", "--partition", "9").code == 1
    assert cli("produce", topic, "--compression", "brotli").code == 2
    assert cli("produce", topic, "-K", ":", stdin="a:b\nno separator\n").code == 1
    assert [record["value"] for record in read(cli, topic)] == ["b"]


def test_a_record_the_broker_refuses_is_a_failure(cli: Run, topic: str) -> None:
    assert cli("topic", "alter", topic, "--set", "max.message.bytes=500").code == 0
    outcome = cli("produce", topic, "--json", stdin="small\n" + "x" * 2000 + "\n")
    assert outcome.code == 1
    assert "were not delivered" in outcome.err
    assert "max.message.bytes" in outcome.err


def test_a_compacted_topic_wants_keys(cli: Run, name: str) -> None:
    assert cli("topic", "create", name, "-c", "cleanup.policy=compact").code == 0
    refused = cli("produce", name, stdin="no key\n")
    assert (refused.code, "--key-separator" in refused.err) == (1, True)
    assert cli("produce", name, "-K", ":", stdin="a:key\n").code == 0
