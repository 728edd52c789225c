"""The list of topics: finding one among many, making one, and what a read-only console does not offer."""

from __future__ import annotations

from pathlib import Path

from headrace.testing.clients import Clients
from headrace.testing.console import console_process
from tests.console.conftest import NOWHERE, Open


def test_a_topic_is_created_and_found(open_page: Open, kafka: Clients) -> None:
    page = open_page("/topics")
    page.get_by_role("button", name="Create topic").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("made-in-the-browser")
    dialog.get_by_label("Partitions").fill("3")
    dialog.get_by_label("Clean-up").select_option("compact")
    dialog.get_by_role("button", name="Create").click()
    row = page.locator("tr", has_text="made-in-the-browser")
    row.wait_for()
    row.locator("td >> text=compact").wait_for()
    assert row.locator("td").nth(1).inner_text() == "3"
    assert len(kafka.admin().list_topics(timeout=10).topics["made-in-the-browser"].partitions) == 3


def test_what_the_broker_refuses_is_said_in_the_dialog(open_page: Open) -> None:
    page = open_page("/topics")
    page.get_by_role("button", name="Create topic").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Create").click()
    dialog.get_by_text("A topic needs a name").wait_for()
    dialog.get_by_label("Name").fill("not/allowed")
    dialog.get_by_role("button", name="Create").click()
    dialog.get_by_text("Cannot create 'not/allowed'").wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")


def test_one_is_found_among_many(open_page: Open, kafka: Clients) -> None:
    from confluent_kafka.admin import NewTopic

    names = [f"many-{index:04}" for index in range(120)]
    admin = kafka.admin()
    for future in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
        future.result(30)
    page = open_page("/topics")
    page.locator("text=/1 to 50 of \\d+/").wait_for()
    assert page.locator("tbody tr").count() == 50
    page.get_by_role("button", name="Next page").click()
    page.locator("text=/51 to 100 of/").wait_for()
    page.get_by_label("Search topics").fill("many-0077")
    page.locator("text=/1 to 1 of 1$/").wait_for()
    assert page.locator("tbody tr td").first.inner_text() == "many-0077"
    page.get_by_label("Search topics").fill("no such thing")
    page.get_by_text("Nothing has 'no such thing' in it").wait_for()


def test_sorting_by_a_column(open_page: Open, kafka: Clients) -> None:
    kafka.create_topic("sort-a")
    kafka.create_topic("sort-b")
    kafka.produce("sort-b", [b"x"] * 5)
    page = open_page("/topics")
    page.get_by_label("Search topics").fill("sort-")
    page.get_by_role("button", name="Records", exact=True).click()
    page.locator("th[aria-sort=ascending]:has-text('Records')").wait_for()
    page.get_by_role("button", name="Records", exact=True).click()
    page.locator("th[aria-sort=descending]:has-text('Records')").wait_for()
    page.locator("tbody tr:first-child:has-text('sort-b')").wait_for()


def test_a_read_only_console_offers_no_changes(open_page: Open, kafka: Clients) -> None:
    with console_process(kafka.bootstrap_servers, *NOWHERE, "--read-only") as console:
        page = open_page("/topics", at=console.url)
        page.get_by_text("Read-only").first.wait_for()
        assert page.get_by_role("button", name="Create topic").count() == 0


def test_the_table_can_be_saved(open_page: Open, kafka: Clients) -> None:
    kafka.create_topic("saved", 2)
    page = open_page("/topics")
    page.get_by_label("Search topics").fill("saved")
    page.locator("text=/1 to 1 of 1$/").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save this table as CSV").click()
    content = Path(download.value.path()).read_text()
    assert content.splitlines()[0].startswith("topic,partitions,replicas,records")
    assert content.splitlines()[1].startswith("saved,2,1,0")
