"""DescribeConfigs (key 32): the configs of topics, brokers, groups, client-metrics subscriptions and loggers, with their sources.

Behaviour: every setting is listed with the value in force, defaults too, or only the keys that are asked for. A broker is named by its
id; an empty name asks for what is set for all brokers at once. Passwords have no value. A topic's `headrace.cleaning` is no config: who asks
for it by name learns what retention and compaction are about to do.
Versions: 1-4. Types and documentation from 3 on.
Not implemented: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.broker import cleaning
from headrace.broker.context import RequestContext
from headrace.broker.loggers import check_node, logger_levels
from headrace.replica.controller_error import Refused
from headrace.replica.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from headrace.replica.topic_names import topic_name_problem
from headrace.settings.describe import (
    Described,
    Source,
    describe_all_brokers,
    describe_broker,
    describe_client_metrics,
    describe_group,
    describe_topic,
)
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = DescribeConfigsRequest


def handle(broker: Broker, request: DescribeConfigsRequest, context: RequestContext) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_result(broker, request, resource) for resource in request.resources])


def _result(
    broker: Broker, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=None
    )
    try:
        described = _describe(broker, resource)
    except Refused as refused:
        result.error_code, result.error_message = refused.code, refused.message
    else:
        keys = set(resource.configuration_keys or ())
        result.configs = [_entry(one, request) for one in described if not keys or one.name in keys]
        if cleaning.NAME in keys and resource.resource_type == TOPIC_RESOURCE:
            result.configs.append(_entry(cleaning.described(broker, resource.resource_name), request))
    return result


def _describe(broker: Broker, resource: DescribeConfigsResource) -> Iterable[Described]:
    name = resource.resource_name
    match resource.resource_type:
        case kind if kind == TOPIC_RESOURCE:
            return _describe_topic(broker, name)
        case kind if kind == BROKER_RESOURCE:
            if not name:
                return describe_all_brokers(broker.settings)
            if name != str(broker.node_id):
                raise Refused(
                    ErrorCode.INVALID_REQUEST,
                    f"This is broker {broker.node_id}; configs of {name!r} must be asked for there.",
                )
            return describe_broker(broker.settings)
        case kind if kind == BROKER_LOGGER_RESOURCE:
            check_node(name, broker.node_id)
            return [_logger(logger, level) for logger, level in logger_levels().items()]
        case kind if kind in (GROUP_RESOURCE, CLIENT_METRICS_RESOURCE):
            if not name:
                raise Refused(ErrorCode.INVALID_REQUEST, "The resource needs a name.")
            overrides = broker.image.config(kind, name)
            return (
                describe_group(overrides, broker.settings)
                if kind == GROUP_RESOURCE
                else describe_client_metrics(overrides)
            )
        case kind:
            raise Refused(ErrorCode.INVALID_REQUEST, f"There is no resource type {kind}.")


def _describe_topic(broker: Broker, name: str) -> list[Described]:
    problem = topic_name_problem(name)
    if problem is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    if name not in broker.image.topics:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    overrides = broker.image.topic_config(name)
    if overrides:
        return describe_topic(overrides, broker.settings)
    return broker.settings.cached("broker.topic_defaults", lambda: describe_topic({}, broker.settings))


def _logger(name: str, level: str) -> Described:
    return Described(name, level, Source.DYNAMIC_BROKER_LOGGER_CONFIG, False, False, [], 0, "")


def _entry(one: Described, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = one.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=one.name,
        value=one.value,
        read_only=one.read_only,
        config_source=one.source,
        is_sensitive=one.sensitive,
        synonyms=[DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source) for s in synonyms],
        config_type=one.type,
        documentation=one.doc if request.include_documentation else None,
    )
