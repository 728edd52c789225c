"""Look-ups in a store's changelog, through the engine and through an app: both see the same rows. The records are written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.engine.record import PipelineRecord
from headrace.engine.settings import EngineSettings
from headrace.engine.table_views import TableViews
from headrace.plan.engine import DesiredState, EngineError, Guarantee
from headrace.streams import App, seconds, tumbling
from headrace.tables import time_windowed
from headrace.testing import LocalBroker


def test_engine_and_app_look_into_the_same_table(headrace_broker: LocalBroker, tmp_path: Path) -> None:
    app = App("visits", bootstrap_servers=headrace_broker.bootstrap_servers)
    app.stream("visits", key=str, value=str).group_by_key().count(store="counts").to("counts")
    headrace_broker.create_topic("visits-counts-changelog", 2, cleanup_policy="compact")
    headrace_broker.produce("visits-counts-changelog", [(b"home", b'{"value": 2}'), (b"news", b'{"value": 1}')])
    views = TableViews(EngineSettings(headrace_broker.bootstrap_servers, data_dir=str(tmp_path)))
    record = PipelineRecord(app.plan(), Guarantee.AT_LEAST_ONCE, DesiredState.RUNNING, 0)
    try:
        found = views.look_up(record, "counts", {"key": "home", "wait": True})
        assert [(row["key"], row["value"]) for row in found["rows"]] == [({"rowkey": "home"}, {"value": 2})]
        assert len(views.look_up(record, "counts", {})["rows"]) == 2
        assert views.look_up(record, "counts", {"key": "shop"})["rows"] == []
        assert app.table("counts").get("home") == 2
        with pytest.raises(EngineError, match="has no table 'count'; it has: counts"):
            views.look_up(record, "count", {})
        with pytest.raises(EngineError, match="a look-up has no kye"):
            views.look_up(record, "counts", {"kye": "home"})
        with pytest.raises(EngineError, match="limit is a number"):
            views.look_up(record, "counts", {"limit": "many"})
    finally:
        app.close()
        views.close()


@pytest.mark.parametrize(("retention", "kept"), [(None, [20_000, 30_000]), (25_000, [10_000, 20_000, 30_000])])
def test_engine_and_app_forget_the_same_windows(
    headrace_broker: LocalBroker, tmp_path: Path, retention: int | None, kept: list[int]
) -> None:
    app = App("visits", bootstrap_servers=headrace_broker.bootstrap_servers)
    windows = tumbling(seconds=10, grace=seconds(5), retention=retention)
    app.stream("visits", key=str, value=str).group_by_key().windowed_by(windows).count(store="counts")
    headrace_broker.create_topic("visits-counts-changelog", 2, cleanup_policy="compact")
    records = [(time_windowed(b"home", start), b'{"value": 2}') for start in range(0, 40_000, 10_000)]
    headrace_broker.produce("visits-counts-changelog", records)
    views = TableViews(EngineSettings(headrace_broker.bootstrap_servers, data_dir=str(tmp_path)))
    record = PipelineRecord(app.plan(), Guarantee.AT_LEAST_ONCE, DesiredState.RUNNING, 0)
    try:
        found = views.look_up(record, "counts", {"key": "home", "wait": True})
        assert [row["window"]["start_ms"] for row in found["rows"]] == kept
        assert [row.window[0] for row in app.table("counts").windows("home") if row.window] == kept
    finally:
        app.close()
        views.close()
