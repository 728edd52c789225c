"""Kill a broker with `kill -9` while a producer works, start it again, and look: what was acknowledged is there, once.

`python examples/crash.py` needs nothing but Headrace.
"""

import time

from headrace.testing import broker_process


def main() -> None:
    acknowledged: list[int] = []

    def on_delivery(error: object, message: object) -> None:
        if error is None:
            acknowledged.append(int(message.value()))  # type: ignore[attr-defined]

    with broker_process() as broker:
        broker.create_topic("numbers")
        producer = broker.producer(linger_ms=1)
        begin = time.monotonic()
        number = killed = 0
        while time.monotonic() - begin < 3:
            producer.produce("numbers", str(number), on_delivery=on_delivery)
            producer.poll(0.001)
            number += 1
            if not killed and time.monotonic() - begin > 1:
                broker.kill()
                broker.restart()
                killed = number
        producer.flush(30)
        found = [int(message.value()) for message in broker.records("numbers", number, timeout_s=30)]
    assert found == list(range(number)), "in order, none twice"
    assert set(acknowledged) <= set(found), "none lost"
    print(f"{number} records sent, killed after {killed}, {len(found)} found: in order, none lost, none twice")


if __name__ == "__main__":
    main()
