"""A table against a dict: upserts, tombstones, aborted transactions, compaction and restarts at any point, in any order."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.tables import ChangelogTable
from headrace.testing import LocalBroker, broker
from tests.tables.conftest import COMPACTED, compact

PARTITIONS = 2
DAY_MS = 86_400_000
_numbers = itertools.count()

records = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c", b"dd"]), st.none() | st.binary(max_size=100)), min_size=1, max_size=6
)
steps = st.one_of(
    st.tuples(st.just("write"), records),
    st.tuples(st.just("write"), records),
    st.tuples(st.just("abort"), records),
    st.tuples(st.sampled_from(["compact", "reopen", "check"]), st.just([])),
)


@pytest.fixture(scope="module")
def server() -> Iterator[LocalBroker]:
    with broker(log_cleaner_backoff_ms=20, log_segment_delete_delay_ms=0) as running:
        yield running


class Session:
    """One topic, its table, and the dict that the table should equal."""

    def __init__(self, server: LocalBroker, directory: str | None, keeps_ms: int) -> None:
        self.server = server
        self.directory = directory
        self.topic = f"model-{next(_numbers)}"
        server.create_topic(self.topic, PARTITIONS, delete_retention_ms=keeps_ms, **COMPACTED)
        self.producer = server.producer(linger_ms=0)
        self.transactional = server.producer(linger_ms=0, transactional_id=self.topic)
        self.transactional.init_transactions()
        self.model: dict[bytes, bytes] = {}
        self.table = self.open()

    def open(self) -> ChangelogTable[bytes, bytes]:
        return ChangelogTable(self.server.bootstrap_servers, self.topic, directory=self.directory, refresh_s=0.1)

    def write(self, records: list[tuple[bytes, bytes | None]]) -> None:
        for key, value in records:
            self.producer.produce(self.topic, value, key)
            self.model.pop(key, None) if value is None else self.model.update({key: value})
        assert self.producer.flush(10) == 0

    def abort(self, records: list[tuple[bytes, bytes | None]]) -> None:
        self.transactional.begin_transaction()
        for key, value in records:
            self.transactional.produce(self.topic, value, key)
        self.transactional.flush(10)
        self.transactional.abort_transaction()

    def compact(self, _: Any) -> None:
        compact(self.server, self.topic, PARTITIONS)

    def reopen(self, _: Any) -> None:
        self.table.close()
        self.table = self.open()

    def check(self, _: Any) -> None:
        self.table.wait_until_current(20)
        answer = self.table.all()
        assert {row.key: row.value for row in answer.rows} == self.model
        assert [row.key for row in answer.rows] == sorted(self.model)
        assert {key: self.table.get(key).value for key in (b"a", b"dd")} == {
            key: self.model.get(key) for key in (b"a", b"dd")
        }
        assert len(self.table) == len(self.model)


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_a_table_is_a_dict(server: LocalBroker, kind: str) -> None:
    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.lists(steps, min_size=4, max_size=14), st.sampled_from([0, DAY_MS]))
    def check(script: list[tuple[str, Any]], keeps_ms: int) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            session = Session(server, scratch if kind == "disk" else None, keeps_ms)
            try:
                for name, argument in [*script, ("check", []), ("reopen", []), ("check", [])]:
                    getattr(session, name)(argument)
            finally:
                session.table.close()

    check()
