"""Configs, and what describes a cluster and its parts."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.wire.messages import alter_configs, incremental_alter_configs
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.describe_cluster import DescribeClusterRequest
from headrace.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from headrace.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from headrace.wire.messages.describe_quorum import DescribeQuorumRequest, RequestPartitionData, RequestTopicData
from headrace.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from headrace.wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.oracle.requests import batch, produce, versions
from tests.oracle.script import Script, wait_until

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
# What a broker of either kind has, with the same default.
BROKER_KEYS = [
    "log.retention.ms",
    "log.retention.hours",
    "log.segment.bytes",
    "num.partitions",
    "message.max.bytes",
    "log.cleanup.policy",
    "compression.type",
    "auto.create.topics.enable",
    "offsets.retention.minutes",
    "group.max.session.timeout.ms",
    "log.message.timestamp.type",
    "log.flush.interval.ms",
    "unclean.leader.election.enable",
    "max.connections",
    "socket.request.max.bytes",
    "min.insync.replicas",
    "default.replication.factor",
    "listeners.unknown",
]
Operation = tuple[str, int, str | None]


def describe(kind: int, name: str, keys: Sequence[str] | None = None, **fields: bool) -> DescribeConfigsRequest:
    wanted = list(keys) if keys is not None else None
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=wanted)
    return DescribeConfigsRequest(resources=[resource], **fields)


def alter(kind: int, name: str, *changes: Operation, validate: bool = False):
    configs = [
        incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in changes
    ]
    resource = incremental_alter_configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    return incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate)


def replace(kind: int, name: str, validate: bool = False, **configs: str | None):
    rows = [alter_configs.AlterableConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    resource = alter_configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=rows)
    return alter_configs.AlterConfigsRequest(resources=[resource], validate_only=validate)


def described_configs(s: Script) -> None:
    """DescribeConfigs."""
    s.create("plain")
    s.create("set", retention_ms=1000, cleanup_policy="compact")
    for version in versions(DescribeConfigsRequest):
        for synonyms in (False, True):
            s.call(describe(TOPIC, "plain", include_synonyms=synonyms), version, f"all, synonyms {synonyms}")
            s.call(describe(TOPIC, "set", include_synonyms=synonyms), version, f"set, synonyms {synonyms}")
            request = describe(BROKER, "1", BROKER_KEYS, include_synonyms=synonyms)
            s.call(request, version, f"broker, synonyms {synonyms}")
        s.call(describe(BROKER, "1", ["node.id"], include_synonyms=True), version, "node id")
        s.call(describe(BROKER, "1", ["ssl.keystore.password"]), version, "a password")
        s.call(describe(TOPIC, "set", ["retention.ms", "nonsense"]), version, "keys")
        s.call(describe(TOPIC, "set", []), version, "no keys")
        s.call(describe(TOPIC, "plain", include_documentation=True), version, "documentation")
        s.call(describe(TOPIC, "nowhere"), version, "unknown topic")
        for name in ("", "bad/name", ".."):
            s.call(describe(TOPIC, name), version, f"topic {name!r}")
        for name in ("7", "-1", "x", "1 "):
            s.call(describe(BROKER, name), version, f"broker {name!r}")
            s.call(describe(LOGGER, name), version, f"loggers of {name!r}")
        s.call(describe(BROKER, ""), version, "all brokers")
        for kind in (0, 1, 3, 5, 64, -1):
            s.call(describe(kind, "x"), version, f"resource type {kind}")
        for kind in (METRICS, GROUP):
            s.call(describe(kind, "some", include_synonyms=True), version, f"type {kind}")
            s.call(describe(kind, ""), version, f"type {kind} without a name")
        s.call(DescribeConfigsRequest(), version, "nothing")
        twice = describe(TOPIC, "set", ["retention.ms"])
        twice.resources += describe(TOPIC, "set", ["cleanup.policy"]).resources
        s.call(twice, version, "twice")


def refused_alterations(s: Script) -> None:
    """AlterConfigs and IncrementalAlterConfigs, what they do not do."""
    s.create("t")
    changes: dict[str, Operation] = {
        "good": ("retention.ms", SET, "1000"),
        "unknown config": ("nonsense", SET, "1"),
        "bad value": ("retention.ms", SET, "soon"),
        "null value": ("retention.ms", SET, None),
        "delete": ("retention.ms", DELETE, None),
        "delete with a value": ("retention.ms", DELETE, "5"),
        "delete unknown": ("nonsense", DELETE, None),
        "append": ("cleanup.policy", APPEND, "compact"),
        "append what is there": ("cleanup.policy", APPEND, "delete"),
        "append nonsense": ("cleanup.policy", APPEND, "shred"),
        "append to a number": ("retention.ms", APPEND, "1"),
        "append to unknown": ("nonsense", APPEND, "1"),
        "append null": ("cleanup.policy", APPEND, None),
        "subtract": ("cleanup.policy", SUBTRACT, "delete"),
        "subtract what is not there": ("cleanup.policy", SUBTRACT, "compact"),
        "subtract from a number": ("retention.ms", SUBTRACT, "1"),
        "no such operation": ("retention.ms", 9, "1"),
        "negative operation": ("retention.ms", -1, "1"),
        "empty name": ("", SET, "1"),
        "empty value": ("retention.ms", SET, ""),
        "long value": ("cleanup.policy", SET, "x" * 32_767),
    }
    for version in (0, 1):
        for what, change in changes.items():
            s.call(alter(TOPIC, "t", change, validate=True), version, what)
        both = (("retention.ms", SET, "1"), ("retention.ms", SET, "2"))
        s.call(alter(TOPIC, "t", *both, validate=True), version, "a config twice")
        s.call(alter(TOPIC, "t", changes["good"], changes["bad value"], validate=True), version, "one of two")
        s.call(alter(TOPIC, "t", validate=True), version, "no configs")
        _refused_resources(s, version)
    for version in versions(alter_configs.AlterConfigsRequest):
        for configs in (
            {"retention_ms": "1000"},
            {"retention_ms": None},
            {"retention_ms": "soon"},
            {"retention_ms": ""},
            {"nonsense": "1"},
            {},
        ):
            s.call(replace(TOPIC, "t", validate=True, **configs), version, f"replace by {configs}")
        for kind, name in ((TOPIC, "nowhere"), (TOPIC, ""), (TOPIC, "bad/name"), (BROKER, "7"), (BROKER, "x")):
            s.call(replace(kind, name, validate=True, retention_ms="1"), version, f"replace {kind} {name!r}")
        for kind, name in ((LOGGER, "1"), (METRICS, ""), (GROUP, ""), (0, "x"), (1, "x"), (99, "x")):
            s.call(replace(kind, name, validate=True, retention_ms="1"), version, f"replace {kind} {name!r}")
        twice = replace(TOPIC, "t", validate=True, retention_ms="1")
        twice.resources += replace(TOPIC, "t", retention_ms="2").resources
        s.call(twice, version, "replace twice", patience_s=1)
        s.call(alter_configs.AlterConfigsRequest(), version, "nothing")


def _refused_resources(s: Script, version: int) -> None:
    good: Operation = ("retention.ms", SET, "1000")
    resources = (
        (TOPIC, "nowhere"),
        (TOPIC, ""),
        (TOPIC, "bad/name"),
        (BROKER, "7"),
        (BROKER, "x"),
        (BROKER, "1"),
        (LOGGER, "1"),
        (LOGGER, "7"),
        (METRICS, ""),
        (METRICS, "m"),
        (GROUP, ""),
        (GROUP, "g"),
        (0, "x"),
        (1, "x"),
        (3, "x"),
        (99, "x"),
    )
    for kind, name in resources:
        s.call(alter(kind, name, good, validate=True), version, f"{kind} {name!r}")
    two = alter(TOPIC, "t", good, validate=True)
    two.resources += alter(TOPIC, "nowhere", good).resources
    s.call(two, version, "one of two resources")
    twice = alter(TOPIC, "t", good, validate=True)
    twice.resources += alter(TOPIC, "t", ("segment.ms", SET, "1000")).resources
    s.call(twice, version, "a resource twice")
    s.call(incremental_alter_configs.IncrementalAlterConfigsRequest(), version, "nothing")
    for key, value in (
        ("log.retention.ms", "1000"),
        ("log.retention.ms", "soon"),
        ("num.io.threads", "-1"),
        ("node.id", "5"),
        ("log.dirs", "elsewhere"),
        ("nonsense", "1"),
        ("log.cleanup.policy", "shred"),
        ("listeners", "PLAINTEXT://127.0.0.1:1"),
        ("max.connections", "10"),
        ("min.insync.replicas", "2"),
        ("retention.ms", "5"),
        ("num.partitions", "5"),
        ("compression.type", "zstd"),
    ):
        for name in ("1", ""):
            s.call(alter(BROKER, name, (key, SET, value), validate=True), version, f"broker {name!r}: {key}={value}")
    for key, value in (
        ("consumer.session.timeout.ms", "50000"),
        ("consumer.session.timeout.ms", "1"),
        ("consumer.heartbeat.interval.ms", "6000"),
        ("consumer.heartbeat.interval.ms", "60000"),
        ("nonsense", "1"),
        ("share.auto.offset.reset", "earliest"),
        ("share.auto.offset.reset", "never"),
    ):
        s.call(alter(GROUP, "g", (key, SET, value), validate=True), version, f"group: {key}={value}")
    for key, value in (
        ("interval.ms", "5000"),
        ("interval.ms", "5"),
        ("metrics", "org.apache."),
        ("match", "client_id=.*"),
        ("match", "nonsense"),
        ("match", "colour=red"),
        ("nonsense", "1"),
    ):
        s.call(alter(METRICS, "m", (key, SET, value), validate=True), version, f"client metrics: {key}={value}")


def altered_configs(s: Script) -> None:
    """AlterConfigs and IncrementalAlterConfigs, what they do."""
    s.create("t")
    steps = (
        (alter(TOPIC, "t", ("retention.ms", SET, "1000")), {"retention.ms": "1000"}),
        (alter(TOPIC, "t", ("cleanup.policy", APPEND, "compact")), {"cleanup.policy": "delete,compact"}),
        (alter(TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete")), {"cleanup.policy": "compact"}),
        (alter(TOPIC, "t", ("retention.ms", DELETE, None), ("segment.ms", SET, "5000")), {"segment.ms": "5000"}),
        (replace(TOPIC, "t", flush_ms="10"), {"flush.ms": "10"}),
        (replace(TOPIC, "t", flush_ms="20", max_message_bytes="2000"), {"flush.ms": "20"}),
        (replace(TOPIC, "t"), {"flush.ms": "9223372036854775807"}),
        (alter(BROKER, "1", ("log.retention.ms", SET, "700000")), {"retention.ms": "700000"}),
        (alter(BROKER, "", ("log.segment.bytes", SET, "20000000")), {"segment.bytes": "20000000"}),
        (alter(BROKER, "1", ("log.retention.ms", DELETE, None)), {"retention.ms": "-1"}),
        (alter(BROKER, "", ("log.segment.bytes", DELETE, None)), {"segment.bytes": "1073741824"}),
    )
    for number, (request, values) in enumerate(steps):
        s.call(request, 1, f"step {number}")
        wait_until(lambda values=values: values.items() <= _values(s).items())
        s.call(describe(TOPIC, "t", include_synonyms=True), 4, f"topic after step {number}")
        if number >= 7:
            s.call(describe(BROKER, "1", BROKER_KEYS, include_synonyms=True), 4, f"broker after step {number}")
            s.call(describe(BROKER, "", include_synonyms=True), 4, f"all brokers after step {number}")


def _values(s: Script) -> dict[str, str]:
    found = s.client("setup").call(describe(TOPIC, "t"), 4).results[0].configs
    return {config.name: config.value for config in found}


def listed_config_resources(s: Script) -> None:
    """ListConfigResources."""
    s.create("t")
    for version in versions(ListConfigResourcesRequest):
        for kinds in (
            [],
            [TOPIC],
            [BROKER],
            [LOGGER],
            [METRICS],
            [GROUP],
            [TOPIC, BROKER],
            [99],
            [0],
            [1],
            [TOPIC, 99],
        ):
            s.call(ListConfigResourcesRequest(resource_types=kinds), version, str(kinds))
    s.call(alter(METRICS, "m", ("interval.ms", SET, "5000")), 1)
    s.call(alter(GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")), 1)
    wait_until(
        lambda: (
            len(s.client("setup").call(ListConfigResourcesRequest(resource_types=[METRICS, GROUP]), 1).config_resources)
            == 2
        )
    )
    for version in versions(ListConfigResourcesRequest):
        s.call(ListConfigResourcesRequest(resource_types=[METRICS, GROUP]), version, "after setting some")
        s.call(ListConfigResourcesRequest(), version, "after setting some")
    s.call(describe(METRICS, "m", include_synonyms=True), 4)
    s.call(describe(GROUP, "g", include_synonyms=True), 4)
    s.call(alter(METRICS, "m", ("interval.ms", DELETE, None)), 1)
    s.call(alter(GROUP, "g", ("consumer.session.timeout.ms", DELETE, None)), 1)
    wait_until(
        lambda: (
            not s.client("setup").call(ListConfigResourcesRequest(resource_types=[METRICS, GROUP]), 1).config_resources
        )
    )


def described_cluster(s: Script) -> None:
    """DescribeCluster."""
    for version in versions(DescribeClusterRequest):
        for kind in (1, 2, 0, 3):
            s.call(DescribeClusterRequest(endpoint_type=kind), version, f"endpoint type {kind}")
        s.call(DescribeClusterRequest(include_cluster_authorized_operations=True), version, "operations")
        s.call(DescribeClusterRequest(include_fenced_brokers=True), version, "fenced ones too")


def described_log_dirs(s: Script) -> None:
    """DescribeLogDirs."""
    s.create("t", partitions=2)
    s.client("setup").call(produce("t", batch()), 12)

    def ask(*topics: tuple[str, list[int]]) -> DescribeLogDirsRequest:
        return DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic=n, partitions=p) for n, p in topics])

    for version in versions(DescribeLogDirsRequest):
        s.call(DescribeLogDirsRequest(topics=None), version, "all")
        s.call(ask(("t", [0, 1])), version, "two")
        s.call(ask(("t", [1])), version, "one")
        s.call(ask(("t", [9]), ("nowhere", [0])), version, "unknown")
        s.call(ask(("t", [])), version, "no partitions")
        s.call(ask(), version, "no topics")
        s.call(ask(("t", [0, 0])), version, "twice")


def described_quorum(s: Script) -> None:
    """DescribeQuorum."""

    def ask(*topics: tuple[str, list[int]]) -> DescribeQuorumRequest:
        return DescribeQuorumRequest(
            topics=[
                RequestTopicData(topic_name=name, partitions=[RequestPartitionData(partition_index=p) for p in indexes])
                for name, indexes in topics
            ]
        )

    for version in versions(DescribeQuorumRequest):
        s.call(ask(("__cluster_metadata", [0])), version)
        s.call(ask(("__cluster_metadata", [1])), version, "another partition")
        s.call(ask(("__cluster_metadata", [0, 1])), version, "one more partition")
        s.call(ask(("t", [0])), version, "another topic")
        s.call(ask(("t", [0]), ("__cluster_metadata", [0])), version, "one more topic")
        s.call(ask(("__cluster_metadata", [])), version, "no partition")
        s.call(ask(), version, "no topic")


def elected_leaders(s: Script) -> None:
    """ElectLeaders."""
    s.create("t", partitions=2)

    def ask(kind: int, *topics: tuple[str, list[int]]) -> ElectLeadersRequest:
        rows = [TopicPartitions(topic=name, partitions=indexes) for name, indexes in topics]
        return ElectLeadersRequest(election_type=kind, topic_partitions=rows)

    for version in versions(ElectLeadersRequest):
        for kind in (0, 1, 2, -1):
            s.call(ask(kind, ("t", [0, 1])), version, f"type {kind}")
            s.call(ask(kind, ("t", [9]), ("nowhere", [0])), version, f"type {kind}, unknown")
            s.call(ask(kind), version, f"type {kind}, no topics")
            s.call(ask(kind, ("t", [])), version, f"type {kind}, no partitions")
            s.call(ask(kind, ("t", [0, 0])), version, f"type {kind}, twice")
            s.call(ask(kind, ("", [0]), ("bad/name", [0])), version, f"type {kind}, bad names")
            s.call(ElectLeadersRequest(election_type=kind, topic_partitions=None), version, f"type {kind}, all")


def api_versions(s: Script) -> None:
    """ApiVersions."""
    for version in versions(ApiVersionsRequest):
        software = {"client_software_name": "oracle", "client_software_version": "1.0"}
        s.call(ApiVersionsRequest(**software), version)
    for name, number in (("", ""), ("a", ""), ("a b", "1"), ("-a", "1"), ("a", "1-"), ("a.b-c", "1.0-rc"), ("ü", "1")):
        for version in (3, 4):
            request = ApiVersionsRequest(client_software_name=name, client_software_version=number)
            s.call(request, version, f"software {name!r} {number!r}")


SCRIPTS = (
    described_configs,
    refused_alterations,
    altered_configs,
    listed_config_resources,
    described_cluster,
    described_log_dirs,
    described_quorum,
    elected_leaders,
    api_versions,
)
