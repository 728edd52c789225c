"""The examples of examples/streams, each on its own records."""

from __future__ import annotations

import importlib
from typing import Any

from headrace.plan.python_code import to_plain
from headrace.testing import LocalBroker
from headrace.testing.streams import Output, StreamsDriver

MINUTE = 60_000


def run(
    name: str,
    spark: Any,
    broker: LocalBroker,
    topics: tuple[str, ...],
    store: str | None = None,
    *,
    slowly: bool = False,
) -> Any:
    """The outputs of an example by topic, and the rows of a store, after all its records. `slowly`: time passes between them."""
    module = importlib.import_module(f"examples.streams.{name}")
    app = module.build()
    assert not app.python_functions(), "examples show what runs in the JVM"
    with StreamsDriver(app, spark=spark, broker=broker) as driver:
        last = ""
        for topic, key, value, timestamp_ms in module.RECORDS:
            if slowly or last not in ("", topic):
                driver.process()
            driver.pipe(topic, key, value, timestamp_ms)
            last = topic
        outputs = {topic: driver.read(topic) for topic in topics}
        rows = list(driver.table(store).all()) if store else []
    return module, outputs, rows


def by_key(output: Output) -> dict[Any, list[Any]]:
    """Order is promised for each key, not between them."""
    found: dict[Any, list[Any]] = {}
    for record in output:
        found.setdefault(record.key, []).append(record.value)
    return found


def test_clickstream(spark: Any, headrace_broker: LocalBroker) -> None:
    module, outputs, visits = run("clickstream", spark, headrace_broker, ("enriched-views",), "visits")
    view = module.EnrichedView
    assert by_key(outputs["enriched-views"]) == {
        "u1": [view("Ada", "UK", "Home", "start", 1_200), view("Ada", "UK", "Mugs", "shop", 500)],
        "u2": [view("unknown", "??", "Mugs", "shop", 800), view("Bob", "DE", "Mugs", "shop", 2_000)],
    }
    assert [(row.key, row.window, row.value) for row in visits] == [
        ("u1", (1 * MINUTE, 1 * MINUTE), module.Visit(1, 1_200)),
        ("u1", (50 * MINUTE, 50 * MINUTE), module.Visit(1, 500)),
        ("u2", (2 * MINUTE, 4 * MINUTE), module.Visit(2, 2_800)),
    ]


def test_card_fraud(spark: Any, headrace_broker: LocalBroker) -> None:
    module, outputs, _ = run("card_fraud", spark, headrace_broker, ("alarms",))
    assert by_key(outputs["alarms"]) == {
        "card-1": [module.Alarm("card-1", "too fast", 4, 35.0)],
        "card-2": [module.Alarm("card-2", "too much", 2, 1_300.0)],
    }


def test_sensors(spark: Any, headrace_broker: LocalBroker) -> None:
    module, outputs, _ = run("sensors", spark, headrace_broker, ("means", "overheated"), slowly=True)
    means = sorted(outputs["means"].pairs(), key=lambda pair: (pair[0], pair[1].minute))
    assert means == [
        ("oven", module.Mean(1, 200.0, 1)),
        ("press", module.Mean(0, 98.0, 3)),
        ("press", module.Mean(1, 70.0, 1)),
    ]
    assert outputs["overheated"].values() == [module.Overheated("press", 98.0, 90.0)]


def test_trending_hashtags(spark: Any, headrace_broker: LocalBroker) -> None:
    _, outputs, _ = run("trending_hashtags", spark, headrace_broker, ("trending",), slowly=True)
    kafka = [to_plain(value) for key, value in outputs["trending"].pairs() if key == "#kafka"]
    assert kafka[:3] == [{"until": 10, "uses": 4}, {"until": 11, "uses": 3}, {"until": 12, "uses": 2}]


def test_football(spark: Any, headrace_broker: LocalBroker) -> None:
    module, outputs, scorers = run("football", spark, headrace_broker, ("scores", "home-points"), "scorers")
    score = module.Score
    assert outputs["scores"].table() == {"m1": score("Rovers", "United", 1, 0), "m2": score("Rovers", "City", 2, 1)}
    assert outputs["home-points"].table() == {"Rovers": 6}
    assert {row.key: row.value for row in scorers} == {
        "p7": module.Scorer("Kim", "Rovers", 3),
        "p9": module.Scorer("Lee", "City", 1),
    }
