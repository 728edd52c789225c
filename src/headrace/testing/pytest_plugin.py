"""The pytest fixtures that come with Headrace. pytest loads this file in every run, so it brings neither broker nor client along.

- `headrace_broker`: a fresh broker for one test.
- `headrace_shared_broker`: one broker for the whole run; cheaper when tests use topics of their own.
- `spark`: one Spark session for the whole run, where PySpark is installed.
- `@pytest.mark.headrace(num_partitions=3)`: settings for the fresh broker of that test.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.testing import LocalBroker


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "headrace(**settings): server settings for the headrace_broker fixture")


@pytest.fixture
def headrace_broker(request: pytest.FixtureRequest) -> Iterator[LocalBroker]:
    """A fresh broker for this test, with the settings of its `headrace` mark."""
    from headrace.testing import broker

    mark = request.node.get_closest_marker("headrace")
    with broker(**(mark.kwargs if mark else {})) as running:
        yield running


@pytest.fixture(scope="session")
def headrace_shared_broker() -> Iterator[LocalBroker]:
    """One broker for the whole run. Give each test topics and groups of its own."""
    from headrace.testing import broker

    with broker() as running:
        yield running


if importlib.util.find_spec("pyspark") is not None:

    @pytest.fixture(scope="session")
    def spark() -> Iterator[SparkSession]:
        """One Spark session for the whole run, with checkpoints in a temporary directory. Give each query a name of its own."""
        from headrace.testing.spark import spark_session

        with spark_session() as session:
            yield session
