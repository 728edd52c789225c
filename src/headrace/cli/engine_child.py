"""The engine as a child of `headrace up`: a process of its own, because Spark must not share the broker's event loop."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from headrace.cli.service_child import ServiceChild


def is_installed() -> bool:
    """Whether this Python has what an engine needs."""
    return importlib.util.find_spec("pyspark") is not None


def engine_child(port: int, broker_data: Path, *, as_json: bool) -> ServiceChild:
    data_dir = broker_data.parent / f"{broker_data.name}-engine"
    return ServiceChild(["engine", "--port", str(port), "--data-dir", str(data_dir)], as_json=as_json)
