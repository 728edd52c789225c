"""Who leads: the member of the registries' group that owns the only partition of `_schemas`. Followers learn where the leader answers from the group's
committed offset, whose metadata the leader writes: the coordinator takes it from the present owner only.

The group has the name that Confluent's registry uses with a protocol of its own, so the coordinator refuses whoever comes second: the two never write side by side.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace import client
from headrace.registry.topic import TopicSettings

if TYPE_CHECKING:
    from confluent_kafka import Consumer

log = logging.getLogger(__name__)
# The least that brokers allow: writes wait this long at most after a leader is gone.
SESSION_TIMEOUT_MS = 6_000
ASK_INTERVAL_S = 1.0
POLL_S = 0.1


@dataclass(frozen=True)
class Candidacy:
    """A registry that may lead. `instance` is the same after a restart, so that it takes its place at once."""

    group: str
    instance: str
    url: str
    eligible: bool = True


class Election:
    """One thread that is a member of the group, and tells when this instance is chosen or replaced."""

    def __init__(
        self,
        topic: TopicSettings,
        candidacy: Candidacy,
        on_chosen: Callable[[], None],
        on_replaced: Callable[[str], None],
    ) -> None:
        self._topic = topic
        self._candidacy = candidacy
        self._on_chosen = on_chosen
        self._on_replaced = on_replaced
        self._closing = threading.Event()
        self._leads = threading.Event()
        self._resigning = threading.Event()
        self._thread = threading.Thread(target=self._run, name="registry-election", daemon=True)
        self.leader_url: str | None = None
        """Where the leader answers, as far as is known."""
        self.problem: str | None = None

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def ready(self) -> None:
        """The chosen instance is ready to write; followers may be told."""
        self._leads.set()

    def resign(self) -> None:
        """Give the lead back: the topic has taken another's word."""
        self._resigning.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._take_part()
                self.problem = None
            except Exception as error:
                self.problem = f"cannot take part in choosing a leader: {error}"
                log.warning("%s", self.problem)
                self._closing.wait(1.0)

    def _take_part(self) -> None:
        """Be a member until told to close or to resign."""
        member = client.consumer(self._topic.bootstrap_servers, self._candidacy.group, self._membership())
        changes: list[bool] = []
        if self._candidacy.eligible:
            member.subscribe(
                [self._topic.name],
                on_assign=lambda _member, partitions: changes.extend([True] if partitions else []),
                on_revoke=lambda _member, _partitions: changes.append(False),
                on_lost=lambda _member, _partitions: changes.append(False),
            )
        chosen = False
        try:
            while not self._closing.is_set() and not self._resigning.is_set():
                self._poll(member)
                if changes and changes[-1] != chosen:
                    chosen = changes[-1]
                    self._changed(chosen)
                changes.clear()
                self._tell_or_ask(member, chosen)
        finally:
            self._resigning.clear()
            if chosen:
                self._changed(False)
            member.close()

    def _poll(self, member: Consumer) -> None:
        if not self._candidacy.eligible:
            self._closing.wait(POLL_S)
            return
        message = member.poll(POLL_S)
        error = message.error() if message is not None else None
        if error is not None and error.fatal():
            raise RuntimeError(f"another registry took this one's place ({self._candidacy.instance}): {error.str()}")

    def _changed(self, chosen: bool) -> None:
        self._leads.clear()
        self._told = False
        self._asked = 0.0
        self.leader_url = None
        if chosen:
            self._on_chosen()
        else:
            self._on_replaced("another registry leads")

    _told = False
    _asked = 0.0

    def _tell_or_ask(self, member: Consumer, chosen: bool) -> None:
        if chosen:
            if self._leads.is_set() and not self._told:
                self._tell(member)
        elif time.monotonic() - self._asked >= ASK_INTERVAL_S:
            self._asked = time.monotonic()
            self.leader_url = self._ask(member)

    def _tell(self, member: Consumer) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        words = json.dumps({"url": self._candidacy.url, "instance": self._candidacy.instance})
        try:
            member.commit(offsets=[TopicPartition(self._topic.name, 0, 0, words)], asynchronous=False)
        except KafkaException as error:
            # A rebalance is under way: the next round knows who leads.
            log.info("followers could not be told who leads: %s", error)
            return
        self._told = True
        self.leader_url = self._candidacy.url

    def _ask(self, member: Consumer) -> str | None:
        from confluent_kafka import KafkaException, TopicPartition

        try:
            found = member.committed([TopicPartition(self._topic.name, 0)], timeout=5)
            words = json.loads(found[0].metadata or "{}")
            url = words.get("url") if isinstance(words, dict) else None
        except (KafkaException, ValueError):
            return self.leader_url
        return url if isinstance(url, str) and url != self._candidacy.url else None

    def _membership(self) -> dict[str, Any]:
        return {
            **(self._topic.kafka or {}),
            "group.instance.id": self._candidacy.instance,
            # A follower that joins must not take the partition from the leader, not even for a moment.
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": SESSION_TIMEOUT_MS,
            "heartbeat.interval.ms": SESSION_TIMEOUT_MS // 4,
            "enable.auto.commit": False,
            "auto.offset.reset": "latest",
            "topic.metadata.refresh.interval.ms": 5_000,
        }
