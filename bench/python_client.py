"""confluent-kafka from Python as a load: `python -m bench.python_client produce|consume BOOTSTRAP TOPIC COUNT SIZE`."""

from __future__ import annotations

import json
import sys
import time

from confluent_kafka import Consumer, Producer


def produce(bootstrap_servers: str, topic: str, count: int, size: int) -> float:
    producer = Producer(
        {"bootstrap.servers": bootstrap_servers, "acks": 1, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000}
    )
    value = bytes(size)
    producer.list_topics(topic, 10)
    start = time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 1000 == 0:
            producer.poll(0)
    if producer.flush(120) != 0:
        raise TimeoutError("records were left in the queue")
    return time.perf_counter() - start


def consume(bootstrap_servers: str, topic: str, count: int) -> float:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": f"{topic}-python",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    seen = len(consumer.consume(1, 60))
    start = time.perf_counter()
    while seen < count:
        seen += len(consumer.consume(10_000, 1.0))
    seconds = time.perf_counter() - start
    consumer.close()
    return seconds


def main() -> None:
    mode, bootstrap_servers, topic, count, size = sys.argv[1:]
    if mode == "produce":
        seconds = produce(bootstrap_servers, topic, int(count), int(size))
    else:
        seconds = consume(bootstrap_servers, topic, int(count))
    print(json.dumps({"messages_per_s": int(count) / seconds}))


if __name__ == "__main__":
    main()
