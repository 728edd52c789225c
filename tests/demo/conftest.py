"""Slices of the scenario for pipelines, and a driver that runs a pipeline of the demo."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from headrace.demo import pipelines
from headrace.demo.generator import Generator, Out
from headrace.demo.scenario import Scenario
from headrace.demo.topics import table_rows
from headrace.testing import LocalBroker
from headrace.testing.streams import StreamsDriver

EPOCH = 1_700_000_000_000
SECOND = 1_000


def play(scenario: Scenario, from_s: float, to_s: float) -> list[Out]:
    """What the scenario sends in a part of it."""
    generator = Generator(scenario, EPOCH)
    out: list[Out] = []
    while generator.now_s < to_s:
        start = generator.now_s
        step = generator.step()
        out += step if start >= from_s else []
    return out


class Runner:
    """A driver around one of the demo's pipelines, with the tables of places and hospitals filled."""

    def __init__(self, driver: StreamsDriver, records: Any) -> None:
        self.driver = driver
        self.records = records

    def pipe(self, out: list[Out], topic: str) -> None:
        for record in out:
            if record.topic == topic:
                self.driver.pipe_bytes(topic, record.key, record.value, EPOCH + int(record.at_s * 1000))

    def pipe_tables(self, *topics: str) -> None:
        for topic, key, value in table_rows():
            if topic in topics:
                self.driver.pipe_bytes(topic, key.encode(), value, EPOCH)

    def documents(self, topic: str) -> list[dict[str, Any]]:
        return [json.loads(message.value() or b"null") for message in self.driver.read_bytes(topic)]


Pipelines = Callable[..., Any]


@pytest.fixture
def pipeline(spark: Any, headrace_broker: LocalBroker) -> Pipelines:
    """`with pipeline("bursts") as running:`"""

    @contextmanager
    def run(name: str, **settings: Any) -> Iterator[Runner]:
        module = pipelines.load(name)
        assert not module.app.python_functions(), "the demo's pipelines run in the JVM"
        guarantee = settings.pop("guarantee", module.app.guarantee.value)
        with StreamsDriver(module.app, spark=spark, broker=headrace_broker, guarantee=guarantee, **settings) as driver:
            yield Runner(driver, __import__("emergency"))

    return run
