"""A service tested with a real broker: `pytest examples/test_orders.py`. The fixture comes with Headrace."""

import json


def copy_large_orders(bootstrap_servers: str, count: int) -> None:
    """The service under test: it reads `count` orders and passes on those over 5."""
    from confluent_kafka import Consumer, Producer

    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "copier", "auto.offset.reset": "earliest"})
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    consumer.subscribe(["orders"])
    for _ in range(count):
        message = consumer.poll(30.0)
        if json.loads(message.value())["total"] > 5:
            producer.produce("large-orders", key=message.key(), value=message.value())
    producer.flush(10)
    consumer.close()


def test_only_large_orders_are_passed_on(headrace_broker):
    headrace_broker.create_topic("orders", partitions=3)
    headrace_broker.create_topic("large-orders")
    headrace_broker.produce("orders", [("alice", '{"total": 4}'), ("bob", '{"total": 7}')])

    copy_large_orders(headrace_broker.bootstrap_servers, count=2)

    (record,) = headrace_broker.records("large-orders", 1)
    assert (record.key(), json.loads(record.value())) == (b"bob", {"total": 7})
