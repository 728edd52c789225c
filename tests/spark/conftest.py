"""For the tests of pipelines: a broker and a Spark that are shared, and names that are not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.testing import LocalBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.pipelines import Lab


@pytest.fixture
def lab(spark: SparkSession, headrace_shared_broker: LocalBroker, tmp_path: Path) -> Lab:
    from tests.spark.pipelines import Lab

    return Lab(spark, headrace_shared_broker, tmp_path)
