"""The controller's decisions about configs: what may be set on topics, brokers, groups and client-metrics subscriptions.

Topics and groups refuse with INVALID_CONFIG, brokers and subscriptions with INVALID_REQUEST, as Kafka does. Loggers are not metadata;
they are altered in the broker itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from headrace.replica.controller_error import Refused
from headrace.replica.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    ClusterImage,
)
from headrace.replica.topic_names import topic_name_problem
from headrace.settings import BROKER_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS, BrokerSettings, Setting, SettingError
from headrace.settings.broker import check_dynamic
from headrace.settings.definition import Type, near_miss, to_text
from headrace.settings.describe import topic_values
from headrace.settings.group import CLIENT_METRICS_SETTINGS
from headrace.settings.topic import check_topic_overrides, check_topic_values
from headrace.wire.errors import ErrorCode
from headrace.wire.messages import alter_configs, incremental_alter_configs
from headrace.wire.records.metadata import ClearElrRecord, ConfigRecord
from headrace.wire.schema import Message

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
MIN_ISR = "min.insync.replicas"
LONGEST_VALUE = 2**15 - 1

_DECLARED: dict[int, Mapping[str, Setting]] = {
    TOPIC_RESOURCE: TOPIC_SETTINGS,
    BROKER_RESOURCE: BROKER_SETTINGS,
    GROUP_RESOURCE: GROUP_SETTINGS,
    CLIENT_METRICS_RESOURCE: CLIENT_METRICS_SETTINGS,
}

Resource = tuple[int, str]
Changes = dict[str, str | None]  # None deletes


def checked_topic_configs(overrides: Mapping[str, str | None], settings: BrokerSettings) -> dict[str, str]:
    """`overrides` if a topic may have them; Refused with INVALID_CONFIG if not."""
    given: dict[str, str] = {}
    for name, value in overrides.items():
        if value is None:
            raise Refused(ErrorCode.INVALID_CONFIG, f"{name}: a value must be given.")
        if len(value.encode()) > LONGEST_VALUE:
            raise Refused(ErrorCode.INVALID_CONFIG, f"{name}: the value is longer than {LONGEST_VALUE} bytes.")
        given[name] = value
    if not given:
        return given
    try:
        check_topic_overrides(given)
        check_topic_values(topic_values(given, settings))
    except SettingError as error:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{error}.") from None
    return given


def on_incremental_alter_configs(
    image: ClusterImage,
    request: incremental_alter_configs.IncrementalAlterConfigsRequest,
    settings: BrokerSettings,
    node_id: int,
) -> tuple[list[Message], incremental_alter_configs.IncrementalAlterConfigsResponse]:
    """SET, DELETE, APPEND and SUBTRACT on single configs; each resource succeeds or is refused as a whole."""
    records: list[Message] = []
    results = []
    times = Counter((one.resource_type, one.resource_name) for one in request.resources)
    for one in request.resources:
        resource = (one.resource_type, one.resource_name)
        result = incremental_alter_configs.AlterConfigsResourceResponse(
            resource_type=one.resource_type, resource_name=one.resource_name, error_message=None
        )
        results.append(result)
        try:
            _check_once(times[resource], [config.name for config in one.configs])
            _check_resource(image, resource, node_id)
            changes = {config.name: _new_value(image, resource, config) for config in one.configs}
            records += _changed(image, resource, changes, settings)
        except Refused as refused:
            result.error_code, result.error_message = refused.code, refused.message
    if request.validate_only:
        records = []
    return records + _clear_elr(image, records), incremental_alter_configs.IncrementalAlterConfigsResponse(
        responses=results
    )


def on_alter_configs(
    image: ClusterImage, request: alter_configs.AlterConfigsRequest, settings: BrokerSettings, node_id: int
) -> tuple[list[Message], alter_configs.AlterConfigsResponse]:
    """The older way: a resource's configs become exactly those given; what is not named goes back to its default."""
    records: list[Message] = []
    results = []
    times = Counter((one.resource_type, one.resource_name) for one in request.resources)
    for one in request.resources:
        resource = (one.resource_type, one.resource_name)
        result = alter_configs.AlterConfigsResourceResponse(
            resource_type=one.resource_type, resource_name=one.resource_name, error_message=None
        )
        results.append(result)
        try:
            _check_once(times[resource], [config.name for config in one.configs])
            _check_resource(image, resource, node_id)
            given = {config.name: config.value for config in one.configs}
            missing = [name for name, value in given.items() if value is None]
            if missing:
                raise Refused(ErrorCode.INVALID_REQUEST, f"{', '.join(missing)}: a value must be given.")
            changes: Changes = {**dict.fromkeys(name for name in image.config(*resource) if name not in given), **given}
            if resource == (BROKER_RESOURCE, "") and image.elr_enabled and changes.get(MIN_ISR, "") is None:
                del changes[MIN_ISR]  # always set for all brokers; replacing their other configs leaves it as it is
            records += _changed(image, resource, changes, settings)
        except Refused as refused:
            result.error_code, result.error_message = refused.code, refused.message
    if request.validate_only:
        records = []
    return records + _clear_elr(image, records), alter_configs.AlterConfigsResponse(responses=results)


