"""Settings of topics and brokers as the cluster describes them, and changes to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem, did_you_mean
from headrace.admin.times import duration, size

# DescribeConfigs numbers where a value comes from.
SOURCES = {
    1: "topic",
    2: "broker",
    3: "cluster",
    4: "file",
    5: "default",
    6: "broker logger",
    7: "client metrics",
    8: "group",
}
_OF_RESOURCE = {"topic": 1, "broker": 2}


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting: its value, where that comes from, and whether somebody set it on this very resource."""

    name: str
    value: str | None
    source: str
    read_only: bool
    sensitive: bool
    changed: bool

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "source": self.source,
            "read_only": self.read_only,
            "sensitive": self.sensitive,
        }

    def readable(self) -> str:
        """The value, with `7 d` or `1.0 MiB` behind numbers that mean a time or a size."""
        if self.sensitive:
            return "(hidden)"
        value = self.value if self.value not in (None, "") else "-"
        if not str(value).isdigit() or int(value) >= 1 << 62:
            return str(value)
        if self.name.endswith(".ms") and int(value) >= 1000:
            return f"{value} ({duration(int(value))})"
        if self.name.endswith(".bytes") and int(value) >= 1024:
            return f"{value} ({size(int(value))})"
        return str(value)


def topic_settings(cluster: Cluster, topic: str) -> list[Entry]:
    return settings(cluster, "topic", topic)


def settings(cluster: Cluster, kind: str, name: str) -> list[Entry]:
    """All settings of a topic or a broker, as `kind` says, by name."""
    futures = cluster.admin().describe_configs([_resource(kind, name)], request_timeout=cluster.timeout_s)
    described = cluster.result(next(iter(futures.values())), f"Cannot describe {kind} '{name}'")
    return _entries(described, kind)


def of_topics(cluster: Cluster, names: Iterable[str]) -> dict[str, list[Entry]]:
    """Settings of several topics with one request."""
    wanted = [_resource("topic", name) for name in names]
    if not wanted:
        return {}
    futures = cluster.admin().describe_configs(wanted, request_timeout=cluster.timeout_s)
    return {
        resource.name: _entries(cluster.result(future, f"Cannot describe topic '{resource.name}'"), "topic")
        for resource, future in futures.items()
    }


def _entries(described: Mapping[str, Any], kind: str) -> list[Entry]:
    return [
        Entry(
            entry.name,
            entry.value,
            SOURCES.get(int(entry.source), "unknown"),
            entry.is_read_only,
            entry.is_sensitive,
            int(entry.source) == _OF_RESOURCE[kind],
        )
        for _, entry in sorted(described.items())
    ]


def alter(cluster: Cluster, kind: str, name: str, assign: Mapping[str, str], unset: Iterable[str]) -> None:
    """Set and unset in one request."""
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry

    unset = list(unset)
    _check_names(cluster, kind, name, [*assign, *unset])
    changes = [ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in assign.items()]
    changes += [ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE) for key in unset]
    futures = cluster.admin().incremental_alter_configs(
        [_resource(kind, name, incremental_configs=changes)], request_timeout=cluster.timeout_s
    )
    cluster.result(next(iter(futures.values())), f"Cannot change {kind} '{name}'")


def _check_names(cluster: Cluster, kind: str, name: str, keys: list[str]) -> None:
    """A misspelt key gets its near misses here; whether the value is good is for the broker to say."""
    known = {entry.name for entry in settings(cluster, kind, name)}
    for key in keys:
        if key not in known:
            hint = did_you_mean(key, known) or f"See them with `headrace config describe --{kind} {name} --all`"
            raise Problem(f"There is no {kind} setting '{key}'", hint)


def _resource(kind: str, name: str, **more: Any) -> Any:
    from confluent_kafka.admin import ConfigResource, ResourceType

    return ConfigResource(ResourceType.TOPIC if kind == "topic" else ResourceType.BROKER, name, **more)
