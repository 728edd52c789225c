"""At least once: do a record, then say that it is done. A crash in between does it again; nothing is ever lost.

The usual choice, for work that may be repeated.

    seq 1000 | headrace produce orders --create
    python examples/guarantees/at_least_once.py --output done.txt
"""

import time
from typing import TextIO

from reading import batches, parse_options, subscribe


def main() -> None:
    options = parse_options(__doc__, group="at-least-once", output="done.txt")
    consumer = subscribe(options)
    with open(options.output, "a", buffering=1) as output:
        for messages in batches(consumer, options.follow):
            for message in messages:
                work(message.value().decode(), output, options.seconds)
            # Last: until here, all of them would come again.
            consumer.commit(asynchronous=False)
    consumer.close()


def work(order: str, output: TextIO, seconds: float) -> None:
    """What must not be missed."""
    print("begin", order, flush=True)
    time.sleep(seconds)
    output.write(f"{order}\n")


if __name__ == "__main__":
    main()
