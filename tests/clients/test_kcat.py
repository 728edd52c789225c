"""kcat 1.7, on the librdkafka of years ago: the bar for old clients."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.clients.reference_client import produce, read_all, read_values

pytestmark = pytest.mark.peer("kcat")
VALUES = sorted(f"value-{number}" for number in range(100))


def kcat(bootstrap_servers: str, *arguments: str, stdin: str | None = None) -> str:
    command = ["kcat", "-b", bootstrap_servers, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_produces(bootstrap_servers: str, topic: str, codec: str) -> None:
    kcat(bootstrap_servers, "-P", "-t", topic, "-X", f"compression.codec={codec}", stdin="\n".join(VALUES) + "\n")
    assert read_values(bootstrap_servers, topic, 100) == VALUES


def test_consumes(bootstrap_servers: str, topic: str) -> None:
    produce(bootstrap_servers, topic, VALUES)
    read = kcat(bootstrap_servers, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", r"%s %h\n").splitlines()
    assert sorted(line.split()[0] for line in read) == VALUES
    assert all(line.split()[1].startswith("n=") for line in read)


def test_consumes_as_a_group(bootstrap_servers: str, topic: str, name: str) -> None:
    produce(bootstrap_servers, topic, VALUES)
    read = kcat(bootstrap_servers, "-G", name, "-X", "auto.offset.reset=earliest", "-c", "100", "-q", topic)
    assert sorted(read.splitlines()) == VALUES


def test_keys_and_headers_are_kept(bootstrap_servers: str, topic: str) -> None:
    kcat(bootstrap_servers, "-P", "-t", topic, "-K:", "-H", "trace=abc", "-p", "1", stdin="k:v\n")
    (message,) = read_all(bootstrap_servers, topic, 1)
    assert (message.key(), message.value(), message.headers()) == (b"k", b"v", [("trace", b"abc")])


def test_lists_the_topic(bootstrap_servers: str, topic: str) -> None:
    listing = json.loads(kcat(bootstrap_servers, "-L", "-J", "-t", topic))
    assert [len(each["partitions"]) for each in listing["topics"]] == [3]


def test_offset_query(bootstrap_servers: str, topic: str) -> None:
    produce(bootstrap_servers, topic, VALUES, partitioner="random")
    offsets = [kcat(bootstrap_servers, "-Q", "-t", f"{topic}:{partition}:-1") for partition in range(3)]
    assert sum(int(line.split()[-1]) for line in offsets) == 100
