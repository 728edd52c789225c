"""One broker at the other end of a script: sends requests and notes the answers, each under a label of its own.

What a script needs but does not ask about (topics, waiting until they are there) is done without a note.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterable
from typing import Any

from headrace.wire.apis import APIS
from headrace.wire.frame import API_VERSIONS
from headrace.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from headrace.wire.messages.delete_topics import DeleteTopicsRequest
from headrace.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.schema import Message
from tests.broker.raw import Closed, RawClient
from tests.oracle.plain import Names, plain
from tests.oracle.requests import UNKNOWN_ID

Exchange = tuple[str, Any]
# Where the order of an answer is part of what it says.
ORDERED = {"Fetch", "DescribeTopicPartitions"}
SILENCE_S = 0.3
PATIENCE_S = 30.0


class Script:
    """Connections "a", "b", "c" to one broker, and what it answered."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.exchanges: list[Exchange] = []
        self.names = Names()
        self.names.known[UNKNOWN_ID] = "unknown id"
        self.topics: dict[str, bytes] = {}
        """Topics that this script made, and their ids."""
        self._clients: dict[str, RawClient] = {}

    def client(self, name: str = "a") -> RawClient:
        if name not in self._clients:
            self._clients[name] = RawClient(self.port, timeout_s=PATIENCE_S)
        return self._clients[name]

    def __enter__(self) -> Script:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the broker as it was: other scripts follow."""
        if self.topics:
            self._quiet(DeleteTopicsRequest(topic_names=list(self.topics), timeout_ms=10_000), 5)
            wait_until(lambda: all(error == 3 for error, _ in self._states(self.topics)))
        for client in self._clients.values():
            client.socket.close()

    # Requests whose answers are compared.

    def call(
        self, request: Message, version: int, what: str = "", client: str = "a", patience_s: float = PATIENCE_S
    ) -> Any:
        """Ask, note, and return the answer; None when there is none."""
        label = f"{type(request).__name__.removesuffix('Request')} v{version}" + (f": {what}" if what else "")
        connection = self.client(client)
        connection.socket.settimeout(patience_s)
        try:
            response = connection.call(request, version)
        except (Closed, TimeoutError) as error:
            self._drop(client)
            self.note(label, "closed" if isinstance(error, Closed) else "no answer")
            return None
        self.note_response(label, response)
        return response

    def send(self, request: Message, version: int, client: str = "a") -> None:
        self.client(client).send(request, version)

    def receive(self, what: str, client: str = "a") -> Any:
        response = self.client(client).receive()
        self.note_response(what, response)
        return response

    def frame(self, what: str, frame: bytes) -> None:
        """Send bytes over a connection of their own and note what comes back: a response, nothing, or the end."""
        with RawClient(self.port, timeout_s=10) as client:
            client.socket.sendall(frame)
            reaction = _reaction(client)
        if isinstance(reaction, str):
            self.note(what, reaction)
            return
        key, version = struct.unpack_from(">hh", frame, 4)
        response, flexible = APIS[key].response, version >= APIS[key].flexible_from
        if key == API_VERSIONS:
            version, flexible = (version if version in range(5) else 0), False
        self.note_response(what, response.decode(reaction, version, 5 if flexible else 4))

    def note_response(self, label: str, response: Message) -> None:
        ordered = type(response).__name__.removesuffix("Response") in ORDERED
        self.note(label, plain(response, self.names, ordered=ordered))

    def note(self, label: str, answer: Any) -> None:
        self.exchanges.append((f"{len(self.exchanges):03} {label}", answer))

    # What a script needs around them.

    def create(self, *names: str, partitions: int = 1, **configs: Any) -> None:
        """Topics that are ready when this returns."""
        settings = [
            CreatableTopicConfig(name=name.replace("_", "."), value=str(value)) for name, value in configs.items()
        ]
        topics = [
            CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=settings)
            for name in names
        ]
        made = self._quiet(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7)
        assert not any(topic.error_code for topic in made.topics), made
        self.expect(**{topic.name: topic.topic_id for topic in made.topics})

    def expect(self, **topics: bytes) -> None:
        """Wait for topics to be ready; they are removed at the end."""
        self.topics |= topics
        for name, topic_id in topics.items():
            self.names.known[topic_id] = f"id of {name}"
        wait_until(lambda: all(error == 0 for error, _ in self._states(topics)) and self._ready(topics))

    def gone(self, *names: str) -> None:
        """Wait until topics have disappeared."""
        for name in names:
            self.topics.pop(name, None)
        wait_until(lambda: all(error == 3 for error, _ in self._states(names)))

    def _states(self, names: Iterable[str]) -> list[tuple[int, int]]:
        """Error and number of partitions of each."""
        topics = [MetadataRequestTopic(name=name) for name in names]
        found = self._quiet(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9).topics
        return [(topic.error_code, len(topic.partitions)) for topic in found]

    def _ready(self, names: Iterable[str]) -> bool:
        """Whether the logs are there: Kafka shows a topic before it has made them."""
        asked = [
            ListOffsetsTopic(
                name=name, partitions=[ListOffsetsPartition(partition_index=i, timestamp=-1) for i in range(count)]
            )
            for name, (_, count) in zip(names, self._states(names), strict=True)
        ]
        found = self._quiet(ListOffsetsRequest(replica_id=-1, topics=asked), 6).topics
        return not any(part.error_code for topic in found for part in topic.partitions)

    def _quiet(self, request: Message, version: int) -> Any:
        return self.client("setup").call(request, version)

    def _drop(self, client: str) -> None:
        self._clients.pop(client).socket.close()


def wait_until(condition: Callable[[], bool], timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def _reaction(client: RawClient) -> str | bytes:
    client.socket.settimeout(SILENCE_S)
    try:
        size = client.socket.recv(4)
    except TimeoutError:
        return "silence"
    except ConnectionError:
        return "closed"
    if not size:
        return "closed"
    client.socket.settimeout(10)
    return client._exactly(struct.unpack(">i", size)[0])
