"""A registry in this process: what it knows, who leads, how a change gets into the topic. Put together from the parts; without HTTP."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from headrace.registry.election import Election
from headrace.registry.errors import StartFailure
from headrace.registry.parsing import Parser
from headrace.registry.settings import RegistrySettings
from headrace.registry.state import SharedState
from headrace.registry.topic import Read, TopicReader, ensure
from headrace.registry.writer import Change, Writer

log = logging.getLogger(__name__)


class Registry:
    """Reads are answered from `state`; changes go through `submit` on the instance that leads."""

    def __init__(self, settings: RegistrySettings, port: int) -> None:
        self.settings = settings
        self.defaults = settings.defaults
        self.state = SharedState()
        self.parser = Parser()
        self.candidacy = settings.candidacy(port)
        topic = settings.topic
        self._reader = TopicReader(topic, self._take)
        self._writer = Writer(topic, self.state, self._reader, on_lost=lambda: self._election.resign())
        self._election = Election(topic, self.candidacy, self._chosen, self._writer.stop)

    def start(self) -> None:
        """Read everything, then stand for election. Returns when reads can be answered."""
        ensure(self.settings.topic)
        self._reader.start()
        timeout_s = self.settings["kafkastore.init.timeout.ms"] / 1000
        if not self._reader.wait_until_loaded(timeout_s):
            self._reader.close()
            raise StartFailure(
                f"{self.settings['kafkastore.topic']} could not be read within {timeout_s:.0f} s: {self._reader.failure}"
            )
        for (subject, version), complaint in self.state.complaints.items():
            log.error("subject %s, version %s is left alone: %s", subject, version, complaint)
        self._election.start()

    def close(self) -> None:
        self._election.close()
        self._writer.stop("the registry is stopping")
        self._reader.close()

    @property
    def leading(self) -> bool:
        return self._writer.leading

    @property
    def leader_url(self) -> str | None:
        """Where the leader answers, when it is another instance and known."""
        return None if self.leading else self._election.leader_url

    @property
    def skipped(self) -> int:
        """Records of the topic that are left alone."""
        return self._reader.skipped

    def problems(self) -> list[str]:
        """Why reads or writes do not work at the moment, as sentences."""
        found = [self._reader.failure, self._election.problem]
        if not self.leading and self._election.leader_url is None:
            found.append(self._writer.problem or "no leader is known yet; writes wait for one")
        return [text for text in found if text]

    def submit(self, change: Change) -> Future[Any]:
        return self._writer.submit(change)

    def _take(self, read: Sequence[Read]) -> None:
        self.state.apply_all(each.record for each in read)
        self._writer.observe(read)

    def _chosen(self) -> None:
        self._writer.lead(self._election.ready)
