"""What Spark says, in words that say what to do."""

from __future__ import annotations

from headrace.spark.pipeline_errors import explained


def test_a_python_that_did_not_start_in_time_is_told_of_with_the_way_out() -> None:
    said = "org.apache.spark.SparkException: Python worker failed to connect back."
    error = explained("clicks", "count", RuntimeError(said))
    assert str(error).startswith("stage 'count' of pipeline 'clicks': Python did not start within the ten seconds")
    assert error.detail == said


def test_what_is_not_known_is_told_as_it_is() -> None:
    error = explained("clicks", "count", RuntimeError("java.lang.Oops: a\n\tat one.Two(Three.java)"))
    assert str(error) == "stage 'count' of pipeline 'clicks': the query failed [java.lang.Oops: a]"
