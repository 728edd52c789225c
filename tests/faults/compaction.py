"""Compaction under kill -9: many records over fewer keys, the broker killed in the middle of a round, a dictionary beside it.

    python -m tests.faults.compaction --records 20000000 --keys 1000000 --kills 3

At the end a reader from the start must find exactly the dictionary, and little more than that in the log. On the way it
measures what a producer of another topic waits for its acknowledgements, without compaction and while it runs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from headrace.testing import BrokerProcess, broker_process, wait_until

TOPIC = "compacted"
PROBED = "probed"
PROBES = 400


def run(
    records: int, keys: int, kills: int, seed: int, *, report: Callable[[str], None] = lambda _: None
) -> dict[str, float]:
    """Fill, compact under kills, compare; the figures."""
    rng = random.Random(seed)
    figures: dict[str, float] = {"records": records, "keys": keys}
    with broker_process(log_cleaner_backoff_ms=200, log_cleaner_enable=False) as broker:
        segment_bytes = max(1 << 20, records * 100 // 20)
        broker.create_topic(
            TOPIC,
            cleanup_policy="compact",
            segment_bytes=segment_bytes,
            min_cleanable_dirty_ratio=0.01,
            file_delete_delay_ms=0,
        )
        broker.create_topic(PROBED)
        expected = fill(broker, records, keys, rng)
        figures["full_mb"] = size_mb(broker)
        report(f"filled: {figures}")
        figures["p99_ms_without"] = probe(broker)
        # Slow enough to be met in the middle of its work, fast enough to get somewhere.
        broker.restart(
            log_cleaner_enable=True, log_cleaner_io_max_bytes_per_second=max(4e6, figures["full_mb"] * 1e6 / 4)
        )
        for number in range(kills):
            wait_until(lambda: any(folder(broker).glob("*.cleaned")), timeout_s=120)
            time.sleep(rng.random() * 0.3)
            workers = psutil.Process(broker.pid).children()
            broker.kill()
            # Nobody may write into the folder of a broker that is to start again.
            psutil.wait_procs(workers, timeout=10)
            assert not any(worker.is_running() for worker in workers)
            broker.restart()
            report(f"killed {number + 1} times")
        broker.restart(log_cleaner_io_max_bytes_per_second=1e12)
        figures["p99_ms_while"] = probe(broker)
        started = time.monotonic()
        wait_until(
            lambda: size_mb(broker) < figures["full_mb"] * keys / records + 3 * segment_bytes / 1e6, timeout_s=600
        )
        figures["compacted_s"] = round(time.monotonic() - started, 1)
        figures["compacted_mb"] = size_mb(broker)
        report(f"compacted: {figures}")
        found = read(broker, records)
        assert found == expected, difference(found, expected)
        assert broker.stop() == 0
    return figures


def folder(broker: BrokerProcess) -> Path:
    return broker.data_dir / f"{TOPIC}-0"


def size_mb(broker: BrokerProcess) -> float:
    total = 0
    for path in folder(broker).glob("*.log"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return round(total / 1e6, 1)


def fill(broker: BrokerProcess, records: int, keys: int, rng: random.Random) -> dict[bytes, bytes]:
    """What a dictionary holds after the same writes. One key in fifty is deleted for good."""
    producer = broker.producer(linger_ms=20, queue_buffering_max_messages=200_000, compression_type="none")
    expected: dict[bytes, bytes] = {}
    for number in range(records - 1):
        key = b"key %d" % rng.randrange(keys)
        value = None if number % 50 == 0 else b"value %d " % number * 4
        while True:
            try:
                producer.produce(TOPIC, key=key, value=value)
                break
            except BufferError:
                producer.poll(0.1)
        if value is None:
            expected.pop(key, None)
        else:
            expected[key] = value
        if number % 1000 == 0:
            producer.poll(0)
    producer.produce(TOPIC, key=b"the end", value=b"")
    expected[b"the end"] = b""
    assert producer.flush(600) == 0
    return expected


def read(broker: BrokerProcess, end: int) -> dict[bytes, bytes]:
    """The last value of each key, from the start of the log to its end."""
    values: dict[bytes, bytes] = {}
    consumer = broker.consumer(enable_partition_eof=False)
    consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
    position = 0
    try:
        while position < end:
            messages = consumer.consume(10_000, 30)
            assert messages, f"nothing more to read at {position} of {end}"
            for message in messages:
                assert message.error() is None
                assert message.offset() >= position
                position = message.offset() + 1
                if message.value() is None:
                    values.pop(message.key(), None)
                else:
                    values[message.key()] = message.value()
    finally:
        consumer.close()
    return values


def difference(found: dict[bytes, bytes], expected: dict[bytes, bytes]) -> str:
    wrong = [key for key in expected if found.get(key) != expected[key]]
    more = [key for key in found if key not in expected]
    return f"{len(wrong)} wrong or missing, such as {wrong[:3]}; {len(more)} too many, such as {more[:3]}"


def probe(broker: BrokerProcess) -> float:
    """The 99th percentile, in ms, of waiting for one small record to be acknowledged."""
    producer = broker.producer(linger_ms=0)
    waits = []
    for _ in range(PROBES):
        started = time.perf_counter()
        producer.produce(PROBED, b"probe")
        assert producer.flush(30) == 0
        waits.append(time.perf_counter() - started)
        time.sleep(0.002)
    return round(sorted(waits)[int(len(waits) * 0.99)] * 1000, 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    figures = run(
        options.records,
        options.keys,
        options.kills,
        options.seed,
        report=lambda text: print(text, file=sys.stderr, flush=True),
    )
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
