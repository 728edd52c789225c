"""The stage is set: topics and tables made, pipelines submitted, and the scenario's time chosen so that it goes on after what is there already."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.demo.generator import Generator
from headrace.demo.pipelines import Pipeline
from headrace.demo.scenario import Scenario
from headrace.demo.topics import HOSPITALS_TOPIC, PLACES_TOPIC, SOURCES, TOPICS, table_rows
from headrace.plan.engine import Engine, EngineError, PipelineState, UnknownPipeline

BETWEEN_RUNS_MS = 600_000
"""Between two runs lie ten minutes of the scenario's time, so that no window and no memory of alerts reaches over."""
AFTER_WARM_UP_MS = 60_000
WARM_UP_S, WARM_UP_RATE = 20.0, 200.0
START_TIMEOUT_S = 600.0
ANSWER_S = 5.0
RESULTS = ("posts", "emergency-bursts-aggregate-1-repartition")
"""Topics whose newest times tell how far the pipelines are: cleaned posts, and the windows that count them."""


def create_topics(cluster: Cluster) -> int:
    """Those that are missing; how many that were."""
    from confluent_kafka.admin import NewTopic

    present = cluster.topics()
    new = [
        NewTopic(name, partitions, 1, config=dict(config))
        for name, (partitions, config) in TOPICS.items()
        if name not in present
    ]
    for name, future in (cluster.admin().create_topics(new) if new else {}).items():
        cluster.result(future, f"Cannot create '{name}'")
    if {PLACES_TOPIC, HOSPITALS_TOPIC} & {topic.topic for topic in new}:
        _fill_tables(cluster)
    return len(new)


def _fill_tables(cluster: Cluster) -> None:
    producer = cluster.producer({})
    for topic, key, value in table_rows():
        producer.produce(topic, value, key)
    if producer.flush(30):
        raise EngineError("the broker did not take the tables of places and hospitals within 30 s")


def next_epoch_ms(cluster: Cluster, gap_ms: int = BETWEEN_RUNS_MS) -> int:
    """When the scenario begins: now, or well after the newest record that is there."""
    newest = newest_ms(cluster, SOURCES)
    now = int(time.time() * 1000)
    return max(now, newest + gap_ms) if newest > 0 else now


def warm_up(cluster: Cluster, seed: int) -> float:
    """A few seconds of ordinary traffic, sent at once, and how long it took until it had come through all queries on the way to an alert.

    A query that runs has not yet compiled what it does: the first records of all would wait for that, and with them the first earthquake.
    """
    generator = Generator(Scenario(seed, WARM_UP_RATE), next_epoch_ms(cluster))
    producer, begin = cluster.producer({"linger.ms": 5}), time.monotonic()
    while generator.now_s < WARM_UP_S:
        for record in generator.step():
            timestamp = generator.epoch_ms + int(record.at_s * 1000)
            producer.produce(record.topic, record.value, record.key, timestamp=timestamp)
        producer.poll(0)
    producer.flush(30)
    reached_ms = generator.epoch_ms + int(WARM_UP_S * 500)
    while min(newest_ms(cluster, (topic,)) for topic in RESULTS) < reached_ms:
        if time.monotonic() - begin > START_TIMEOUT_S:
            raise EngineError(f"the first posts did not come through the pipelines within {START_TIMEOUT_S:.0f} s")
        time.sleep(0.3)
    return time.monotonic() - begin


def newest_ms(cluster: Cluster, topics: tuple[str, ...]) -> int:
    """The newest time in some topics; 0 where there is none."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    known = cluster.topics(internal=True)
    places = [TopicPartition(topic, index) for topic in topics if topic in known for index in known[topic].partitions]
    asked = {place: OffsetSpec.max_timestamp() for place in places}
    answers = cluster.admin().list_offsets(asked, request_timeout=ANSWER_S) if asked else {}
    return max((cluster.result(future, "Cannot ask for times").timestamp for future in answers.values()), default=0)


def submit(engine: Engine, found: dict[str, Pipeline]) -> list[str]:
    """What the engine does not have yet, or has in another form; the names of those that were submitted."""
    from headrace.plan.engine import Submission

    submitted = []
    for pipeline in found.values():
        plan = pipeline.app.plan()
        try:
            if engine.plan(plan.name) == plan:
                continue
        except UnknownPipeline:
            pass
        settings = {name.replace("_", "."): str(value) for name, value in pipeline.settings.items()}
        engine.submit(Submission(plan, pipeline.app.guarantee, settings))
        submitted.append(plan.name)
    return submitted


def await_running(engine: Engine, found: dict[str, Pipeline], tell: Callable[[str], None]) -> None:
    """Wait until every pipeline runs; each is told when it does."""
    waiting = {pipeline.app.name for pipeline in found.values()}
    deadline, begin = time.monotonic() + START_TIMEOUT_S, time.monotonic()
    while waiting:
        states: dict[str, Any] = {status.name: status for status in engine.pipelines()}
        for name in sorted(waiting):
            if name in states and states[name].state is PipelineState.RUNNING:
                waiting.discard(name)
                tell(f"  {name} runs, after {time.monotonic() - begin:.0f} s ({len(waiting)} to go)")
        if waiting and time.monotonic() >= deadline:
            why = "; ".join(
                f"{name}: {states[name].error or states[name].state}" for name in sorted(waiting & states.keys())
            )
            raise EngineError(f"not all pipelines run after {START_TIMEOUT_S:.0f} s ({why})")
        time.sleep(0.3)
