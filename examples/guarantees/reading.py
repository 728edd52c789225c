"""What the four programs share: their options, a consumer that commits nothing by itself, and records in small batches."""

import argparse
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, KafkaException, Message


def parse_options(doc: str, group: str, output: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-server", default="127.0.0.1:9092")
    parser.add_argument("--topic", default="orders")
    parser.add_argument("--group", default=group)
    parser.add_argument("--output", default=output)
    parser.add_argument("--follow", action="store_true", help="wait for more at the end of the topic")
    parser.add_argument("--seconds", type=float, default=0.0, help="how long the work on a record takes (0)")
    return parser.parse_args()


def subscribe(options: argparse.Namespace) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": options.bootstrap_server,
            "group.id": options.group,
            # A program that is started again takes the place of the one that crashed, at once.
            "group.instance.id": "1",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            # When to commit is what these programs are about.
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.subscribe([options.topic])
    return consumer


def batches(consumer: Consumer, follow: bool) -> Iterator[list[Message]]:
    """Up to ten records at a time; unless told to follow, until the end of every partition."""
    at_end: set[int] = set()
    while follow or not at_end or len(at_end) < len(consumer.assignment()):
        messages = []
        for message in consumer.consume(10, timeout=0.2):
            error = message.error()
            if error is None:
                messages.append(message)
                at_end.discard(message.partition())
            elif error.code() == KafkaError._PARTITION_EOF:
                at_end.add(message.partition())
            else:
                raise KafkaException(error)
        if messages:
            yield messages
