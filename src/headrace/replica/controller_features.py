"""The controller's decisions about feature levels: what may be raised, what may be lowered, and what that entails.

Pure: an image and a request in, records and a response out. All updates of a request are made or none is.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from headrace.replica import features
from headrace.replica.controller_error import Refused
from headrace.replica.image import BROKER_RESOURCE, ClusterImage
from headrace.settings import BROKER_SETTINGS, BrokerSettings
from headrace.settings.definition import to_text
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from headrace.wire.records.metadata import ConfigRecord, FeatureLevelRecord
from headrace.wire.schema import Message

MIN_INSYNC_REPLICAS = "min.insync.replicas"


class UpgradeType(IntEnum):
    """What a request allows. A safe downgrade loses no metadata; Kafka 4.3 makes no other."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def on_update_features(
    image: ClusterImage, request: UpdateFeaturesRequest, settings: BrokerSettings
) -> tuple[list[Message], UpdateFeaturesResponse]:
    """A feature that is named twice gets the level named last, as in Kafka. `allow_downgrade` of version 0 is not looked at."""
    updates = {update.feature: update for update in request.feature_updates}
    wanted = {**image.features, **{name: update.max_version_level for name, update in updates.items()}}
    records: list[Message] = []
    try:
        for update in updates.values():
            records += _update(image, update, wanted)
    except Refused as refused:
        return [], UpdateFeaturesResponse(error_code=refused.code, error_message=refused.message)
    if features.ELIGIBLE_LEADER_REPLICAS in updates and wanted[features.ELIGIBLE_LEADER_REPLICAS] > 0:
        records = [*_min_insync_for_all(image, settings), *records]
    response = UpdateFeaturesResponse(
        error_message=None, results=[UpdatableFeatureResult(feature=each.feature) for each in request.feature_updates]
    )
    return ([] if request.validate_only else records), response


def _update(image: ClusterImage, update: FeatureUpdateKey, wanted: Mapping[str, int]) -> list[Message]:
    name, level, current = update.feature, update.max_version_level, image.features.get(update.feature, 0)
    _check_direction(update, current)
    if name == features.KRAFT_VERSION:
        if level != current:
            raise _invalid(update, "The voters of this quorum stand in the settings, and stay there.")
        return []
    if name == features.METADATA_VERSION:
        if level < current and features.loses_metadata(current, level):
            raise _invalid(update, f"Lowering it from {current} would lose metadata.")
    elif (needed := features.DEPENDENCIES.get((name, level))) is not None:
        dependency, at_least = needed
        if wanted.get(dependency, 0) < at_least:
            raise _invalid(update, f"It depends on {dependency} at level {at_least}.")
    return [FeatureLevelRecord(name=name, feature_level=level)]


def _check_direction(update: FeatureUpdateKey, current: int) -> None:
    """Whether the level is one that this node knows and the request allows to go there."""
    name, level = update.feature, update.max_version_level
    if update.upgrade_type not in list(UpgradeType):
        raise _invalid(update, f"There is no upgrade type {update.upgrade_type}.")
    low, high = features.IMPLEMENTED.get(name, (0, 0))
    if name not in features.KNOWN or not low <= level <= high:
        reason = f"This node supports levels {low} to {high}." if high else "This node does not support the feature."
        raise _invalid(update, reason)
    upgrade = update.upgrade_type == UpgradeType.UPGRADE
    if level < current and upgrade:
        raise _invalid(update, f"That is lower than {current}, and the request asks for an upgrade.")
    if level > current and not upgrade:
        raise _invalid(update, f"That is higher than {current}, and the request asks for a downgrade.")


def _invalid(update: FeatureUpdateKey, reason: str) -> Refused:
    message = f"No feature is updated: {update.feature} cannot have level {update.max_version_level}. {reason}"
    return Refused(ErrorCode.INVALID_UPDATE_VERSION, message)


def _min_insync_for_all(image: ClusterImage, settings: BrokerSettings) -> list[Message]:
    """With eligible leader replicas, min.insync.replicas is one for all brokers."""
    records: list[Message] = []
    if MIN_INSYNC_REPLICAS not in image.config(BROKER_RESOURCE, ""):
        given = settings.given.get(MIN_INSYNC_REPLICAS)
        value = to_text(BROKER_SETTINGS[MIN_INSYNC_REPLICAS].default) if given is None else given
        records.append(_min_insync("", value))
    for (resource_type, name), configs in image.configs.items():
        if resource_type == BROKER_RESOURCE and name and MIN_INSYNC_REPLICAS in configs:
            records.append(_min_insync(name, None))
    return records


def _min_insync(broker: str, value: str | None) -> Message:
    return ConfigRecord(resource_type=BROKER_RESOURCE, resource_name=broker, name=MIN_INSYNC_REPLICAS, value=value)
