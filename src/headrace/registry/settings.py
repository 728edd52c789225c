"""The registry's settings: one declaration each, from which parsing, checks, `--set`, the properties file and the reference page derive.

Names and meanings are those of Confluent's `schema-registry.properties` where there is one; those that start with `headrace.` are our own.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.registry.defaults import Defaults
from headrace.registry.election import Candidacy
from headrace.registry.errors import StartFailure
from headrace.registry.topic import TopicSettings
from headrace.settings.definition import INT_MAX, AtLeast, Between, OneOf, Setting, SettingError, Type, near_miss

DEFAULT_PORT = 8081
_LEVELS = ("none", "backward", "forward", "full", "backward_transitive", "forward_transitive", "full_transitive")
_KAFKA_PREFIX = "kafkastore."
LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")

_DECLARED = (
    Setting(
        "kafkastore.topic",
        Type.STRING,
        "_schemas",
        "The topic that holds the schemas. It has one partition and is compacted.",
    ),
    Setting(
        "kafkastore.topic.replication.factor",
        Type.INT,
        3,
        "Replicas of the topic when the registry makes it; fewer where there are fewer brokers.",
        Between(1, 100),
    ),
    Setting(
        "kafkastore.timeout.ms",
        Type.INT,
        30_000,
        "How long a write may take, counting the search for a leader, before the client is told that it failed.",
        Between(1_000, 600_000),
    ),
    Setting(
        "kafkastore.init.timeout.ms",
        Type.INT,
        60_000,
        "How long a broker is waited for at the start.",
        Between(1_000, 3_600_000),
    ),
    Setting(
        "schema.registry.group.id",
        Type.STRING,
        "schema-registry",
        "Registries with the same group and topic are one: one of them leads and writes, the others forward writes to it.",
    ),
    Setting(
        "leader.eligibility",
        Type.BOOLEAN,
        True,
        "Whether this instance may lead. One that may not only reads and forwards.",
    ),
    Setting(
        "host.name",
        Type.STRING,
        "",
        "The name under which other registries reach this one; empty means `--host`, or this machine's name where it listens on all addresses.",
    ),
    Setting(
        "schema.compatibility.level",
        Type.STRING,
        "backward",
        "The compatibility level where no config says another.",
        OneOf(_LEVELS),
    ),
    Setting("schema.validate.fields", Type.BOOLEAN, False, "Whether fields that metadata reserve may not be used."),
    Setting(
        "schema.validate.new.schemas",
        Type.BOOLEAN,
        True,
        "Whether new schemas are checked more strictly, such as Avro's default values.",
    ),
    Setting("mode.mutability", Type.BOOLEAN, True, "Whether modes can be changed."),
    Setting(
        "schema.search.default.limit",
        Type.INT,
        1_000,
        "Schemas in an answer of `GET /schemas` that asks for no number.",
        AtLeast(1),
    ),
    Setting("schema.search.max.limit", Type.INT, 1_000, "Schemas in an answer of `GET /schemas` at most.", AtLeast(1)),
    Setting(
        "subject.search.default.limit", Type.INT, INT_MAX, "Subjects in an answer that asks for no number.", AtLeast(1)
    ),
    Setting("subject.search.max.limit", Type.INT, INT_MAX, "Subjects in an answer at most.", AtLeast(1)),
    Setting(
        "max.request.body.size",
        Type.INT,
        1 << 20,
        "The longest request body in bytes; longer ones get 413. A schema must also fit into a record of the topic (`max.message.bytes`).",
        Between(1_024, 64 << 20),
    ),
    Setting(
        "headrace.users.file",
        Type.STRING,
        "",
        "Who may use the registry: lines of `name: password, role`, with the role `readwrite`, `readonly` or `admin`; `headrace registry --hash-password` makes "
        "passwords that do not show. Empty lets everybody in.",
    ),
    Setting("headrace.anonymous.read", Type.BOOLEAN, False, "Whether reading needs no name where writing does."),
    Setting(
        "headrace.tls.certificate",
        Type.STRING,
        "",
        "A PEM file with the server's certificate and its chain: HTTPS instead of HTTP.",
    ),
    Setting(
        "headrace.tls.key",
        Type.STRING,
        "",
        "A PEM file with the certificate's key; empty when it is in the certificate's file.",
    ),
    Setting(
        "headrace.tls.ca",
        Type.STRING,
        "",
        "A PEM file with the authority that signed the certificates of the other registries; empty means those of the system.",
    ),
    Setting(
        "headrace.allowed.origins",
        Type.LIST,
        [],
        "Origins of web pages that may call the registry, such as `https://ui.example.org`; pages of other sites are refused.",
    ),
)
REGISTRY_SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in _DECLARED}


@dataclass(frozen=True)
class RegistrySettings:
    """Where the broker is, where to listen, and the values of `REGISTRY_SETTINGS`. `kafka` are settings of the Kafka client."""

    bootstrap_servers: str
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    values: Mapping[str, Any] = field(default_factory=dict)
    kafka: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name, REGISTRY_SETTINGS[name].default)

    @property
    def scheme(self) -> str:
        return "https" if self["headrace.tls.certificate"] else "http"

    @property
    def topic(self) -> TopicSettings:
        return TopicSettings(
            self.bootstrap_servers,
            self["kafkastore.topic"],
            self["kafkastore.topic.replication.factor"],
            self["kafkastore.timeout.ms"] / 1000,
            self.kafka,
        )

    @property
    def defaults(self) -> Defaults:
        return Defaults(
            self["schema.compatibility.level"].upper(),
            self["schema.validate.fields"],
            self["schema.validate.new.schemas"],
            self["mode.mutability"],
        )

    def candidacy(self, port: int) -> Candidacy:
        """How this instance stands for election, listening on `port`."""
        machine = socket.gethostname()
        host = self["host.name"] or (machine if self.host in ("0.0.0.0", "::", "") else self.host)  # noqa: S104 - a comparison
        shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
        instance = f"{self['host.name'] or machine}:{port}"
        return Candidacy(
            self["schema.registry.group.id"], instance, f"{self.scheme}://{shown}:{port}", self["leader.eligibility"]
        )


def parse_values(texts: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Settings as a file or `--set` has them: the registry's values, and those of the Kafka client (`kafkastore.security.protocol` and so on)."""
    values: dict[str, Any] = {}
    kafka: dict[str, str] = {}
    for name, text in texts.items():
        setting = REGISTRY_SETTINGS.get(name)
        if setting is not None:
            values[name] = setting.parse(text)
        elif name.startswith(_KAFKA_PREFIX) and name != "kafkastore.bootstrap.servers":
            kafka[name.removeprefix(_KAFKA_PREFIX)] = text
        elif name not in TAKEN_ELSEWHERE:
            raise SettingError(name, f"there is no such setting{near_miss(name, REGISTRY_SETTINGS)}")
    return values, kafka


# What a file of Confluent's registry may hold and options of ours say.
TAKEN_ELSEWHERE = ("listeners", "kafkastore.bootstrap.servers", "kafkastore.connection.url", "debug")


def checked(settings: RegistrySettings) -> RegistrySettings:
    """Settings that fit together, or a `StartFailure` that says which do not."""
    for name in ("headrace.tls.certificate", "headrace.tls.key", "headrace.tls.ca", "headrace.users.file"):
        path = settings[name]
        if path:
            try:
                with open(path, "rb"):
                    pass
            except OSError as error:
                raise StartFailure(f"{name}: {path} cannot be read ({error.strerror})") from error
    return settings
