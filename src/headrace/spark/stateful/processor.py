"""How a specification reaches a Scala processor: as JSON, through the gateway."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame


def through(flow: DataFrame, processor: str, specification: Mapping[str, Any]) -> DataFrame:
    """The flow through the processor `headrace.<processor>`. Fields that are None are left out."""
    given = {name: value for name, value in specification.items() if value is not None}
    jvm = flow.sparkSession._jvm
    assert jvm is not None, "a processor needs a session with a Java process of its own"
    return DataFrame(getattr(jvm.headrace, processor).apply(flow._jdf, json.dumps(given)), flow.sparkSession)
