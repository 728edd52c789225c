"""Orders in, totals out: an idempotent producer and a consumer group that commits after it has processed.

Start a broker (`headrace broker`) and run `python examples/orders.py [HOST:PORT]`.
"""

import json
import sys
from collections import Counter

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

BOOTSTRAP = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092"
TOPIC = "example-orders"
ORDERS = [("alice", 4), ("bob", 7), ("alice", 9), ("carol", 2), ("bob", 1)]


def create_topic() -> None:
    admin = AdminClient({"bootstrap.servers": BOOTSTRAP})
    if TOPIC not in admin.list_topics(timeout=10).topics:
        admin.create_topics([NewTopic(TOPIC, num_partitions=3)])[TOPIC].result(10)


def send_orders() -> None:
    # murmur2_random is Java's way to place keys: one key, one partition, whichever client sends it.
    config = {"bootstrap.servers": BOOTSTRAP, "enable.idempotence": True, "partitioner": "murmur2_random"}
    producer = Producer(config)
    for customer, total in ORDERS:
        producer.produce(TOPIC, key=customer, value=json.dumps({"total": total}))
    producer.flush(10)


def add_up() -> Counter[str]:
    config = {
        "bootstrap.servers": BOOTSTRAP,
        "group.id": "example-totals",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer(config)
    consumer.subscribe([TOPIC])
    totals: Counter[str] = Counter()
    for _ in ORDERS:
        message = consumer.poll(30.0)
        assert message is not None and message.error() is None
        totals[message.key().decode()] += json.loads(message.value())["total"]
        # After processing: a crash in between repeats the record, it never loses one.
        consumer.commit(message, asynchronous=False)
    consumer.close()
    return totals


if __name__ == "__main__":
    create_topic()
    send_orders()
    for customer, total in sorted(add_up().items()):
        print(customer, total)
