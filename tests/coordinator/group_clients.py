"""Consumers as the group machine plays them: they know what they were told and nothing else."""

from __future__ import annotations

from typing import Any

from headrace.wire.errors import ErrorCode
from tests.coordinator.driver import Driver, Ticket, subscription

LOST = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)


class Client:
    """One process. `step` does what a well-behaved consumer does next; the machine also makes it misbehave."""

    def __init__(self, d: Driver, group: str, instance: str | None, **options: Any) -> None:
        self.d = d
        self.group = group
        self.instance = instance
        self.options = options
        self.protocols = {"range": subscription("t")}
        self.sent = 0
        self.forget()

    def forget(self) -> None:
        """The process starts anew."""
        self.member_id = ""
        self.generation = -1
        self.protocol: str | None = None
        self.members: list[str] = []
        self.assignment: bytes | None = None
        self.joining: Ticket | None = None
        self.syncing: Ticket | None = None
        self.is_in = False
        """It has joined the generation that it knows, and has not heard of another."""

    @property
    def waits(self) -> bool:
        return self.joining is not None or self.syncing is not None

    def hang_up(self) -> None:
        """The connection is gone, and with it all answers that were to come."""
        self.joining = self.syncing = None
        self.is_in = False

    def join(self, protocols: dict[str, bytes] | None = None) -> None:
        self.protocols = protocols or self.protocols
        self.is_in, self.syncing, self.assignment = False, None, None
        self.joining = self.d.join(
            self.member_id, group=self.group, instance=self.instance, protocols=self.protocols, **self.options
        )
        self.listen()

    def sync(self, generation: int | None = None) -> None:
        self.sent += 1
        assignments = {each: f"{each}#{self.generation}.{self.sent}".encode() for each in self.members[self.sent % 2 :]}
        self.syncing = self.d.sync(
            self.member_id,
            self.generation if generation is None else generation,
            assignments,
            group=self.group,
            instance=self.instance,
            protocol=self.protocol,
        )
        self.listen()

    def heartbeat(self) -> ErrorCode:
        answer = self.d.heartbeat(self.member_id, self.generation, group=self.group, instance=self.instance)
        if answer is not ErrorCode.NONE:
            self.is_in = False
            if answer in LOST:
                self.forget()
        return answer

    def listen(self) -> None:
        if self.joining is not None and self.joining.response is not None:
            ticket, self.joining = self.joining, None
            self._joined(ticket)
        if self.syncing is not None and self.syncing.response is not None:
            ticket, self.syncing = self.syncing, None
            if ticket.error is ErrorCode.NONE:
                self.assignment = ticket.response.assignment
            else:
                self.is_in = False
                if ticket.error in LOST:
                    self.forget()

    def _joined(self, ticket: Ticket) -> None:
        if ticket.error in LOST:
            self.forget()
        elif ticket.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = ticket.response.member_id
        elif ticket.error is ErrorCode.NONE:
            self.is_in = True
            self.member_id = ticket.response.member_id
            self.generation = ticket.response.generation_id
            self.protocol = ticket.response.protocol_name
            skips = ticket.response.skip_assignment
            self.members = [] if skips else [each.member_id for each in ticket.response.members]

    def step(self) -> None:
        self.listen()
        if self.waits:
            return
        if not self.is_in:
            self.join()
        elif self.assignment is None:
            self.sync()
        else:
            self.heartbeat()
