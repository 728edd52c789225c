"""The settings of one broker: what was given at start, what the cluster's metadata says since, and the defaults.

`BROKER_SETTINGS` is the one list of declarations. `BrokerSettings` reads a mapping (a server file, `--set`, a test's keywords) into
typed values, `settings["log.dirs"]`, and keeps them current when dynamic configs change. It decides precedence, as Kafka does: set on
this broker, set for all brokers, given at start, default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from headrace.settings import cleaner, cluster, coordinator, log, network
from headrace.settings.definition import INT_MAX, Setting, SettingError, Type, near_miss, to_text
from headrace.settings.kafka_names import UNUSED_KAFKA_SETTINGS
from headrace.settings.listeners import Listener, parse_ip_overrides, parse_listeners, parse_protocol_map

T = TypeVar("T")

BROKER_SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in sorted(
        (*network.SETTINGS, *log.SETTINGS, *cleaner.SETTINGS, *coordinator.SETTINGS, *cluster.SETTINGS),
        key=lambda s: s.name,
    )
}

# Settings that say the same thing in other units: the first one with a value counts.
SAME_THING: tuple[tuple[str, ...], ...] = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)


def broker_synonyms(name: str) -> tuple[str, ...]:
    """The names whose values can decide about `name`, most important first."""
    if name == "log.flush.interval.ms":
        return ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
    return next((names for names in SAME_THING if name in names), (name,))


class BrokerSettings:
    """Typed values by name. One object lives as long as the broker; dynamic changes show through it."""

    def __init__(self, given: Mapping[str, str], unused: list[str]) -> None:
        self.given = dict(given)  # as text, for DescribeConfigs
        self.unused = unused  # Kafka's settings that Headrace takes and does nothing with
        self.partition_capacity = (
            INT_MAX  # how many the broker's file descriptors are enough for; it finds out at start
        )
        self.dynamic_default: dict[str, str] = {}
        self.dynamic_broker: dict[str, str] = {}
        self._values: dict[str, Any] = {}
        self._cache: dict[str, Any] = {}
        self._recompute()

    @classmethod
    def parse(cls, mapping: Mapping[str, object]) -> BrokerSettings:
        """Settings from names and values; SettingError names the first key that is wrong and what would be right."""
        given: dict[str, str] = {}
        unused: list[str] = []
        for name, value in mapping.items():
            if value is None:
                continue
            if name in BROKER_SETTINGS:
                given[name] = to_text(value)
            elif name in UNUSED_KAFKA_SETTINGS or name.startswith("listener.name."):
                unused.append(name)
            else:
                known = (*BROKER_SETTINGS, *UNUSED_KAFKA_SETTINGS)
                raise SettingError(name, f"no broker setting has this name{near_miss(name, known)}")
        settings = cls(_with_old_names(given), unused)
        _check_together(settings)
        return settings

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def apply_dynamic(self, default: Mapping[str, str], broker: Mapping[str, str]) -> set[str]:
        """Take over the dynamic configs of the cluster image; returns the names whose value changed.

        What does not parse is left out: it was checked when it was set, and a directory written by another Kafka must still open.
        """
        before = self._values
        self.dynamic_default, self.dynamic_broker = dict(default), dict(broker)
        self._recompute()
        return {name for name, value in self._values.items() if before[name] != value}

    def _recompute(self) -> None:
        values = {}
        for name, setting in BROKER_SETTINGS.items():
            text = self.given.get(name)
            values[name] = setting.default if text is None else setting.parse(text)
            if not setting.update:
                continue
            for layer in (self.dynamic_default, self.dynamic_broker):
                if name in layer:
                    values[name] = _lenient(setting, layer[name], values[name])
        self._values, self._cache = values, {}

    def cached(self, key: str, make: Callable[[], T]) -> T:
        """Something computed from these settings, kept until one of them changes."""
        cache = self._cache
        if key not in cache:
            cache[key] = make()
        value: T = cache[key]
        return value

    @property
    def node_id(self) -> int:
        return int(self["node.id"])

    @property
    def log_dirs(self) -> list[str]:
        return list(self["log.dirs"])

    @property
    def protocols(self) -> dict[str, str]:
        """The security protocol of every listener name; names of controllers are PLAINTEXT unless mapped."""
        names = {name.upper(): "PLAINTEXT" for name in self["controller.listener.names"]}
        return names | parse_protocol_map("listener.security.protocol.map", self["listener.security.protocol.map"])

    @property
    def listeners(self) -> list[Listener]:
        """What the broker opens for clients: listeners without those of controllers."""
        return [one for one in self._all_listeners() if not self._is_controller(one.name)]

    @property
    def controller_listener(self) -> Listener:
        """Where a controller of this node would listen; one node opens no such port, but Kafka's voter records name it."""
        found = [one for one in self._all_listeners() if self._is_controller(one.name)]
        name = next(iter(self["controller.listener.names"]), "CONTROLLER").upper()
        return found[0] if found else Listener(name, "localhost", 9093, "PLAINTEXT")

    @property
    def advertised_listeners(self) -> dict[str, Listener]:
        """Listeners as clients are told of them, by name; a listener without an advertised address is left out."""
        if self["advertised.listeners"] is None:
            return {}
        found = parse_listeners("advertised.listeners", self["advertised.listeners"], self.protocols)
        return {one.name: one for one in found if not self._is_controller(one.name)}

    @property
    def connections_per_ip(self) -> dict[str, int]:
        return parse_ip_overrides("max.connections.per.ip.overrides", self["max.connections.per.ip.overrides"])

    def _all_listeners(self) -> list[Listener]:
        return parse_listeners("listeners", self["listeners"], self.protocols)

    def _is_controller(self, name: str) -> bool:
        return name in (controller.upper() for controller in self["controller.listener.names"])


