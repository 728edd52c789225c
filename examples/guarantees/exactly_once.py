"""Exactly once: from topic to topic, what was read and what was written are committed together or not at all.

A crash leaves an open transaction. The program that is started again has the same transactional id: the broker aborts what
was left open and lets nobody continue it, and reading goes on where the last committed transaction ended. Readers with
isolation.level=read_committed never see what was aborted.

    seq 1000 | headrace produce orders --create
    python examples/guarantees/exactly_once.py --output invoices
    headrace consume invoices -X isolation.level=read_committed
"""

import time

from confluent_kafka import Producer
from reading import batches, parse_options, subscribe


def main() -> None:
    options = parse_options(__doc__, group="exactly-once", output="invoices")
    producer = Producer(
        {"bootstrap.servers": options.bootstrap_server, "transactional.id": f"{options.group}-1", "linger.ms": 0}
    )
    # Before anything is read: this ends whatever the program before left open.
    producer.init_transactions()
    consumer = subscribe(options)
    for messages in batches(consumer, options.follow):
        producer.begin_transaction()
        for message in messages:
            producer.produce(options.output, work(message.value().decode(), options.seconds))
        # How far it has read is part of the transaction, instead of a commit of its own.
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata())
        producer.commit_transaction()
    consumer.close()


def work(order: str, seconds: float) -> str:
    """From one record to another."""
    print("begin", order, flush=True)
    time.sleep(seconds)
    return order


if __name__ == "__main__":
    main()
