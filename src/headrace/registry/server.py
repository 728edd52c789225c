"""The registry in a process of its own, in the foreground until a signal: `headrace registry` ends here."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.http_service import ThreadedServer, bind, stopping_on_signals
from headrace.registry.errors import StartFailure
from headrace.registry.service import Registry
from headrace.registry.settings import RegistrySettings, checked


@dataclass(frozen=True)
class Started:
    """Where the registry answers."""

    url: str
    subjects: int


class RegistryServer:
    """A registry and the HTTP server around it. `start` returns when reads can be answered."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = checked(settings)
        try:
            self._listening = bind(settings.host, settings.port)
        except OSError as error:
            raise StartFailure(
                f"port {settings.port} on {settings.host} cannot be had ({error.strerror}); choose another with --port"
            ) from error
        self._server = ThreadedServer(self._listening, "registry-http")
        self.registry = Registry(settings, self.port)
        self._application: Any = None

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    @property
    def url(self) -> str:
        host = self._settings.host
        return f"{self._settings.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    def start(self) -> None:
        from headrace.registry.application import Application

        self._application = Application(self.registry)
        self.registry.start()
        self._server.start(self._application, **self._tls())

    def stop(self) -> None:
        self._server.stop()
        self.registry.close()
        if self._application is not None:
            self._application.close()

    def _tls(self) -> dict[str, Any]:
        certificate = self._settings["headrace.tls.certificate"]
        if not certificate:
            return {}
        key = self._settings["headrace.tls.key"] or None
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
        except (OSError, ssl.SSLError) as error:
            raise StartFailure(f"headrace.tls.certificate: {certificate} cannot be used: {error}") from error
        return {"ssl_certfile": certificate, "ssl_keyfile": key}


def run(settings: RegistrySettings, announce: Callable[[Started], None], *, stop_with_stdin: bool = False) -> None:
    """Run a registry until SIGTERM or SIGINT; for children, also until standard input ends."""
    stopping = stopping_on_signals(stop_with_stdin=stop_with_stdin)
    server = RegistryServer(settings)
    try:
        server.start()
        announce(Started(server.url, len(server.registry.state.subject_names())))
        stopping.wait()
    finally:
        server.stop()
