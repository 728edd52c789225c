"""Every page of the console, in both themes, before axe: no serious finding. And every page fits a phone. A new page is checked as soon as it is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.console.page import pages
from headrace.testing.clients import Clients, read
from tests.console.conftest import Open

PATHS = [one.path for one in pages()]
EXAMPLES = {
    "/topics/{name}": "axe-topic",
    "/groups/{name}": "axe-group",
    "/pipelines/{name}": "axe-pipeline",
    "/schemas/{name:path}": "axe-subject",
}
GRAVE = ("serious", "critical")


@pytest.fixture(scope="module")
def furnished(kafka: Clients) -> None:
    """A topic with records and a group that reads it, so that pages have something to show."""
    kafka.create_topic("axe-topic", 2)
    kafka.produce("axe-topic", [("k", json.dumps({"id": index, "tags": ["a", "b"]})) for index in range(30)])
    consumer = kafka.consumer("axe-group")
    consumer.subscribe(["axe-topic"])
    messages = read(consumer, 10, timeout_s=30)
    consumer.commit(message=messages[-1], asynchronous=False)
    consumer.close()


def address(path: str) -> str:
    return f"{path[: path.index('{')]}{EXAMPLES[path]}" if "{" in path else path


def findings(page: Any) -> list[str]:
    import axe_playwright_python

    page.evaluate((Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['impact']}: {one['id']}: {one['help']}: {one['nodes'][0]['html'][:300]}"
        for one in found["violations"]
        if one["impact"] in GRAVE
    ]


def settled(page: Any) -> None:
    page.wait_for_function("() => !document.body.innerText.includes('Searching …')")
    page.wait_for_timeout(300)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", PATHS)
def test_no_serious_finding(open_page: Open, furnished: None, path: str, theme: str) -> None:
    page = open_page(address(path), color_scheme=theme)
    settled(page)
    assert findings(page) == []


@pytest.mark.parametrize("path", PATHS)
def test_pages_fit_a_phone(open_page: Open, furnished: None, path: str) -> None:
    page = open_page(address(path), viewport={"width": 360, "height": 740})
    settled(page)
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    assert page.get_by_role("navigation", name="Pages").is_visible()


@pytest.mark.parametrize("tab", ["live", "partitions", "readers", "settings"])
def test_tabs_of_a_topic(open_page: Open, furnished: None, tab: str) -> None:
    page = open_page(f"/topics/axe-topic?tab={tab}")
    settled(page)
    assert findings(page) == []


def test_dialogs(open_page: Open, furnished: None) -> None:
    page = open_page("/topics/axe-topic")
    page.get_by_text("looked at").wait_for()
    for opener in ("Produce", "Import", "Delete", "Save filter", "Open the record"):
        page.get_by_role("button", name=opener).first.click()
        page.get_by_role("dialog").wait_for()
        page.wait_for_timeout(400)  # a dialog fades in, and axe would measure the contrast of its ghost
        assert findings(page) == [], opener
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="hidden")
