"""The examples run as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.launch import read_properties
from headrace.settings import BrokerSettings

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def python(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=EXAMPLES, env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_orders(bootstrap: str) -> None:
    assert python("orders.py", bootstrap) == "alice 13\nbob 8\ncarol 2\n"


def test_the_tested_service() -> None:
    assert "1 passed" in python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "-c", os.devnull, "test_orders.py"
    )


def test_crash() -> None:
    assert "none lost, none twice" in python("crash.py")


def test_settings() -> None:
    settings = BrokerSettings.parse(read_properties(str(EXAMPLES / "server.properties")))
    assert settings["num.partitions"] == 3


@pytest.mark.parametrize(
    "file", sorted(path.name for path in EXAMPLES.iterdir() if path.is_file() and path.name != "README.md")
)
def test_each_is_listed(file: str) -> None:
    assert f"({file})" in (EXAMPLES / "README.md").read_text()
