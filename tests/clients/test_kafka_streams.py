"""A Kafka Streams application with `exactly_once_v2`, killed in the middle and started again, is exact at the end."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from tests.clients.java_program import JavaProgram, compile_java
from tests.clients.reference_client import read_to_end

pytestmark = [pytest.mark.peer("apache-kafka"), pytest.mark.peer("javac")]
PARTITIONS = 3
LINES = 9000
WORDS = [f"word-{number}" for number in range(40)]


@pytest.mark.timeout(400)
def test_word_count(bootstrap_servers: str, topic: str, name: str, admin: AdminClient, tmp_path: Path) -> None:
    """Killed twice, and at last started in an empty folder, so with nothing but the changelog."""
    output = f"{name}-output"
    admin.create_topics([NewTopic(output, PARTITIONS, 1)])[output].result(10)
    words = write_lines(bootstrap_servers, topic)
    classes = compile_java("WordCount.java", tmp_path / "classes")

    def application(state: str) -> JavaProgram:
        arguments = [bootstrap_servers, name, f"{topic},{output}", str(tmp_path / state)]
        return JavaProgram(tmp_path, "WordCount", *arguments, classes=classes)

    def counted() -> int:
        return sum(map(len, read_to_end(bootstrap_servers, output, PARTITIONS, "read_committed")))

    total = words.total()
    for state, part in (("state", 0.1), ("state", 0.4)):
        with application(state) as running:
            running.until(lambda part=part: counted() > total * part, f"{part:.0%} of the words")
            running.kill()
            assert counted() < total, "finished before it was killed"
    with application("new state") as last:
        last.until(lambda: counted() >= total, "all words")
        last.terminate()
    assert_exact(bootstrap_servers, output, words)
    assert_changelog(bootstrap_servers, admin, f"{name}-counts-changelog", words)


def write_lines(bootstrap_servers: str, topic: str) -> Counter[str]:
    """Lines of three words at random, always the same ones; how often each word is in them."""
    chance = random.Random(4)
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 5})
    words: Counter[str] = Counter()
    for number in range(LINES):
        line = chance.choices(WORDS, k=3)
        words.update(line)
        producer.produce(topic, value=" ".join(line), partition=number % PARTITIONS)
    assert producer.flush(20) == 0
    return words


def assert_exact(bootstrap_servers: str, output: str, words: Counter[str]) -> None:
    """Of each word the counts 1, 2, 3 and so on, each once and in this order."""
    counts: defaultdict[str, list[int]] = defaultdict(list)
    for partition in read_to_end(bootstrap_servers, output, PARTITIONS, "read_committed"):
        for record in partition:
            counts[record.key().decode()].append(int(record.value()))
    assert counts == {word: list(range(1, count + 1)) for word, count in words.items()}


def assert_changelog(bootstrap_servers: str, admin: AdminClient, changelog: str, words: Counter[str]) -> None:
    """The store's changelog is a compacted topic whose last values are the counts."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, changelog)
    assert admin.describe_configs([resource])[resource].result(10)["cleanup.policy"].value == "compact"
    records = read_to_end(bootstrap_servers, changelog, PARTITIONS, "read_committed")
    stored = {record.key().decode(): int.from_bytes(record.value(), "big") for part in records for record in part}
    assert stored == words