def _check_once(times: int, names: list[str]) -> None:
    if times > 1:
        raise Refused(ErrorCode.INVALID_REQUEST, "The request names this resource more than once.")
    if len(set(names)) != len(names):
        raise Refused(ErrorCode.INVALID_REQUEST, "The request names a config more than once.")


def _check_resource(image: ClusterImage, resource: Resource, node_id: int) -> None:
    kind, name = resource
    if kind == TOPIC_RESOURCE:
        problem = topic_name_problem(name)
        if problem is not None:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION if name else ErrorCode.INVALID_REQUEST, problem)
        if name not in image.topics:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    elif kind == BROKER_RESOURCE:
        if name and name != str(node_id):
            raise Refused(
                ErrorCode.INVALID_REQUEST, f"This is broker {node_id}; configs of {name!r} must be sent there."
            )
    elif kind in (GROUP_RESOURCE, CLIENT_METRICS_RESOURCE):
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST, "The resource needs a name.")
    else:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Resource type {kind} has no configs that can be altered.")


def _new_value(
    image: ClusterImage, resource: Resource, config: incremental_alter_configs.AlterableConfig
) -> str | None:
    operation, value = config.config_operation, config.value
    if operation == DELETE:
        return None
    if operation not in (SET, APPEND, SUBTRACT):
        raise Refused(ErrorCode.INVALID_REQUEST, f"{config.name}: there is no operation {operation}.")
    if value is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{config.name}: a value must be given.")
    if operation == SET:
        return value
    setting = _DECLARED[resource[0]].get(config.name)
    if setting is None or setting.type is not Type.LIST:
        raise Refused(
            ErrorCode.INVALID_CONFIG, f"{config.name} is not a list, so nothing can be added to or taken from it."
        )
    current = image.config(*resource).get(config.name)
    items = [item for item in (current if current is not None else to_text(setting.default or [])).split(",") if item]
    given = value.split(",")
    if operation == APPEND:
        items += [item for item in given if item not in items]
    else:
        items = [item for item in items if item not in given]
    return ",".join(items)


def _changed(image: ClusterImage, resource: Resource, changes: Changes, settings: BrokerSettings) -> list[Message]:
    """Records that make `changes`, after checking what the resource would then have."""
    current = image.config(*resource)
    after = dict(current)
    for name, value in changes.items():
        if value is None:
            after.pop(name, None)
        else:
            after[name] = value
    _check_min_isr(image, resource, changes)
    _check_values(resource, after, changes, settings)
    return [
        ConfigRecord(resource_type=resource[0], resource_name=resource[1], name=name, value=value)
        for name, value in changes.items()
        if value != current.get(name) or (resource[0] == BROKER_RESOURCE and value is not None)
    ]


def _check_values(resource: Resource, after: dict[str, str], changes: Changes, settings: BrokerSettings) -> None:
    if resource[0] == TOPIC_RESOURCE:
        checked_topic_configs(after, settings)
        return
    code = ErrorCode.INVALID_CONFIG if resource[0] == GROUP_RESOURCE else ErrorCode.INVALID_REQUEST
    try:
        if resource[0] == BROKER_RESOURCE:
            for name, value in changes.items():
                if value is not None:
                    check_dynamic(name, value, for_one_broker=bool(resource[1]))
        else:
            _check_declared(after, _DECLARED[resource[0]])
    except SettingError as error:
        raise Refused(code, f"{error}.") from None


def _check_declared(values: Mapping[str, str], declared: Mapping[str, Setting]) -> None:
    for name, value in values.items():
        if name not in declared:
            raise SettingError(name, f"no setting has this name{near_miss(name, declared)}")
        declared[name].parse(value)


def _check_min_isr(image: ClusterImage, resource: Resource, changes: Changes) -> None:
    """With eligible leader replicas, min.insync.replicas is one value for all brokers and always set (KIP-966)."""
    if resource[0] != BROKER_RESOURCE or MIN_ISR not in changes or not image.elr_enabled:
        return
    if resource[1]:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{MIN_ISR} can be set for all brokers at once, not for one.")
    if changes[MIN_ISR] is None:
        raise Refused(
            ErrorCode.INVALID_CONFIG, f"{MIN_ISR} must have a value for all brokers; set another one instead."
        )


def _clear_elr(image: ClusterImage, records: list[Message]) -> list[Message]:
    """A new min.insync.replicas makes the eligible replicas of before meaningless."""
    if not image.elr_enabled:
        return []
    return [
        ClearElrRecord(topic_name=record.resource_name if record.resource_type == TOPIC_RESOURCE else "")
        for record in records
        if isinstance(record, ConfigRecord) and record.name == MIN_ISR
    ]
