"""Declared and used: a broker setting that no code reads would be a promise in the reference that nobody keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace
from headrace.settings import BROKER_SETTINGS

SOURCE = Path(headrace.__file__).parent
DECLARATIONS = {
    SOURCE / "settings" / name for name in ("cleaner.py", "cluster.py", "coordinator.py", "log.py", "network.py")
}


@pytest.fixture(scope="module")
def source() -> str:
    return "\n".join(path.read_text() for path in sorted(SOURCE.rglob("*.py")) if path not in DECLARATIONS)


@pytest.mark.parametrize("name", BROKER_SETTINGS)
def test_every_broker_setting_is_read_somewhere(source: str, name: str) -> None:
    assert f'"{name}"' in source, "make it work, or move it to UNUSED_KAFKA_SETTINGS"
