"""What the console is started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.admin.errors import Problem
from headrace.http_service import LOOPBACK

DEFAULT_PORT = 8080
DEFAULT_ENGINE = "http://127.0.0.1:8084"
DEFAULT_REGISTRY = "http://127.0.0.1:8081"
REQUEST_TIMEOUT_S = 8.0


@dataclass(frozen=True)
class ConsoleSettings:
    """`allowed_hosts` are the names under which browsers may reach it, beside the loopback names."""

    bootstrap_servers: str
    source: str = "the default"
    kafka: Mapping[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    password: str | None = field(default=None, repr=False)
    read_only: bool = False
    allowed_hosts: tuple[str, ...] = ()
    engine_url: str = DEFAULT_ENGINE
    registry_url: str = DEFAULT_REGISTRY
    timeout_s: float = REQUEST_TIMEOUT_S
    mask_fields: tuple[str, ...] = ()
    export: bool = True
    imports: bool = True

    @property
    def is_local(self) -> bool:
        return self.host in LOOPBACK

    def check(self) -> None:
        """Beyond this machine, whoever reaches the console may delete topics: that takes a password."""
        if not self.is_local and not self.password:
            raise Problem(
                f"A console that listens on {self.host} needs a password",
                "Set HEADRACE_CONSOLE_PASSWORD or --password-file, or listen on 127.0.0.1",
            )

    def hosts(self) -> list[str]:
        """What `Host` may say. Names that nobody listed could be a stranger's, pointed at this machine (DNS rebinding)."""
        if self.is_local:
            return [*LOOPBACK, *self.allowed_hosts]
        own = [] if self.host in ("0.0.0.0", "::") else [self.host]  # noqa: S104 - recognised, not listened on
        # Without names, the password protects: its cookie belongs to the name it was given under.
        return [*LOOPBACK, *own, *self.allowed_hosts] if own or self.allowed_hosts else ["*"]
