"""confluent-kafka with transactions, as a load.

`python -m bench.transactional_client rate BOOTSTRAP TOPIC SECONDS WARM_UP` commits transactions one after the other and prints
how many; `… write BOOTSTRAP TOPIC COUNT SIZE` fills a topic, with a tenth of the transactions aborted, and prints how many
records of it are committed.
"""

from __future__ import annotations

import json
import sys
import time

from confluent_kafka import Producer

RECORDS = 100
RECORDS_WHEN_WRITING = 2000
ABORT_EVERY = 10


def _producer(bootstrap_servers: str, topic: str) -> Producer:
    producer = Producer(
        {"bootstrap.servers": bootstrap_servers, "transactional.id": f"{topic}-writer", "linger.ms": 5, "acks": "all"}
    )
    producer.init_transactions(60)
    return producer


def rate(bootstrap_servers: str, topic: str, seconds: float, warm_up: float) -> dict[str, float]:
    producer, value = _producer(bootstrap_servers, topic), bytes(1024)
    unmeasured, _ = _commit_for(producer, topic, value, warm_up)
    measured, took = _commit_for(producer, topic, value, seconds)
    return {"per_second": measured / took, "with_warm_up": unmeasured + measured}


def _commit_for(producer: Producer, topic: str, value: bytes, seconds: float) -> tuple[int, float]:
    """How many transactions were committed, at least one, and the seconds that it took."""
    begin, done = time.perf_counter(), 0
    while done == 0 or time.perf_counter() - begin < seconds:
        producer.begin_transaction()
        for number in range(RECORDS):
            producer.produce(topic, value, partition=number % 4)
        producer.commit_transaction(60)
        done += 1
    return done, time.perf_counter() - begin


def write(bootstrap_servers: str, topic: str, count: int, size: int) -> dict[str, float]:
    producer, value, committed = _producer(bootstrap_servers, topic), bytes(size), 0
    for transaction in range(1, max(1, count // RECORDS_WHEN_WRITING) + 1):
        producer.begin_transaction()
        for number in range(RECORDS_WHEN_WRITING):
            producer.produce(topic, value, partition=number % 4)
        if transaction % ABORT_EVERY == ABORT_EVERY // 2:
            # Without it the client would throw away what it has not sent yet.
            producer.flush(60)
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)
            committed += RECORDS_WHEN_WRITING
    return {"committed": committed}


def main() -> None:
    mode, bootstrap_servers, topic, first, second = sys.argv[1:]
    if mode == "rate":
        printed = rate(bootstrap_servers, topic, float(first), float(second))
    else:
        printed = write(bootstrap_servers, topic, int(first), int(second))
    print(json.dumps(printed))


if __name__ == "__main__":
    main()
