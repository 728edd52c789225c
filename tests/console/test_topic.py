"""One topic's page in a real browser: browsing, filters that are kept, forms of a value, live, files in and out, producing, settings, deleting; and hostile records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headrace.testing.clients import Clients
from headrace.testing.console import console_process
from tests.console.conftest import NOWHERE, Open


def filled(kafka: Clients, topic: str, partitions: int = 1, count: int = 40) -> str:
    kafka.create_topic(topic, partitions)
    kafka.produce(
        topic, [(f"k{index % 3}", json.dumps({"id": index, "who": {"name": "Ann"}})) for index in range(count)]
    )
    return topic


def search(page: Any) -> None:
    page.get_by_role("button", name="Search", exact=True).click()


def test_browsing_by_place_and_filter(open_page: Open, kafka: Clients) -> None:
    filled(kafka, "page-browse", 2)
    page = open_page("/topics/page-browse")
    page.get_by_text("about 1").first.wait_for()
    page.get_by_role("button", name="Search on").click()
    page.get_by_text("that is all").wait_for()
    page.get_by_label("Expression").fill('value.id >= 38 or key == "nobody"')
    search(page)
    page.get_by_text("2 found, 40 looked at, that is all").wait_for()
    page.get_by_label("Expression").fill("value.id >")
    search(page)
    page.get_by_text("is no expression").wait_for()
    page.get_by_label("Expression").fill("")
    page.get_by_label("From").select_option("offset")
    page.get_by_label("Offset or time").fill("0")
    page.get_by_label("With the text").fill("k1")
    page.get_by_label("Where", exact=True).select_option("key")
    search(page)
    page.locator("tbody tr td:nth-child(4):text-is('k1')").first.wait_for()
    page.wait_for_function(
        "() => new Set([...document.querySelectorAll('tbody tr td:nth-child(4)')].map(c => c.innerText)).size === 1"
    )
    page.get_by_label("With the text").fill("")
    page.get_by_label("Partition", exact=True).select_option("1")
    search(page)
    page.wait_for_function(
        "() => [...document.querySelectorAll('tbody tr td:first-child')].every(c => c.innerText === '1')"
    )
    page.get_by_label("From").select_option("time")
    page.get_by_label("Offset or time").fill("tomorrow")
    search(page)
    page.get_by_text("'tomorrow' is not a time").wait_for()


def test_an_answer_that_comes_too_late_is_not_shown(open_page: Open, kafka: Clients) -> None:
    filled(kafka, "page-slow", count=60_000)
    page = open_page("/topics/page-slow")
    page.get_by_label("From").select_option("beginning")
    page.get_by_label("Expression").fill("value.id == 59999")
    search(page)
    page.get_by_text("Searching …").wait_for()
    page.get_by_label("Expression").fill("value.id >")
    search(page)
    page.get_by_text("is no expression").wait_for()
    page.get_by_label("Expression").fill("value.id == 7")
    search(page)
    page.get_by_text("1 found").wait_for()
    page.locator("tbody tr td:text-is('k1')").first.wait_for()
    assert page.locator("tbody tr").count() == 1


def test_filters_are_kept_by_the_browser(open_page: Open, kafka: Clients) -> None:
    filled(kafka, "page-filters")
    page = open_page("/topics/page-filters")
    page.get_by_label("Expression").fill("value.id == 5")
    page.get_by_role("button", name="Save filter").click()
    page.get_by_role("dialog").get_by_label("Name").fill("the fifth")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    page.get_by_text("The filter is saved").wait_for()
    page.reload()
    page.locator("option", has_text="the fifth").wait_for(state="attached")
    page.get_by_label("Saved filters").select_option("the fifth")
    page.wait_for_function("() => [...document.querySelectorAll('input')].some(i => i.value === 'value.id == 5')")
    search(page)
    page.get_by_text("1 found").wait_for()


def test_a_record_in_all_its_forms(open_page: Open, kafka: Clients) -> None:
    topic = filled(kafka, "page-forms", count=1)
    producer = kafka.producer()
    producer.produce(topic, b"\x00\xffbinary", b"raw", headers=[("trace", b"7f"), ("none", None)])
    producer.flush(10)
    page = open_page(f"/topics/{topic}")
    page.get_by_role("button", name="Open the record at offset 0 of partition 0").click()
    dialog = page.get_by_role("dialog")
    dialog.locator(".hr-tree summary", has_text="who").wait_for()
    dialog.get_by_text('name: "Ann"').wait_for()
    dialog.get_by_role("group", name="Show the value as").get_by_role("button", name="Hex").click()
    dialog.get_by_text("00000000  7b 22 69 64").wait_for()
    dialog.get_by_role("button", name="Close").click()
    dialog.wait_for(state="hidden")
    page.get_by_role("button", name="Open the record at offset 1 of partition 0").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("00 ff 62 69 6e 61 72 79").wait_for()
    assert dialog.locator("dt", has_text="trace").count() == 1


def test_a_script_in_a_record_stays_text(open_page: Open, kafka: Clients) -> None:
    evil = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
    topic = kafka.create_topic("page-evil")
    producer = kafka.producer()
    value = json.dumps({evil: evil, "{{constructor.constructor('window.hacked=1')()}}": "${window.hacked=1}`"})
    for content in (value, evil):
        producer.produce(topic, content, evil, headers=[(evil, evil.encode())])
    producer.flush(10)
    page = open_page(f"/topics/{topic}")
    for offset in (0, 1):
        page.get_by_role("button", name=f"Open the record at offset {offset} of partition 0").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("<script>window.hacked=1</script>").first.wait_for()
        for form in ("Text", "Hex"):
            dialog.get_by_role("group", name="Show the value as").get_by_role("button", name=form).click()
            dialog.get_by_role("region", name=f"Value as {form}").wait_for()
        dialog.get_by_role("button", name="Close").click()
        dialog.wait_for(state="hidden")
    page.get_by_role("tab", name="Live").click()
    page.get_by_text("Nothing has come").wait_for()
    page.reload()  # the live tab again, with what is there rendered by the first load
    page.get_by_text("Following").wait_for()
    kafka.produce(topic, [(evil, evil)] * 3)
    page.get_by_text("<script>window.hacked=1</script>").first.wait_for()
    assert page.evaluate("() => window.hacked") is None
    assert page.locator("main script, main img").count() == 0


def test_live_follows_and_pauses(open_page: Open, kafka: Clients) -> None:
    topic = filled(kafka, "page-live", 2, count=3)
    page = open_page(f"/topics/{topic}?tab=live")
    page.get_by_text("Following").wait_for()
    for _ in range(40):
        kafka.produce(topic, [("live", f"tick {_}")])
        if page.locator("td", has_text="tick").count():
            break
        page.wait_for_timeout(500)
    assert page.locator("td", has_text="tick").count()
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("Paused").wait_for()


def test_files_out_and_in(open_page: Open, kafka: Clients, tmp_path: Path) -> None:
    topic = filled(kafka, "page-files", count=10)
    copy = kafka.create_topic("page-files-copy")
    page = open_page(f"/topics/{topic}")
    page.get_by_text("10 found").wait_for()
    for form in ("JSONL", "CSV"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save these records as {form}").click()
        download.value.save_as(tmp_path / download.value.suggested_filename)
    page.goto(page.url.replace(topic, copy))
    page.get_by_text("that is all").wait_for()
    page.get_by_role("button", name="Import").click()
    dialog = page.get_by_role("dialog")
    for name in (f"{topic}.jsonl", f"{topic}.csv"):
        dialog.get_by_label("File").set_input_files(tmp_path / name)
        dialog.get_by_text("10 records imported").wait_for()
        dialog.get_by_role("button", name="Close").click()
        dialog.wait_for(state="hidden")
        if name.endswith("jsonl"):
            page.get_by_role("button", name="Import").click()
    original = sorted((one.key(), one.value()) for one in kafka.records(topic, 10))
    assert sorted((one.key(), one.value()) for one in kafka.records(copy, 20)) == sorted(original * 2)


def test_an_operator_switches_files_off_and_masks_fields(open_page: Open, kafka: Clients) -> None:
    topic = kafka.create_topic("page-masked")
    kafka.produce(topic, [json.dumps({"id": 1, "email": "ann@example.com"})])
    options = ("--no-export", "--no-import", "--mask-field", "email")
    with console_process(kafka.bootstrap_servers, *NOWHERE, *options) as console:
        page = open_page(f"/topics/{topic}", at=console.url)
        page.get_by_text("•••").first.wait_for()
        assert "ann@example.com" not in page.content()
        for name in ("Import", "CSV", "JSONL"):
            assert page.get_by_role("button", name=name).count() == 0


def test_producing_records(open_page: Open, kafka: Clients) -> None:
    topic = kafka.create_topic("page-produce", 2)
    page = open_page(f"/topics/{topic}")
    page.get_by_role("button", name="Produce").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Key", exact=True).fill("k")
    dialog.get_by_label("Value", exact=True).fill('{"typed": "by hand"}')
    dialog.get_by_label("Headers").fill("trace=abc\nempty")
    dialog.get_by_role("button", name="Produce").click()
    dialog.get_by_text("Written to partition").wait_for()
    dialog.get_by_label("Partition").fill("7")
    dialog.get_by_role("button", name="Produce").click()
    dialog.get_by_text("Nothing was sent").wait_for()
    dialog.get_by_label("Partition").fill("1")
    dialog.get_by_label("No value").check()
    dialog.get_by_role("button", name="Produce").click()
    dialog.get_by_text("Written to partition 1 at offset").wait_for()
    first, second = sorted(kafka.records(topic, 2), key=lambda one: one.value() is None)
    assert (first.key(), first.value()) == (b"k", b'{"typed": "by hand"}')
    assert first.headers() == [("trace", b"abc"), ("empty", None)]
    assert (second.value(), second.partition()) == (None, 1)


def test_settings_with_their_meaning(open_page: Open, kafka: Clients) -> None:
    topic = kafka.create_topic("page-settings")
    page = open_page(f"/topics/{topic}?tab=settings")
    page.get_by_label("Search settings").fill("retention.ms")
    row = page.locator("tr", has_text="retention.ms").filter(has_text="Segments are deleted once")
    row.get_by_role("button", name="Change").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Value").fill("soon")
    dialog.get_by_role("button", name="Set").click()
    dialog.get_by_text("Cannot change topic").wait_for()
    dialog.get_by_label("Value").fill("3600000")
    dialog.get_by_role("button", name="Set").click()
    row.get_by_text("3600000 (1 h)").wait_for()
    row.get_by_role("button", name="Change").click()
    page.get_by_role("dialog").get_by_role("button", name="Back to the default").click()
    row.get_by_text("604800000").wait_for()


def test_partitions_and_readers(open_page: Open, kafka: Clients) -> None:
    topic = filled(kafka, "page-readers", 2, count=20)
    consumer = kafka.consumer("page-readers-group")
    consumer.subscribe([topic])
    try:
        from headrace.testing.clients import read

        messages = read(consumer, 20, timeout_s=30)
        consumer.commit(message=messages[0], asynchronous=False)
        page = open_page(f"/topics/{topic}?tab=readers")
        page.get_by_role("link", name="page-readers-group").wait_for()
        page.get_by_role("tab", name="Partitions").click()
        page.locator("table:has-text('Partitions of') tbody tr").nth(1).wait_for()
    finally:
        consumer.close()


def test_deleting_takes_the_name(open_page: Open, kafka: Clients) -> None:
    topic = kafka.create_topic("page-delete")
    page = open_page(f"/topics/{topic}")
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    confirm = dialog.get_by_role("button", name="Delete topic")
    assert confirm.is_disabled()
    dialog.get_by_label("Type page-delete").fill("page-delet")
    assert confirm.is_disabled()
    dialog.get_by_label("Type page-delete").fill("page-delete")
    confirm.click()
    page.wait_for_url("**/topics")
    assert topic not in kafka.admin().list_topics(timeout=10).topics


def test_a_topic_that_is_not_there(open_page: Open) -> None:
    page = open_page("/topics/no-such-topic")
    page.get_by_text("There is no topic 'no-such-topic'").wait_for()


def test_many_records_a_second_do_not_freeze_the_page(open_page: Open, kafka: Clients) -> None:
    topic = kafka.create_topic("page-fast", 2)
    page = open_page(f"/topics/{topic}?tab=live")
    page.get_by_text("Following").wait_for()
    page.get_by_text("Nothing has come").wait_for()
    page.wait_for_timeout(1500)
    kafka.produce(topic, [b"x" * 100] * 60_000)
    page.get_by_text("passed over").wait_for()
    assert page.locator("tbody tr").count() <= 60
