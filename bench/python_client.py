"""confluent-kafka from Python as a load: `python -m bench.python_client produce|keyed|consume BOOTSTRAP TOPIC COUNT SIZE`.

`keyed` gives the records keys, ten records to a key, the same keys in the same order every time.
"""

from __future__ import annotations

import json
import random
import sys
import time

from confluent_kafka import Consumer, Producer

RECORDS_PER_KEY = 10


def produce(bootstrap_servers: str, topic: str, count: int, size: int, keyed: bool) -> float:
    producer = Producer(
        {"bootstrap.servers": bootstrap_servers, "acks": 1, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000}
    )
    value = bytes(size)
    keys = random.Random(count)
    different = max(1, count // RECORDS_PER_KEY)
    producer.list_topics(topic, 10)
    start = time.perf_counter()
    for number in range(count):
        key = b"%010d" % keys.randrange(different) if keyed else None
        while True:
            try:
                producer.produce(topic, value, key)
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
    if mode in ("produce", "keyed"):
        seconds = produce(bootstrap_servers, topic, int(count), int(size), mode == "keyed")
    else:
        seconds = consume(bootstrap_servers, topic, int(count))
    print(json.dumps({"messages_per_s": int(count) / seconds}))


if __name__ == "__main__":
    main()
