"""The driver is the pipeline: both modes, both guarantees, many records, bad records, tables, and nothing left behind."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import pytest

from headrace.streams import App, Context, Processor, State, tumbling
from headrace.testing import LocalBroker
from headrace.testing.streams import StreamsDriver
from tests.streams.topologies import Alert, Payment, classify, payments


def large(app: App) -> App:
    payments(app).filter(lambda p: p.amount > 100).map_values(lambda p: Alert(p.card.upper(), p.amount, "large")).to(
        "large"
    )
    return app


@pytest.mark.parametrize(
    ("guarantee", "mode"),
    [("at_least_once", "micro_batch"), ("at_least_once", "real_time"), ("exactly_once", "micro_batch")],
)
def test_records_go_through(guarantee: str, mode: str, spark: Any, headrace_broker: LocalBroker) -> None:
    app = large(App("driver"))
    with StreamsDriver(app, spark=spark, broker=headrace_broker, guarantee=guarantee, mode=mode) as driver:
        driver.pipe("payments", "a", Payment("one", 250.0), 1_000)
        driver.pipe("payments", "b", Payment("two", 20.0))
        output = driver.read("large")
        assert output.pairs() == [("a", Alert("ONE", 250.0, "large"))]
        assert output[0].timestamp_ms == 1_000
        assert driver.read("large") == []
        driver.pipe_all("payments", [("k", Payment(str(n), 200.0 + n), 2_000 + n) for n in range(5_000)])
        assert [alert.card for alert in driver.read("large").values()] == [str(n) for n in range(5_000)]


def test_a_table_is_looked_into_while_it_changes(spark: Any, headrace_broker: LocalBroker) -> None:
    app = App("tables")
    payments(app).group_by_key().count(store="counts").to("counts")
    payments(app).group_by_key().windowed_by(tumbling(seconds=10)).count(store="per-window")
    with StreamsDriver(app, spark=spark, broker=headrace_broker) as driver:
        driver.pipe_all(
            "payments",
            [("a", Payment("x", 1.0), 1_000), ("b", Payment("x", 1.0), 2_000), ("a", Payment("x", 1.0), 12_000)],
        )
        counts = driver.table("counts")
        assert (counts.get("a"), counts.get("b"), counts.get("c")) == (2, 1, None)
        assert [(row.key, row.value) for row in counts.all()] == [("a", 2), ("b", 1)]
        assert [(row.key, row.value) for row in counts.range("b", "z")] == [("b", 1)]
        windows = driver.table("per-window").windows("a")
        assert [(row.window, row.value) for row in windows] == [((0, 10_000), 1), ((10_000, 20_000), 1)]
        driver.pipe("payments", "a", Payment("x", 1.0), 13_000)
        assert driver.table("counts").get("a") == 3
        assert driver.read("counts").table() == {"a": 3, "b": 1}


def test_python_functions_run_and_bad_records_leave_as_data(spark: Any, headrace_broker: LocalBroker) -> None:
    app = App("python")
    alerts = payments(app).map_values(classify)
    alerts.filter(lambda a: a.level == "high").to("high")
    assert "map-values-python-1" in app.python_functions()
    with StreamsDriver(app, spark=spark, broker=headrace_broker) as driver:
        driver.pipe("payments", "a", Payment("one", 2_000.0), 1_000)
        driver.pipe_bytes("payments", b"b", b"{not json", 2_000)
        driver.pipe("payments", "c", Payment("two", 3.0), 3_000)
        assert driver.read("high").values() == [Alert("one", 2_000.0, "high")]
        (bad,) = driver.bad_records()
        assert "payments" in str(bad)


def test_nothing_is_left_behind(spark: Any) -> None:
    before = set(threading.enumerate())
    with StreamsDriver(large(App("leftovers"))) as driver:  # finds the session that is there
        driver.pipe("payments", "a", Payment("one", 250.0), 1_000)
        assert len(driver.read("large")) == 1
    assert not [
        thread for thread in threading.enumerate() if thread not in before and "py4j" not in thread.name.lower()
    ]


def test_topics_that_the_app_does_not_know_are_named(spark: Any, headrace_broker: LocalBroker) -> None:
    with StreamsDriver(large(App("topics")), spark=spark, broker=headrace_broker) as driver:
        with pytest.raises(AssertionError, match="it reads payments"):
            driver.pipe("payment", "a", Payment("one", 250.0))
        with pytest.raises(AssertionError, match="it writes large"):
            driver.read("big")


def test_modes_are_checked() -> None:
    with pytest.raises(ValueError, match="micro_batch and real_time"):
        StreamsDriver(large(App("modes")), mode="batch")


def test_aggregates_that_only_python_can_compute(spark: Any, headrace_broker: LocalBroker) -> None:
    app = App("python-folds")
    stream = app.stream("numbers", key=str, value=int)
    texts = stream.group_by_key().aggregate("", lambda text, n: text + str(n) if n > 0 else text, store="texts")
    texts.to("texts")
    assert list(app.python_functions()) == ["process-1"]
    with StreamsDriver(app, spark=spark, broker=headrace_broker) as driver:
        driver.pipe_all("numbers", [("a", 1, 0), ("a", -5, 1), ("b", 3, 2), ("a", 2, 3)])
        found = driver.read("texts").pairs()
        assert [text for key, text in found if key == "a"] == ["1", "1", "12"]
        assert [text for key, text in found if key == "b"] == ["3"]
        assert driver.table("texts").get("a") == "12"


class Repeated(Processor):
    """Says when a card was seen before, within ten seconds, and when it was silent for a minute."""

    state = {"seen": State(float, ttl_ms=10_000)}  # noqa: RUF012 - as people write it
    returns = float

    def process(self, key: str, value: Payment, context: Context) -> Iterable[float]:
        before = context.state["seen"]
        context.state["seen"] = value.amount
        context.schedule(context.timestamp_ms + 60_000)
        if before is not None:
            yield before

    def on_timer(self, key: str, timestamp_ms: int, context: Context) -> Iterable[float]:
        assert context.state["seen"] is None, "a minute is longer than ten seconds"
        yield -timestamp_ms / 1000


def test_a_processor_has_state_and_timers(spark: Any, headrace_broker: LocalBroker) -> None:
    app = App("processors")
    payments(app).process(Repeated).to("repeated")
    with StreamsDriver(app, spark=spark, broker=headrace_broker) as driver:
        for key, time in (("a", 1_000), ("a", 2_000), ("b", 120_000), ("b", 130_000)):
            driver.pipe("payments", key, Payment("x", time / 1000), time)
            driver.process()
        # 1 s after a's first it is known; 10 s after b's it is forgotten. Timers that only forget never reach the processor.
        assert driver.read("repeated").pairs() == [("a", 1.0), ("a", -61.0), ("a", -62.0)]
