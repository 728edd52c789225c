"""Feature levels: what goes up and down, and what follows from it."""

from __future__ import annotations

import pytest

from headrace.replica import controller, features
from headrace.replica.controller_features import UpgradeType
from headrace.replica.image import BROKER_RESOURCE
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from headrace.wire.records.metadata import ConfigRecord, FeatureLevelRecord
from tests.replica.cluster import Cluster

UP, DOWN = UpgradeType.UPGRADE, UpgradeType.SAFE_DOWNGRADE
MIN_INSYNC = "min.insync.replicas"


def update(cluster: Cluster, *updates: tuple[str, int, int], dry: bool = False) -> UpdateFeaturesResponse:
    rows = [FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=how) for name, level, how in updates]
    request = UpdateFeaturesRequest(feature_updates=rows, validate_only=dry)
    records, response = controller.on_update_features(cluster.image, request, cluster.settings)
    cluster.take(records)
    return response


def at(**levels: int) -> Cluster:
    """A cluster whose directory was formatted with other levels."""
    cluster = Cluster()
    cluster.take([FeatureLevelRecord(name=name.replace("_", "."), feature_level=n) for name, n in levels.items()])
    return cluster


def test_a_directory_formatted_before_transactions_is_raised() -> None:
    cluster = at(transaction_version=0)
    assert features.effective_level(cluster.image.features, features.TRANSACTION_VERSION) == 0
    response = update(cluster, (features.TRANSACTION_VERSION, 2, UP))
    assert (response.error_code, [each.feature for each in response.results]) == (0, ["transaction.version"])
    assert features.effective_level(cluster.image.features, features.TRANSACTION_VERSION) == 2


def test_one_that_cannot_be_made_leaves_all_as_they_are() -> None:
    cluster = Cluster()
    before = cluster.image
    response = update(cluster, (features.TRANSACTION_VERSION, 1, DOWN), ("group.version", 1, UP))
    assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert response.error_message is not None and "group.version" in response.error_message
    assert cluster.image.features == before.features


def test_a_dry_run_says_what_would_be() -> None:
    cluster = Cluster()
    before = cluster.image
    assert update(cluster, (features.TRANSACTION_VERSION, 0, DOWN), dry=True).error_code == 0
    assert cluster.image.features == before.features


@pytest.mark.parametrize(
    ("current", "level", "how", "made"),
    [(22, 21, DOWN, True), (22, 17, DOWN, True), (22, 16, DOWN, False), (22, 21, UP, False), (22, 30, UP, True)],
)
def test_metadata_version_goes_down_while_nothing_is_lost(current: int, level: int, how: int, made: bool) -> None:
    cluster = at(metadata_version=current)
    response = update(cluster, (features.METADATA_VERSION, level, how))
    assert response.error_code == (0 if made else ErrorCode.INVALID_UPDATE_VERSION)
    assert cluster.image.features[features.METADATA_VERSION] == (level if made else current)


def test_eligible_leader_replicas_need_their_metadata_version() -> None:
    cluster = at(metadata_version=22)
    cluster.take([FeatureLevelRecord(name=features.ELIGIBLE_LEADER_REPLICAS, feature_level=0)])
    raised = (features.ELIGIBLE_LEADER_REPLICAS, 1, UP)
    assert update(cluster, raised).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert update(cluster, raised, (features.METADATA_VERSION, 23, UP)).error_code == 0
    assert cluster.image.elr_enabled


def test_eligible_leader_replicas_make_min_insync_one_for_all_brokers() -> None:
    cluster = Cluster(min_insync_replicas=3)
    cluster.take([FeatureLevelRecord(name=features.ELIGIBLE_LEADER_REPLICAS, feature_level=0)])
    own = ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="1", name=MIN_INSYNC, value="2")
    cluster.take([own])
    assert update(cluster, (features.ELIGIBLE_LEADER_REPLICAS, 1, UP)).error_code == 0
    assert cluster.image.config(BROKER_RESOURCE, "") == {MIN_INSYNC: "3"}
    assert cluster.image.config(BROKER_RESOURCE, "1") == {}


def test_a_feature_of_apache_kafka_that_is_carried_can_be_given_up() -> None:
    cluster = at(share_version=1)
    assert update(cluster, ("share.version", 0, UP)).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert update(cluster, ("share.version", 0, DOWN)).error_code == 0
    assert "share.version" not in cluster.image.features


def test_a_static_quorum_stays_one() -> None:
    cluster = Cluster()
    assert update(cluster, (features.KRAFT_VERSION, 1, UP)).error_code == ErrorCode.INVALID_UPDATE_VERSION
    records = len(cluster.records)
    assert update(cluster, (features.KRAFT_VERSION, 0, UP)).error_code == 0
    assert len(cluster.records) == records
