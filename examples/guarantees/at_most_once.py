"""At most once: say that a record is done, then do it. A crash in between loses it; nothing is ever done twice.

For what is cheap to miss and bad to repeat: a push message, a sample of a metric.

    seq 1000 | headrace produce orders --create
    python examples/guarantees/at_most_once.py --output done.txt
"""

import time
from typing import TextIO

from reading import batches, parse_options, subscribe


def main() -> None:
    options = parse_options(__doc__, group="at-most-once", output="done.txt")
    consumer = subscribe(options)
    with open(options.output, "a", buffering=1) as output:
        for messages in batches(consumer, options.follow):
            # First: whatever happens now, these records do not come again.
            consumer.commit(asynchronous=False)
            for message in messages:
                work(message.value().decode(), output, options.seconds)
    consumer.close()


def work(order: str, output: TextIO, seconds: float) -> None:
    """What must not happen twice."""
    print("begin", order, flush=True)
    time.sleep(seconds)
    output.write(f"{order}\n")


if __name__ == "__main__":
    main()
