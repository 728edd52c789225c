"""What a handler may know about the request besides its body."""

from __future__ import annotations


class RequestContext:
    """One request's surroundings. Handlers read it; nobody changes it."""

    __slots__ = (
        "api_version",
        "client_host",
        "client_id",
        "connection_id",
        "listener_name",
        "on_this_machine",
        "principal",
    )

    def __init__(
        self,
        api_version: int,
        client_id: str | None,
        client_host: str = "127.0.0.1",
        connection_id: str = "",
        listener_name: str = "PLAINTEXT",
        principal: str = "User:ANONYMOUS",
    ) -> None:
        self.api_version = api_version
        self.client_id = client_id
        self.client_host = client_host
        self.connection_id = connection_id
        self.listener_name = listener_name
        self.principal = principal
        self.on_this_machine = client_host.removeprefix("::ffff:").startswith("127.") or client_host == "::1"
