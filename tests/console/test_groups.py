"""Groups and transactions in a real browser: lag, its plot, a reset with its preview, a transaction that is aborted."""

from __future__ import annotations

import re

from headrace.testing.clients import Clients, read
from tests.console.conftest import Open


def behind(kafka: Clients, topic: str, group: str, *, read_records: int) -> None:
    kafka.create_topic(topic)
    kafka.produce(topic, [(b"k", b"v")] * 50)
    consumer = kafka.consumer(group)
    consumer.subscribe([topic])
    try:
        messages = read(consumer, read_records, timeout_s=30)
        consumer.commit(message=messages[-1], asynchronous=False)
    finally:
        consumer.close()


def test_lag_and_a_reset_with_its_preview(open_page: Open, kafka: Clients) -> None:
    behind(kafka, "group-orders", "group-billing", read_records=30)
    page = open_page("/groups")
    page.get_by_label("Search groups").fill("group-billing")
    row = page.locator("tr", has_text="group-billing")
    row.get_by_text("20", exact=True).wait_for()
    row.get_by_role("link").click()
    page.wait_for_selector("h1:has-text('group-billing')")
    page.wait_for_function("() => window.socket && window.socket.connected")
    page.locator(".hr-figure:has-text('Lag') dd:has-text('20')").first.wait_for()
    page.locator(
        "[role=img][aria-label='Lag over time'] canvas, [role=img][aria-label='Lag over time'] svg"
    ).first.wait_for()
    page.get_by_role("button", name="Reset offsets").click()
    dialog = page.get_by_role("dialog")
    apply = dialog.get_by_role("button", name="Apply")
    assert apply.is_disabled()
    dialog.get_by_label("To", exact=True).select_option("shift")
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_text("Where to?").wait_for()
    dialog.get_by_label("Offset, time or number").fill("-10")
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_text("10 again").wait_for()
    apply.click()
    page.get_by_text("Offsets of group-billing are moved").wait_for()
    page.locator(".hr-figure:has-text('Lag') dd:has-text('30')").first.wait_for()
    from confluent_kafka import TopicPartition

    consumer = kafka.consumer("group-billing")
    assert consumer.committed([TopicPartition("group-orders", 0)], timeout=10)[0].offset == 20
    consumer.close()


def test_a_group_with_members_is_not_moved(open_page: Open, kafka: Clients) -> None:
    kafka.create_topic("group-busy-topic")
    kafka.produce("group-busy-topic", [b"v"] * 5)
    consumer = kafka.consumer("group-busy")
    consumer.subscribe(["group-busy-topic"])
    try:
        messages = read(consumer, 5, timeout_s=30)
        consumer.commit(message=messages[-1], asynchronous=False)
        page = open_page("/groups/group-busy")
        page.locator(".hr-figure:has-text('State') dd:has-text('Stable')").wait_for()
        page.get_by_role("button", name="Reset offsets").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Preview").click()
        dialog.get_by_text("5 again").wait_for()
        dialog.get_by_role("button", name="Apply").click()
        dialog.get_by_text("has 1 active member").wait_for()
    finally:
        consumer.close()


def test_a_group_is_deleted(open_page: Open, kafka: Clients) -> None:
    behind(kafka, "group-gone-topic", "group-gone", read_records=5)
    page = open_page("/groups/group-gone")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_label("Type group-gone").fill("group-gone")
    page.get_by_role("dialog").get_by_role("button", name="Delete group").click()
    page.wait_for_url("**/groups")
    missing = open_page("/groups/group-gone")
    missing.get_by_text("There is no group 'group-gone'").wait_for()


def test_an_open_transaction_is_aborted(open_page: Open, kafka: Clients) -> None:
    kafka.create_topic("transaction-topic")
    producer = kafka.producer(transactional_id="transaction-open")
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("transaction-topic", b"v")
    producer.flush(20)
    page = open_page("/transactions")
    row = page.locator("tr", has_text="transaction-open")
    row.get_by_text("Ongoing").wait_for()
    row.get_by_text("transaction-topic-0").wait_for()
    row.get_by_role("button", name="Abort transaction-open").click()
    page.get_by_role("dialog").get_by_role("button", name="Abort transaction").click()
    page.get_by_text("The transaction of transaction-open is aborted").wait_for()
    row.wait_for(state="detached")
    page.get_by_label("Ended ones too").check()
    page.locator("tr", has_text="transaction-open").get_by_text(re.compile("Empty|CompleteAbort")).wait_for()
    page.get_by_role("button", name="Look for them").click()
    page.get_by_text("0 hanging transactions").wait_for()
