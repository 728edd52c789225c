"""De-duplication: the first row for each key of the flow within a time. Reads `left`, which comes out as `value`."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from pyspark.sql import DataFrame

from headrace.spark.stateful.processor import through


@dataclass(frozen=True)
class DeduplicateSpec:
    """Rows less than `within_ms` of event time from the last one let through are repetitions."""

    step: str
    within_ms: int
    pipeline: str = ""
    real_time: bool = False


def deduplicate(flow: DataFrame, spec: DeduplicateSpec) -> DataFrame:
    """The flow without repetitions; its key is what rows are compared by."""
    return through(flow, "Deduplicate", asdict(spec))
