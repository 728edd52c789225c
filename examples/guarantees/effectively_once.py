"""Effectively once: records come at least once, and the database takes each only once.

A record is known by where it lies: topic, partition and offset never change. The row that says so and the effect of the
record are one transaction of the database, so a record that comes again after a crash changes nothing.

    seq 1000 | headrace produce orders --create
    python examples/guarantees/effectively_once.py --output orders.db
    sqlite3 orders.db 'select * from total'
"""

import sqlite3
import time

from confluent_kafka import Message
from reading import batches, parse_options, subscribe

TABLES = """
create table if not exists orders(topic, partition, offset, amount, primary key (topic, partition, offset));
create table if not exists total(id integer primary key check (id = 1), orders, amount);
insert or ignore into total values (1, 0, 0);
"""


def main() -> None:
    options = parse_options(__doc__, group="effectively-once", output="orders.db")
    database = sqlite3.connect(options.output)
    database.executescript(TABLES)
    consumer = subscribe(options)
    for messages in batches(consumer, options.follow):
        for message in messages:
            work(message, database, options.seconds)
        # A crash before this makes them come again, and the database knows them.
        consumer.commit(asynchronous=False)
    consumer.close()
    database.close()


def work(message: Message, database: sqlite3.Connection, seconds: float) -> None:
    """A row for the record and its effect, both or none, and only once."""
    amount = int(message.value())
    print("begin", amount, flush=True)
    time.sleep(seconds)
    place = message.topic(), message.partition(), message.offset()
    with database:  # one transaction
        row = database.execute("insert or ignore into orders values (?, ?, ?, ?)", (*place, amount))
        if row.rowcount:
            database.execute("update total set orders = orders + 1, amount = amount + ?", (amount,))


if __name__ == "__main__":
    main()
