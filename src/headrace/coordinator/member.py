"""One member of a classic group, as its JoinGroup request described it."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.coordinator.result import Token
from headrace.coordinator.timers import Timer

NO_ASSIGNMENT = b""

Protocols = dict[str, bytes]
"""The assignors a member can follow, the preferred first, each with the member's metadata for it."""


class Member:
    """Durable: ids, client, timeouts, the chosen protocol's metadata, assignment. Everything else dies with the process."""

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_new",
        "join_token",
        "member_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session",
        "session_timeout_ms",
        "sync_token",
    )

    def __init__(
        self,
        member_id: str,
        *,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: Protocols,
        assignment: bytes = NO_ASSIGNMENT,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.assignment = assignment
        self.join_token: Token | None = None
        """The JoinGroup request that waits for the group; set through ClassicGroup, which counts the waiting."""
        self.sync_token: Token | None = None
        self.is_new = False
        """Set until the first join response: such a member does not know its id and cannot heartbeat."""
        self.session: Timer | None = None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Whoever waits for the group is alive, except a new member, whose client may be long gone."""
        return not self.is_new and (self.join_token is not None or self.sync_token is not None)

    def vote(self, candidates: Iterable[str]) -> str:
        """The first of this member's protocols that all can follow."""
        return next(name for name in self.protocols if name in candidates)

    def same_protocols(self, protocols: Protocols) -> bool:
        """Order counts: another preference is another subscription."""
        return list(self.protocols.items()) == list(protocols.items())

    def renamed(self, member_id: str) -> Member:
        """The same static member under the id of its new incarnation."""
        return Member(
            member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            session_timeout_ms=self.session_timeout_ms,
            protocol_type=self.protocol_type,
            protocols=self.protocols,
            assignment=self.assignment,
        )
