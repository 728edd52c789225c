"""What stands around every page: menu, themes, phone's width, keyboard; and a broker that goes and comes back."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from headrace.testing.console import RunningConsole, console_process
from tests.console.conftest import NOWHERE, Mortal, Open


def test_the_menu_leads_to_every_page(open_page: Open) -> None:
    page = open_page("/")
    titles = page.locator("nav[aria-label=Pages] a > span").all_inner_texts()
    assert {"Overview", "Topics", "Groups", "Transactions", "Pipelines"} <= set(titles)
    for title in titles:
        page.get_by_role("navigation", name="Pages").get_by_role("link", name=title).click()
        page.wait_for_selector(f"h1:has-text('{title}')")
        assert page.locator("nav[aria-label=Pages] [aria-current=page]").inner_text().endswith(title)
        assert page.title() == f"{title} - Headrace"


def _ground(page: Any) -> str:
    return page.evaluate("() => getComputedStyle(document.body).backgroundColor")


def test_themes_follow_the_system_until_somebody_chooses(open_page: Open) -> None:
    light, dark = open_page("/", color_scheme="light"), open_page("/", color_scheme="dark")
    assert _ground(light) != _ground(dark)
    light.get_by_role("button", name="Dark theme").click()
    light.wait_for_function("() => document.body.classList.contains('body--dark')")
    assert _ground(light) == _ground(dark)
    light.reload()
    light.wait_for_selector("h1")
    assert _ground(light) == _ground(dark)
    assert light.get_by_role("button", name="Dark theme").get_attribute("aria-pressed") == "true"


def test_the_keyboard_gets_everywhere(open_page: Open) -> None:
    page = open_page("/")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent").strip() == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.closest('main') !== null")


def test_a_first_page_is_useful_at_once(open_page: Open) -> None:
    page = open_page("/")
    page.reload(wait_until="commit")
    page.wait_for_selector(".hr-service h3:has-text('Broker')")
    shown_after_ms = page.evaluate("() => performance.now()")
    assert shown_after_ms < 10_000, "two seconds on an idle machine; this one is shared"


def test_a_broker_that_is_gone_and_comes_back(open_page: Open, mortal: Mortal) -> None:
    mortal.create_topic("survivor")
    with console_process(mortal.bootstrap_servers, *NOWHERE) as console:
        page = open_page("/topics", at=console.url)
        page.wait_for_selector("a:has-text('survivor')")
        mortal.kill()
        page.wait_for_selector("[role=status] >> text=No broker answers at")
        assert page.locator("a:has-text('survivor')").is_visible(), "what was known stays"
        page.goto(console.url + "/")
        page.wait_for_selector(".hr-service:has-text('Broker') >> text=down")
        mortal.start()
        page.wait_for_selector(".hr-service:has-text('Broker') >> text='up'")
        page.wait_for_selector("table:has-text('What went wrong lately') >> text=answers again")
        page.goto(console.url + "/topics")
        page.wait_for_selector("a:has-text('survivor')")
        assert page.locator("[role=status] >> text=No broker answers at").count() == 0


def test_a_console_needs_no_broker_to_start(open_page: Open) -> None:
    with console_process("127.0.0.1:1", *NOWHERE) as console:
        page = open_page("/", at=console.url)
        page.wait_for_selector(".hr-service:has-text('Broker') >> text=headrace broker")


def test_an_unknown_page_says_so(console: RunningConsole, open_page: Open, browser: Any) -> None:
    context = browser.new_context()
    try:
        page = context.new_page()
        answer = page.goto(console.url + "/nowhere")
        assert answer is not None and answer.status == 404
    finally:
        context.close()


def test_it_is_part_of_up(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headrace", "up", "--no-engine", "--data-dir", str(tmp_path / "d"), "--json"]
    ports = ["--port", "0", "--registry-port", "0", "--console-port", "0"]
    with subprocess.Popen([*command, *ports], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            started = [json.loads(process.stdout.readline()) for _ in range(3)]
            (url,) = [each["url"] for each in started if each.get("service") == "console"]
            with urllib.request.urlopen(url, timeout=20) as answer:
                assert b"Headrace" in answer.read()
        finally:
            process.terminate()
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, b"")
