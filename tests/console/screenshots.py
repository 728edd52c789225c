"""Pictures of every page of the console in both themes: `make screenshots`, into docs/images/console/. On a broker, an engine and a console of their own, with a small shop's records."""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.plan.engine import PipelineState, Submission
from headrace.streams import App, tumbling
from headrace.testing import broker, wait_until
from headrace.testing.clients import Clients, read
from headrace.testing.console import console_process
from tests.console.browser import chromium
from tests.engine.process import EngineProcess

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images" / "console"
SIZE = {"width": 1360, "height": 900}
PHONE = {"width": 390, "height": 844}
COUNTRIES = ("ES", "FR", "DE", "IT", "PT", "MX", "AR")
RATE = 150


@dataclass
class Order:
    id: int
    customer: str
    country: str
    amount: float


def shop() -> App:
    app = App("sales-per-country")
    orders = app.stream("orders", key=str, value=Order)
    large = orders.filter(lambda o: o.amount > 20)
    large.group_by(lambda o: o.country).windowed_by(tumbling(minutes=1)).count(store="per-country").to_stream().to(
        "sales"
    )
    orders.filter(lambda o: o.amount > 400).to("large-orders")
    return app


def order(index: int, choose: random.Random) -> tuple[str, str]:
    customer = f"c{choose.randrange(400):03}"
    if index % 997 == 0:
        return customer, "not an order at all"
    amount = round(choose.lognormvariate(3.4, 0.9), 2)
    return customer, json.dumps(
        {"id": index, "customer": customer, "country": choose.choice(COUNTRIES), "amount": amount}
    )


@contextlib.contextmanager
def selling(kafka: Clients) -> Iterator[None]:
    """Orders come for as long as the pictures take, and two groups read them: one keeps up, one does not."""
    stopping, choose = threading.Event(), random.Random(7)
    producer = kafka.producer()

    def sell() -> None:
        index = 0
        while not stopping.wait(0.1):
            for _ in range(RATE // 10):
                index += 1
                key, value = order(index, choose)
                producer.produce("orders", value, key, headers=[("source", b"web"), ("trace", f"{index:08x}".encode())])
            producer.produce("clicks", json.dumps({"page": f"/p/{index % 50}"}), f"v{index % 90}")
            producer.poll(0)

    def follow(group: str, pause_s: float) -> None:
        consumer = kafka.consumer(group, client_id=f"{group}-1")
        consumer.subscribe(["orders"])
        while not stopping.is_set():
            consumer.consume(40, timeout=0.2)
            consumer.commit(asynchronous=True)
            stopping.wait(pause_s)
        consumer.close()

    threads = [threading.Thread(target=sell)]
    threads += [threading.Thread(target=follow, args=arguments) for arguments in (("billing", 0.05), ("reports", 1.0))]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
        producer.flush(10)


def furnish(kafka: Clients) -> Any:
    for name, partitions in (("orders", 4), ("clicks", 2), ("payments", 2), ("sales", 2), ("large-orders", 1)):
        kafka.create_topic(name, partitions)
    kafka.create_topic("customers", 1, cleanup_policy="compact")
    kafka.produce("customers", [(f"c{index:03}", json.dumps({"name": f"Customer {index}"})) for index in range(400)])
    kafka.produce("payments", [(f"c{index % 400:03}", json.dumps({"order": index})) for index in range(900)])
    consumer = kafka.consumer("nightly-export")
    consumer.subscribe(["payments"])
    messages = read(consumer, 200, timeout_s=30)
    consumer.commit(message=messages[-1], asynchronous=False)
    consumer.close()
    transactional = kafka.producer(transactional_id="ledger-writer")
    transactional.init_transactions(20)
    transactional.begin_transaction()
    transactional.produce("payments", b"{}", b"open")
    transactional.flush(10)
    return transactional


def _open_record(page: Any) -> None:
    page.get_by_role("button", name="Open the record").first.click()
    page.locator(".hr-tree").first.wait_for()


def _search(page: Any) -> None:
    page.get_by_label("Expression").fill('value.amount > 150 and value.country in ["ES", "PT"]')
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_timeout(2500)


def _live(page: Any) -> None:
    page.wait_for_timeout(4000)


def _preview(page: Any) -> None:
    page.get_by_role("button", name="Reset offsets").click()
    page.get_by_role("dialog").get_by_role("button", name="Preview").click()
    page.get_by_role("dialog").locator("td").first.wait_for()


def _look_up(page: Any) -> None:
    page.wait_for_timeout(9000)
    page.get_by_label("Key").fill("ES")
    page.get_by_role("button", name="Look up").click()
    page.wait_for_timeout(4000)


PICTURES: dict[str, tuple[str, Callable[[Any], None] | None]] = {
    "overview": ("/", None),
    "topics": ("/topics", None),
    "create-topic": ("/topics", lambda page: page.get_by_role("button", name="Create topic").click()),
    "topic-records": ("/topics/orders", _search),
    "record": ("/topics/orders", _open_record),
    "topic-live": ("/topics/orders?tab=live", _live),
    "topic-partitions": ("/topics/orders?tab=partitions", None),
    "topic-readers": ("/topics/orders?tab=readers", None),
    "topic-settings": ("/topics/orders?tab=settings", None),
    "produce": ("/topics/orders", lambda page: page.get_by_role("button", name="Produce").click()),
    "groups": ("/groups", None),
    "group": ("/groups/reports", None),
    "reset": ("/groups/nightly-export", _preview),
    "transactions": ("/transactions", None),
    "pipelines": ("/pipelines", None),
    "pipeline": ("/pipelines/sales-per-country", _look_up),
}


def take(browser: Any, url: str, folder: Path, wanted: list[str]) -> None:
    for theme in ("light", "dark"):
        for name, (path, prepare) in PICTURES.items():
            if wanted and name not in wanted:
                continue
            context = browser.new_context(viewport=SIZE, color_scheme=theme, device_scale_factor=1)
            page = context.new_page()
            page.goto(url + path)
            page.wait_for_selector("h1")
            page.wait_for_function("() => window.socket && window.socket.connected")
            page.wait_for_timeout(1500)
            if prepare is not None:
                prepare(page)
            page.wait_for_timeout(800)
            page.screenshot(path=folder / f"{name}-{theme}.png", full_page=name == "pipeline")
            context.close()
            print(f"{name}, {theme}", flush=True)
    context = browser.new_context(viewport=PHONE, color_scheme="dark", device_scale_factor=2)
    page = context.new_page()
    page.goto(url + "/")
    page.wait_for_timeout(3000)
    page.screenshot(path=folder / "phone-dark.png")
    context.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.console.screenshots", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PICTURES)}; all by default")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, broker() as kafka:
        print("a broker, an engine and a shop are started ...", flush=True)
        held = furnish(kafka)
        engine = EngineProcess(kafka.bootstrap_servers, Path(scratch) / "data")
        try:
            engine.wait_until_ready().submit(Submission(shop().plan()))
            wait_until(lambda: engine.remote.status("sales-per-country").state is PipelineState.RUNNING, timeout_s=180)
            options = ("--engine", engine.remote.url, "--registry", "http://127.0.0.1:8081")
            with selling(kafka), console_process(kafka.bootstrap_servers, *options) as console, chromium() as browser:
                time.sleep(25)  # so that plots have something to show
                take(browser, console.url, given.folder, given.names)
        finally:
            engine.stop()
        held.abort_transaction(10)


if __name__ == "__main__":
    main()
