"""Changes of metadata by clients that do not wait for the answer, or that come all at once."""

from __future__ import annotations

import threading

from headrace.replica.controller_features import UpgradeType
from headrace.testing import broker, wait_until
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
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


def test_a_raised_feature_level_is_told_to_clients_and_survives_a_restart() -> None:
    def ask(client: RawClient, level: int, how: UpgradeType) -> int:
        update = FeatureUpdateKey(feature="transaction.version", max_version_level=level, upgrade_type=how)
        return int(client.call(UpdateFeaturesRequest(feature_updates=[update]), 2).error_code)

    def told(client: RawClient) -> dict[str, int]:
        answer = client.call(ApiVersionsRequest(client_software_name="test", client_software_version="1"), 4)
        return {each.name: each.max_version_level for each in answer.finalized_features}

    with broker() as server:
        with RawClient(server.port) as client:
            assert ask(client, 0, UpgradeType.SAFE_DOWNGRADE) == 0
        server.restart()
        with RawClient(server.port) as client:
            assert "transaction.version" not in told(client)
            assert ask(client, 2, UpgradeType.UPGRADE) == 0
            assert told(client)["transaction.version"] == 2
        server.restart()
        with RawClient(server.port) as client:
            assert told(client)["transaction.version"] == 2
