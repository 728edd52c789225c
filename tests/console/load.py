"""What the live page of a fast topic costs: `python -m tests.console.load --rate 100000 --seconds 20` prints the console's share of a core and how long the browser took between two frames at most."""

from __future__ import annotations

import argparse
import json
import threading
import time

import psutil

from headrace.testing import broker_process
from headrace.testing.clients import Clients
from headrace.testing.console import console_process
from tests.console.browser import chromium

_WATCH_FRAMES = """() => {
  window.longest = 0;
  let last = performance.now();
  const look = now => { window.longest = Math.max(window.longest, now - last); last = now; requestAnimationFrame(look); };
  requestAnimationFrame(look);
}"""


def produce(kafka: Clients, rate: int, stopping: threading.Event, sent: list[int]) -> None:
    producer = kafka.producer(linger_ms=20, queue_buffering_max_messages=1_000_000)
    value, began = b"x" * 100, time.monotonic()
    while not stopping.is_set():
        wanted = int((time.monotonic() - began) * rate)
        while sent[0] < wanted:
            try:
                producer.produce("fast", value)
            except BufferError:
                producer.poll(0.05)
                continue
            sent[0] += 1
        producer.poll(0.01)
    producer.flush(10)


def measure(rate: int, seconds: float) -> dict[str, float]:
    with broker_process() as kafka:
        kafka.create_topic("fast", 4)
        with console_process(kafka.bootstrap_servers) as console, chromium() as browser:
            page = browser.new_page()
            page.goto(f"{console.url}/topics/fast?tab=live")
            page.get_by_text("Following").wait_for()
            stopping, sent = threading.Event(), [0]
            producing = threading.Thread(target=produce, args=(kafka, rate, stopping, sent))
            producing.start()
            try:
                page.get_by_text("passed over").wait_for()
                page.evaluate(_WATCH_FRAMES)
                process = psutil.Process(console.pid)
                before, began, sent_before = sum(process.cpu_times()[:2]), time.monotonic(), sent[0]
                time.sleep(seconds)
                used, elapsed = sum(process.cpu_times()[:2]) - before, time.monotonic() - began
                longest_ms = page.evaluate("() => window.longest")
            finally:
                stopping.set()
                producing.join()
    return {
        "records_per_s": round((sent[0] - sent_before) / elapsed),
        "console_share_of_a_core": round(used / elapsed, 3),
        "longest_frame_ms": round(longest_ms),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.console.load", description=__doc__)
    parser.add_argument("--rate", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20)
    given = parser.parse_args()
    print(json.dumps(measure(given.rate, given.seconds)))


if __name__ == "__main__":
    main()
