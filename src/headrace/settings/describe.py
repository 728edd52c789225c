"""Settings as DescribeConfigs shows them: the value in force, where it came from, and what else could have decided it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from headrace.settings.broker import BROKER_SETTINGS, BrokerSettings, broker_synonyms, is_sensitive
from headrace.settings.definition import Setting
from headrace.settings.group import CLIENT_METRICS_SETTINGS, GROUP_SETTINGS
from headrace.settings.topic import TOPIC_SETTINGS


class Source(IntEnum):
    """Kafka's numbers for where a value came from."""

    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class SynonymValue(NamedTuple):
    name: str
    value: str | None
    source: Source


class Described(NamedTuple):
    name: str
    value: str | None
    source: Source
    sensitive: bool
    read_only: bool
    synonyms: list[SynonymValue]
    type: int  # 0 when unknown
    doc: str


def topic_default(setting: Setting, broker: BrokerSettings) -> Any:
    """What a topic without a value of its own gets: from the broker, else the setting's own default."""
    for synonym in setting.synonyms:
        value = broker[synonym.name]
        if value is not None:
            # "For ever" is -1 in every unit.
            return value if synonym.factor == 1 or value < 0 else value * synonym.factor
    return setting.default


def topic_values(overrides: Mapping[str, Any], broker: BrokerSettings) -> dict[str, Any]:
    """The typed values a topic runs with; `overrides` may be text or typed."""
    values = {name: topic_default(setting, broker) for name, setting in TOPIC_SETTINGS.items()}
    for name, value in overrides.items():
        setting = TOPIC_SETTINGS.get(name)
        if setting is not None:
            values[name] = setting.parse(value)
    return values


def describe_topic(overrides: Mapping[str, str], broker: BrokerSettings) -> list[Described]:
    values = topic_values(overrides, broker)
    result = []
    for name, setting in TOPIC_SETTINGS.items():
        if setting.internal and name not in overrides:
            continue
        inherited = _broker_sources(setting.synonyms[0].name, broker) if setting.synonyms else []
        result.append(_described(setting, values[name], name in overrides, Source.TOPIC_CONFIG, inherited))
    return result


def describe_group(overrides: Mapping[str, str], broker: BrokerSettings) -> list[Described]:
    result = []
    for name, setting in GROUP_SETTINGS.items():
        value = setting.parse(overrides[name]) if name in overrides else topic_default(setting, broker)
        if setting.synonyms:
            inherited = _broker_sources(setting.synonyms[0].name, broker)
        else:
            inherited = [SynonymValue(name, setting.format(setting.default), Source.DEFAULT_CONFIG)]
        result.append(_described(setting, value, name in overrides, Source.GROUP_CONFIG, inherited))
    return result


def describe_client_metrics(overrides: Mapping[str, str]) -> list[Described]:
    return [
        _described(
            setting,
            setting.parse(overrides[name]) if name in overrides else setting.default,
            name in overrides,
            Source.CLIENT_METRICS_CONFIG,
            [],
        )
        for name, setting in CLIENT_METRICS_SETTINGS.items()
    ]


def describe_broker(broker: BrokerSettings) -> list[Described]:
    """All settings of one broker, and whatever else was set on it."""
    result = [
        _described_broker(name, BROKER_SETTINGS[name].format(broker[name]), _broker_sources(name, broker))
        for name, setting in BROKER_SETTINGS.items()
        if not setting.internal
    ]
    others = {**broker.dynamic_default, **broker.dynamic_broker}
    result += [
        _described_broker(name, value, _broker_sources(name, broker))
        for name, value in others.items()
        if name not in BROKER_SETTINGS
    ]
    return result


def describe_all_brokers(broker: BrokerSettings) -> list[Described]:
    """What was set for all brokers at once (the broker resource without a name); nothing else."""
    result = []
    for name, value in broker.dynamic_default.items():
        sources = [s for s in _broker_sources(name, broker) if s.source is Source.DYNAMIC_DEFAULT_BROKER_CONFIG]
        result.append(_described_broker(name, value, sources))
    return result


def _described(setting: Setting, value: Any, overridden: bool, own: Source, inherited: list[SynonymValue]) -> Described:
    text = None if setting.sensitive else setting.format(value)
    synonyms = [SynonymValue(setting.name, text, own), *inherited] if overridden else inherited
    source = synonyms[0].source if synonyms else Source.DEFAULT_CONFIG
    return Described(setting.name, text, source, setting.sensitive, False, synonyms, setting.type, setting.doc)


def _described_broker(name: str, value: str | None, sources: list[SynonymValue]) -> Described:
    setting = BROKER_SETTINGS.get(name)
    source = sources[0].source if sources else Source.DEFAULT_CONFIG
    sensitive = is_sensitive(name)
    return Described(
        name,
        None if sensitive else value,
        source,
        sensitive,
        setting is None or not setting.update,
        sources,
        setting.type if setting is not None else 0,
        setting.doc if setting is not None else "",
    )


def _broker_sources(name: str, broker: BrokerSettings) -> list[SynonymValue]:
    """Every layer that has a value for `name` or for a setting that says the same, strongest first.

    Kafka leaves out what stands before the first entry of that very name, and so `retention.ms` has no synonyms while only
    `log.retention.hours` is set; tools have come to expect it.
    """
    names = broker_synonyms(name)
    layers = (
        (broker.dynamic_broker, Source.DYNAMIC_BROKER_CONFIG),
        (broker.dynamic_default, Source.DYNAMIC_DEFAULT_BROKER_CONFIG),
        (broker.given, Source.STATIC_BROKER_CONFIG),
    )
    found = [SynonymValue(n, layer[n], source) for layer, source in layers for n in names if n in layer]
    for n in names:
        setting = BROKER_SETTINGS.get(n)
        if setting is not None and setting.default is not None:
            found.append(SynonymValue(n, setting.format(setting.default), Source.DEFAULT_CONFIG))
    start = next((i for i, synonym in enumerate(found) if synonym.name == name), len(found))
    if is_sensitive(name):
        return [SynonymValue(s.name, None, s.source) for s in found[start:]]
    return found[start:]
