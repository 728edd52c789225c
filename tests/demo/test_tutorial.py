"""docs/emergency-centre.md: every step's app does with its records what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from headrace.testing import LocalBroker
from headrace.testing.streams import StreamsDriver
from tests.streams.pages import Line, Page, _line, plain

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "emergency-centre.md").read_text(encoding="utf-8")
_STEP = re.compile(r"^## (\d)[^\n]*\n.*?^```python\n(.*?)^```$.*?^```records\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEPS = {
    number: Page(f"step-{number}", code, tuple(_line(line) for line in records.splitlines()))
    for number, code, records in _STEP.findall(TEXT)
}


def test_the_page_has_its_steps() -> None:
    assert list(STEPS) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("number", STEPS)
def test_a_step_does_what_it_says(number: str, spark: Any, headrace_broker: LocalBroker) -> None:
    page = STEPS[number]
    app = page.app()
    assert not app.python_functions()
    with StreamsDriver(app, spark=spark, broker=headrace_broker, guarantee=app.guarantee.value) as driver:
        for line in page.lines:
            if line.direction == "in":
                driver.pipe(line.topic, line.key, line.value, line.timestamp_ms)
        expected = [line for line in page.lines if line.direction == "out"]
        for topic in {line.topic for line in expected}:
            found = [plain(record) for record in driver.read(topic)]
            assert found == [Line("out", "", *_rest(line)) for line in expected if line.topic == topic]


def _rest(line: Line) -> tuple[Any, ...]:
    return line.key, line.value, line.timestamp_ms, line.window
