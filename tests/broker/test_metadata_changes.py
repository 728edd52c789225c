"""Changes of metadata by clients that do not wait for the answer, or that come all at once."""

from __future__ import annotations

import threading

from headrace.testing import broker, wait_until
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.broker.raw import RawClient, batch


def create(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1)], timeout_ms=30_000
    )


def test_a_client_that_hangs_up_leaves_no_half_made_topic() -> None:
    with broker() as server:
        names = [f"t{number}" for number in range(30)]
        for name in names:
            with RawClient(server.port) as client:
                client.send(create(name), 7)
        wait_until(
            lambda: server.call(lambda b: set(names) <= set(b.image.topics) and set(names) <= set(b.replicas.topics))
        )
        with RawClient(server.port) as client:
            assert all(client.produce(name, batch(b"x")).error_code == 0 for name in names)
        server.restart()
        assert server.call(lambda b: set(b.replicas.topics)) == set(names)


def test_one_of_many_creates_wins() -> None:
    with broker() as server:
        codes: list[int] = []

        def try_it() -> None:
            with RawClient(server.port) as client:
                codes.append(client.call(create("wanted"), 7).topics[0].error_code)

        threads = [threading.Thread(target=try_it) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(codes) == [0] + [ErrorCode.TOPIC_ALREADY_EXISTS] * 11
