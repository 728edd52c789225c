"""What all workers share: a thread of their own, a name, a part of the plan, and the history that they write."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace import client
from headrace.verify.client_settings import RETURN_WITHIN_S
from headrace.verify.history import FAIL, OK, UNKNOWN, Recorder

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, Producer


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the workers of a run meet."""

    bootstrap_servers: str
    recorder: Recorder
    source: str
    """The topic that producers and transactional writers write and transformers read."""
    sink: str
    partitions: int
    group: str
    seed: int
    properties: Mapping[str, Any] = field(default_factory=dict)
    abort_share: float = 0.2
    takeover_share: float = 0.04
    """How often a transactional producer is taken over by a successor in the middle of a transaction."""
    pause_s: float = 0.01
    """Between two operations, so that a history stays readable."""


class Worker(threading.Thread, ABC):
    """A process of the history. `work` runs until `stopping`; an exception that escapes it ends the run."""

    def __init__(self, stage: Stage, name: str) -> None:
        super().__init__(name=f"verify-{name}", daemon=True)
        self.stage = stage
        self.label = name
        self.recorder = stage.recorder
        self.random = random.Random(f"{stage.seed}/{name}")  # noqa: S311 (repeatable, not secret)
        self.stopping = threading.Event()
        self.ready = threading.Event()
        """Set once something has worked, so that faults meet a cluster at work and not one that is still waking up."""
        self.failure: BaseException | None = None
        self._values = 0

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.failure = error

    @abstractmethod
    def work(self) -> None: ...

    def stop(self) -> None:
        """Ask for the end; `join` waits for it."""
        self.stopping.set()

    def producer(self, settings: Mapping[str, Any]) -> Producer:
        return client.producer(self.stage.bootstrap_servers, {**settings, **self.stage.properties})

    def consumer(self, group: str | None, settings: Mapping[str, Any]) -> Consumer:
        return client.consumer(self.stage.bootstrap_servers, group, {**settings, **self.stage.properties})

    def send(self, through: Producer, topic: str, partition: int, **fields: Any) -> Sent:
        """Give a new value to the client; its answer ends the operation whenever it comes."""
        self._values += 1
        value = f"{self.label}.{self._values}"
        identity = self.recorder.invoke(self.label, "send", partition=f"{topic}/{partition}", value=value, **fields)
        sent = Sent(identity)

        def on_delivery(error: Any, message: Message) -> None:
            # Even an error of the broker does not say that no earlier attempt was written.
            sent.outcome = UNKNOWN if error is not None else OK
            self.recorder.end(
                identity, sent.outcome, **({"error": str(error)} if error else {"offset": message.offset()})
            )

        while True:
            try:
                through.produce(topic, value.encode(), partition=partition, on_delivery=on_delivery)
                return sent
            except BufferError:
                through.poll(0.1)
            except client_errors() as error:
                self.recorder.end(identity, FAIL, error=str(reason(error)))
                raise

    def rest(self) -> None:
        """A short pause; nobody needs thousands of operations a second to break a promise."""
        time.sleep(self.stage.pause_s * 2 * self.random.random())


class Stuck(Exception):
    """A call of the client did not return long after its own timeout, as librdkafka's sometimes do not."""


def bounded(call: Callable[[], object], seconds: float) -> None:
    """Call, and raise `Stuck` if it has not returned in time. Its thread, and what it holds, are then left behind."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            call()
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="verify-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise Stuck(f"no return within {seconds:g} s")
    if raised:
        raise raised[0]


@dataclass(slots=True)
class Sent:
    """A send and, once it is known, how it ended."""

    id: str
    outcome: str = ""


def leave(consumer: Consumer, within_s: float = RETURN_WITHIN_S) -> None:
    """Close a consumer, or leave it behind: after lost answers librdkafka's `close` sometimes waits for ever, and nothing depends on it."""
    with contextlib.suppress(Stuck):
        bounded(consumer.close, within_s)


def discard(producer: Producer) -> None:
    """Give a producer up with whatever it still wanted to send."""
    # A fatal error is thrown into whichever call comes next, even into this one.
    with contextlib.suppress(*client_errors()):
        producer.purge()
        producer.flush(1)


def client_errors() -> tuple[type[Exception], ...]:
    """What calls of the client raise; a fatal error may come bare, or as the SystemError that a callback made of it."""
    from confluent_kafka import KafkaError, KafkaException

    return KafkaException, KafkaError, SystemError


def reason(error: Exception) -> Any:
    """The `KafkaError` of any of them."""
    from confluent_kafka import KafkaError

    if isinstance(error, SystemError):
        return KafkaError(KafkaError._FATAL, str(error))
    return error if isinstance(error, KafkaError) else error.args[0]


def where(message: Message) -> list[Any]:
    """A record as histories have it."""
    return [
        f"{message.topic()}/{message.partition()}",
        message.offset(),
        (message.value() or b"").decode(errors="replace"),
    ]
