"""The session that all Spark tests share, and sessions of programs that end in every way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_session_computes(spark: SparkSession) -> None:
    assert spark.range(10).selectExpr("sum(id)").collect()[0][0] == 45
