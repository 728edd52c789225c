"""What workers do with a client library that does not come back."""

from __future__ import annotations

import threading
import time
from typing import Any

from headrace.verify.worker import leave


class Closing:
    """A consumer whose `close` waits for an answer that was lost."""

    def __init__(self) -> None:
        self.answered = threading.Event()
        self.closed = threading.Event()

    def close(self) -> None:
        self.answered.wait(60)
        self.closed.set()


def test_a_consumer_that_cannot_be_closed_is_left_behind() -> None:
    consumer: Any = Closing()
    began = time.monotonic()
    leave(consumer, within_s=0.05)
    assert time.monotonic() - began < 30
    assert not consumer.closed.is_set()
    consumer.answered.set()
    assert consumer.closed.wait(10)


def test_one_that_can_is_closed() -> None:
    consumer: Any = Closing()
    consumer.answered.set()
    leave(consumer)
    assert consumer.closed.is_set()