def _lenient(setting: Setting, text: str, fallback: Any) -> Any:
    try:
        return setting.parse(text)
    except SettingError:
        return fallback


def _with_old_names(given: dict[str, str]) -> dict[str, str]:
    """`broker.id` and `log.dir` fill in for `node.id` and `log.dirs`."""
    result = dict(given)
    if "broker.id" in given:
        if given.get("node.id", given["broker.id"]).strip() != given["broker.id"].strip():
            raise SettingError(
                "broker.id", f"{given['broker.id']!r} differs from node.id, which is {given['node.id']!r}"
            )
        result["node.id"] = given["broker.id"]
    if "log.dir" in given and "log.dirs" not in given:
        result["log.dirs"] = given["log.dir"]
    return result


def _check_together(settings: BrokerSettings) -> None:
    """What no single setting can check."""
    for name in ("log.retention.ms", "log.retention.minutes", "log.retention.hours"):
        if settings[name] == 0:
            raise SettingError(name, "'0' would delete everything at once; it must be -1 (for ever) or at least 1")
    if settings["group.min.session.timeout.ms"] > settings["group.max.session.timeout.ms"]:
        raise SettingError("group.min.session.timeout.ms", "is larger than group.max.session.timeout.ms")
    if "broker" not in settings["process.roles"]:
        raise SettingError("process.roles", "leaves out broker; a controller without clients does not exist so far")
    metadata_dir = settings["metadata.log.dir"]
    if metadata_dir is not None and metadata_dir != settings.log_dirs[0]:
        raise SettingError(
            "metadata.log.dir", f"{metadata_dir!r} must be the first of log.dirs, {settings.log_dirs[0]!r}"
        )
    _ = settings.connections_per_ip
    _check_listeners(settings)


def _check_listeners(settings: BrokerSettings) -> None:
    listeners, advertised = settings.listeners, settings.advertised_listeners
    if not listeners:
        raise SettingError("listeners", "names listeners of controllers only; clients need one too")
    for listener in listeners:
        if listener.protocol != "PLAINTEXT":
            raise SettingError("listeners", f"{listener} needs {listener.protocol}, and only PLAINTEXT exists so far")
    for listener in advertised.values():
        if listener.host in ("", "0.0.0.0", "::"):  # noqa: S104 - refused, not bound
            raise SettingError("advertised.listeners", f"{listener} is no address a client can connect to; name a host")
        if listener.name not in {one.name for one in listeners}:
            raise SettingError("advertised.listeners", f"{listener.name} is not among listeners")
    inter_broker = settings["inter.broker.listener.name"]
    if inter_broker is not None and inter_broker.upper() not in {one.name for one in listeners}:
        raise SettingError("inter.broker.listener.name", f"{inter_broker!r} is not among listeners")


def check_dynamic(name: str, text: str, *, for_one_broker: bool) -> None:
    """Whether an admin client may set `name` to `text` on a running broker; SettingError if not.

    A name that Headrace does not know passes, as it does in Kafka: plug-ins and listener prefixes have names of their own.
    """
    setting = BROKER_SETTINGS.get(name)
    if setting is None:
        return
    if not setting.update:
        raise SettingError(name, "cannot be changed while the broker runs; set it in the server's file and restart")
    setting.parse(text)


def is_sensitive(name: str) -> bool:
    """Whether a broker setting's value must not be shown; a name we do not know may well be a password, as in Kafka."""
    setting = BROKER_SETTINGS.get(name)
    return setting.type is Type.PASSWORD if setting is not None else True
