"""In and out of Apache Kafka: each broker serves what the other one left, and the programs of its clients go on.

The directories hold one of everything: see `programs.fill`. What is compared is everything that can be asked: see `contents`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.node import Node
from tests.interop.contents import contents, differences
from tests.interop.homes import (
    TWO_DIRECTORIES,
    begin,
    copy,
    headrace_on,
    kafka_on,
    kafka_with_static_voters,
    move_in,
    new_standalone_kafka,
)
from tests.interop.newer import described, use_all
from tests.interop.programs import Programs, consume

pytestmark = [pytest.mark.peer("apache-kafka"), pytest.mark.timeout(400)]
long = pytest.mark.skipif(
    os.environ.get("HEADRACE_REQUIRE_PEERS") != "1", reason="starts Apache Kafka again; `make conformance` runs it"
)


def test_from_headrace_to_kafka_and_back(tmp_path: Path) -> None:
    programs = Programs()
    left = begin(headrace_on(tmp_path / "one"), programs)
    left = move_in(kafka_on(copy(tmp_path / "one", tmp_path / "two")), programs, left)
    move_in(headrace_on(copy(tmp_path / "two", tmp_path / "three")), programs, left)


@long
def test_from_kafka_to_headrace_and_back(tmp_path: Path) -> None:
    programs = Programs()
    left = begin(new_standalone_kafka(tmp_path / "one"), programs)
    left = move_in(headrace_on(copy(tmp_path / "one", tmp_path / "two")), programs, left)
    move_in(kafka_on(copy(tmp_path / "two", tmp_path / "three")), programs, left)


@long
def test_after_kills(tmp_path: Path) -> None:
    programs = Programs()
    left = begin(headrace_on(tmp_path / "one"), programs, Node.kill)
    left = move_in(kafka_on(copy(tmp_path / "one", tmp_path / "two")), programs, left, Node.kill)
    move_in(headrace_on(copy(tmp_path / "two", tmp_path / "three")), programs, left, Node.kill)


@long
def test_with_two_log_directories_and_static_voters(tmp_path: Path) -> None:
    programs = Programs()
    left = begin(kafka_with_static_voters(tmp_path / "one", **TWO_DIRECTORIES), programs)
    left = move_in(headrace_on(copy(tmp_path / "one", tmp_path / "two"), **TWO_DIRECTORIES), programs, left)
    three = copy(tmp_path / "two", tmp_path / "three")
    move_in(kafka_with_static_voters(three, **TWO_DIRECTORIES), programs, left)


@long
def test_with_two_log_directories_of_headrace(tmp_path: Path) -> None:
    programs = Programs()
    left = begin(headrace_on(tmp_path / "one", **TWO_DIRECTORIES), programs)
    left = move_in(kafka_on(copy(tmp_path / "one", tmp_path / "two"), **TWO_DIRECTORIES), programs, left)
    move_in(headrace_on(copy(tmp_path / "two", tmp_path / "three"), **TWO_DIRECTORIES), programs, left)


@long
def test_what_headrace_does_not_know_comes_back_to_kafka(tmp_path: Path) -> None:
    with new_standalone_kafka(tmp_path / "one") as kafka:
        use_all(kafka.port)
        known, left = described(kafka.port), contents(kafka.port)
        kafka.stop()
    with headrace_on(copy(tmp_path / "one", tmp_path / "two")) as headrace:
        assert differences(left, contents(headrace.port)) == []
        consume(headrace.bootstrap_servers, "upgraded", "codec-lz4", 10)
        consume(headrace.bootstrap_servers, "newer", "codec-lz4", 10)
        left = contents(headrace.port)
        headrace.stop()
    with kafka_on(copy(tmp_path / "two", tmp_path / "three")) as kafka:
        assert differences(left, contents(kafka.port)) == []
        now = described(kafka.port)
        # A classic member joined these in between, which makes them classic groups.
        now["groups"] |= {name: known["groups"][name] for name in ("newer", "upgraded")}
        assert now == known
        consume(kafka.bootstrap_servers, "newer", "codec-lz4", 10, **{"group.protocol": "consumer"})
