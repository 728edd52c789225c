"""What the pages on windows and joins say goes in and comes out, does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest

from headrace.testing import LocalBroker
from headrace.testing.streams import StreamsDriver
from tests.streams.pages import FOLDER, Line, Page, pages, plain

PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_pages_tell_the_truth(name: str, spark: Any, headrace_broker: LocalBroker) -> None:
    page = PAGES[name]
    with StreamsDriver(page.app(), spark=spark, broker=headrace_broker) as driver:
        found = _run(driver, page)
    assert _by_key(found) == _by_key(_expected(page))


def _run(driver: StreamsDriver, page: Page) -> dict[str, list[Line]]:
    """Piped in the order of the page; where time or another topic matters, what came before is processed first."""
    last = ""
    for line in page.lines:
        if line.direction != "in":
            continue
        if last not in ("", line.topic) or page.name in ONE_BY_ONE:
            driver.process()
        driver.pipe(line.topic, line.key, line.value, line.timestamp_ms)
        last = line.topic
    topics = {line.topic for line in page.lines if line.direction == "out"}
    return {topic: [plain(record) for record in driver.read(topic)] for topic in topics}


# Pages on which a result depends on what earlier batches have seen.
ONE_BY_ONE = {"final"}


def _expected(page: Page) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = defaultdict(list)
    for line in page.lines:
        if line.direction == "out":
            found[line.topic].append(replace(line, topic=""))
    return dict(found)


def _by_key(outputs: dict[str, list[Line]]) -> dict[str, dict[Any, list[Line]]]:
    """Order is promised for a key and its window; between windows that one record changes there is none."""
    found: dict[str, dict[Any, list[Line]]] = {}
    for topic, lines in outputs.items():
        for line in lines:
            found.setdefault(topic, {}).setdefault((line.key, line.window), []).append(line)
    return found


def test_every_window_and_join_has_its_page() -> None:
    windows = {path.stem for path in (FOLDER / "windows").glob("*.md")}
    assert windows == {
        "index",
        "tumbling",
        "hopping",
        "incremental",
        "sliding",
        "session",
        "count",
        "punctuation",
        "final",
    }
    joins = {path.stem for path in (FOLDER / "joins").glob("*.md")}
    assert joins == {"index", "stream-stream", "stream-table", "global-table", "table-table", "foreign-key"}


def test_code_on_all_pages_builds_apps() -> None:
    for page in PAGES.values():
        assert page.app().plan().steps
