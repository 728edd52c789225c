"""An app as a whole: what it says of itself, and how it reaches an engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.engine.service import LocalEngine
from headrace.engine.settings import EngineSettings
from headrace.plan.engine import EngineError, Guarantee, PipelineState
from headrace.streams import App, StreamsError
from headrace.streams.running import references
from headrace.testing import LocalBroker
from tests.engine.scripted import ScriptedRunner
from tests.streams.topologies import Payment, classify, payments


def test_describe_shows_types_lines_and_what_stays_python() -> None:
    app = App("described")
    payments(app).map_values(classify).to("alerts")
    text = app.describe()
    assert "stream-1  stream source: payments" in text
    assert "yields  stream (rowkey STRING) -> (card STRING, amount DOUBLE, level STRING)" in text
    assert "python  classify (" in text
    assert "test_app.py:" in text


def test_explain_shows_modes_and_the_price_of_python() -> None:
    app = App("explained")
    payments(app).filter(lambda p: p.amount > 1).to("fast")
    assert "real time" in app.explain()
    assert "micro-batches" in app.explain("exactly_once")
    payments(app).map_values(classify).to("alerts")
    assert "runs in Python" in app.explain()
    assert "it asks whether a column is true" in app.explain()


def test_names_of_steps_are_stable_and_can_be_chosen() -> None:
    def build(name: str | None) -> list[str]:
        app = App("named")
        stream = payments(app)
        stream.filter(lambda p: p.amount > 1, name=name).to("a")
        stream.filter(lambda p: p.amount > 2).to("b")
        return [step.id for step in app.plan().steps]

    assert build(None) == ["stream-1", "filter-1", "to-1", "filter-2", "to-2"]
    assert build("large") == ["stream-1", "large", "to-1", "filter-1", "to-2"]


def test_python_code_of_a_plan_is_listed() -> None:
    app = App("code")
    limit = [100]
    payments(app).map_values(classify).to("alerts")
    payments(app).filter(lambda p: p.amount > len(limit) if p.card else False).to("x")
    named, local = references(app.plan())[1], references(app.plan())[0]
    assert local.startswith("local:lambda-")
    assert named == "tests.streams.topologies:classify"


def test_an_app_runs_on_the_engine_it_is_given(headrace_broker: LocalBroker, tmp_path: Path) -> None:
    settings = EngineSettings(headrace_broker.bootstrap_servers, data_dir=str(tmp_path), embedded=True)
    runner = ScriptedRunner()
    engine = LocalEngine(settings, runner)
    engine.start()
    try:
        app = App("given", guarantee="exactly_once", bootstrap_servers=headrace_broker.bootstrap_servers)
        payments(app).filter(lambda p: p.amount > 1).to("out")
        with app.start(engine, trigger_ms=250) as running:
            running.wait_until_running(10)
            assert running.status().state is PipelineState.RUNNING
            (record,) = [run.record for run in runner.runs]
            assert record.plan == app.plan()
            assert record.guarantee is Guarantee.EXACTLY_ONCE
            assert dict(record.settings) == {"trigger.ms": "250"}
            assert running.progress()["rows_in"] == 1
        assert engine.pipelines() == ()
    finally:
        engine.close()


def test_what_lives_in_this_process_cannot_run_elsewhere() -> None:
    app = App("elsewhere")
    payments(app).peek(lambda p: None).to("out")
    with pytest.raises(EngineError, match="exist in this process only"):
        app.start("http://127.0.0.1:1")


def test_a_stored_table_is_found_by_its_name() -> None:
    app = App("stores")
    counts = payments(app).group_by_key().count(store="counts")
    assert app.table("counts") is counts
    with pytest.raises(StreamsError, match="there are: counts"):
        app.table("sums")


def test_streams_need_no_spark() -> None:
    """Neither pyspark nor an engine nor a client is imported to write a plan."""
    code = (
        "import sys\n"
        "from headrace.streams import App\n"
        "app = App('light'); app.stream('t', value=str).filter(lambda v: v == 'x').to('o'); app.plan()\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('pyspark', 'confluent_kafka') or m.startswith(('headrace.engine', 'headrace.spark', 'headrace.broker'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_records_are_typed_for_people_who_check() -> None:
    stream = App("typed").stream("payments", key=str, value=Payment)
    assert repr(stream) == "<KStream stream-1: STRING → STRUCT<card STRING, amount DOUBLE, country STRING>>"
