"""The cluster as pages see it: asynchronous questions and changes, over `headrace.admin`, never asked more often than they must be.

Everything that changes something goes through `change`, which refuses in read-only mode.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from headrace.admin import groups, log_dirs, reset, settings, topics, transactions
from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem, from_kafka, unknown_topic
from headrace.admin.positions import Partition
from headrace.console.asking import Asking
from headrace.console.history import History
from headrace.console.settings import ConsoleSettings

Answer = TypeVar("Answer")

METADATA_AGE_S = 4.0
STARTS_AGE_S = 20.0
SIZES_AGE_S = 15.0
SETTINGS_AGE_S = 30.0
GROUPS_AGE_S = 4.0
# Offsets of a cluster with many partitions are asked for less often: 1,000 partitions every 4 s, 10,000 every 40 s.
_PARTITIONS_PER_S = 250
_CHECK_AGAIN_S = 2.0


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic in a list. What the cluster does not tell is None."""

    name: str
    partitions: int
    replicas: int
    records: int | None
    bytes: int | None
    rate: float | None
    retention_ms: int | None = None
    retention_bytes: int | None = None
    policy: str | None = None


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group in a list; `lag` is None while it has committed nothing."""

    name: str
    state: str
    members: int
    topics: tuple[str, ...]
    lag: int | None
    growth: float | None


class LiveCluster:
    """One per console. `asking` bounds what is under way at once."""

    def __init__(self, chosen: ConsoleSettings, asking: Asking) -> None:
        self.settings = chosen
        self._asking = asking
        self._cluster = Cluster(chosen.bootstrap_servers, chosen.source, dict(chosen.kafka), chosen.timeout_s)
        self._checked_at = 0.0
        self.ends = History()
        self.lags = History()
        self.commits = History()

    @property
    def plain(self) -> Cluster:
        """For what reads on threads of its own."""
        return self._cluster

    async def ask(self, key: tuple[Any, ...], max_age_s: float, question: Callable[[Cluster], Answer]) -> Answer:
        return await self._asking.ask(key, max_age_s, lambda: self._checked(question))

    async def do(self, deed: Callable[[Cluster], Answer]) -> Answer:
        """A question whose answer nobody else wants."""
        return await self._asking.do(lambda: self._checked(deed))

    async def change(self, deed: Callable[[Cluster], Answer], *stale: str) -> Answer:
        """Do something that changes the cluster; answers of the kinds `stale` are asked for anew afterwards."""
        if self.settings.read_only:
            raise Problem("This console is read-only", "Start it without --read-only to change things")
        try:
            return await self._asking.do(lambda: self._checked(deed))
        finally:
            self._asking.forget(*stale)

    def _checked(self, question: Callable[[Cluster], Answer]) -> Answer:
        """With a quick look first whether anybody listens: librdkafka would wait for its whole timeout."""
        from confluent_kafka import KafkaException

        if time.monotonic() - self._checked_at > _CHECK_AGAIN_S:
            self._cluster.check_reachable()
        try:
            answer = question(self._cluster)
        except KafkaException as error:
            raise from_kafka(error.args[0]) from None
        self._checked_at = time.monotonic()
        return answer

    # Topics

    async def metadata(self) -> Any:
        """Brokers and topics."""
        return await self.ask(("metadata",), METADATA_AGE_S, lambda c: c.admin().list_topics(timeout=c.timeout_s))

    async def topics(self, *, internal: bool = False) -> dict[str, Any]:
        found = (await self.metadata()).topics
        return {name: found[name] for name in sorted(found) if internal or not name.startswith("__")}

    async def topic(self, name: str) -> Any:
        """Asked for anew before it is said not to be there: somebody may have just created it."""
        found = (await self.metadata()).topics
        if name not in found:
            self._asking.forget("metadata", "ends", "starts")
            found = (await self.metadata()).topics
        if name not in found:
            raise unknown_topic(name, found)
        return found[name]

    async def end_offsets(self) -> Mapping[Partition, int]:
        """Of all partitions, also noted in `ends` so that rates can be told."""
        known = (await self.metadata()).topics
        places = [(name, index) for name, topic in known.items() for index in topic.partitions]
        age_s = max(METADATA_AGE_S, len(places) / _PARTITIONS_PER_S)
        return await self.ask(("ends",), age_s, lambda c: self._note_ends(groups.end_offsets(c, places)))

    def _note_ends(self, found: dict[Partition, int]) -> dict[Partition, int]:
        self.ends.note(topics.per_topic(found))
        return found

    async def start_offsets(self) -> Mapping[Partition, int]:
        known = (await self.metadata()).topics
        places = sum(len(topic.partitions) for topic in known.values())
        age_s = max(STARTS_AGE_S, places / _PARTITIONS_PER_S)
        return await self.ask(("starts",), age_s, lambda c: topics.start_offsets(c, known))

    async def sizes(self) -> Mapping[Partition, int]:
        return await self.ask(("sizes",), SIZES_AGE_S, log_dirs.partition_sizes)

    async def disk(self) -> log_dirs.Space | None:
        return await self.ask(("disk",), SIZES_AGE_S, log_dirs.space)

    async def topic_rows(self, *, internal: bool = False) -> list[TopicRow]:
        """All topics, without their settings: see `with_settings` for those that are shown."""
        known = await self.topics(internal=internal)
        ends, starts, sizes = await self.end_offsets(), await self.start_offsets(), await self.sizes()
        records = topics.per_topic({place: end - starts[place] for place, end in ends.items() if place in starts})
        by_topic = topics.per_topic(sizes)
        return [
            TopicRow(
                name,
                len(topic.partitions),
                max((len(each.replicas) for each in topic.partitions.values()), default=0),
                records[name],
                by_topic[name] if sizes else None,
                self.ends.rate(name),
            )
            for name, topic in known.items()
        ]

    async def topic_settings(self, names: Sequence[str]) -> dict[str, list[settings.Entry]]:
        wanted = tuple(names)
        return await self.ask(("settings", wanted), SETTINGS_AGE_S, lambda c: settings.of_topics(c, wanted))

    async def create_topic(self, name: str, partitions: int, replicas: int, given: Mapping[str, str]) -> None:
        await self.change(lambda c: topics.create(c, [name], partitions, replicas, given), "metadata", "ends", "starts")

    async def delete_topic(self, name: str) -> None:
        await self.change(lambda c: topics.delete(c, [name]), "metadata", "ends", "starts", "settings")

    async def alter_topic(self, name: str, assign: Mapping[str, str], unset: Iterable[str]) -> None:
        await self.change(lambda c: settings.alter(c, "topic", name, assign, unset), "settings")

    # Groups

    async def groups(self) -> dict[str, tuple[Any, list[groups.Progress]]]:
        """Description and progress of every group, also noted in `lags`."""
        return await self.ask(("groups",), GROUPS_AGE_S, self._all_groups)

    def _all_groups(self, cluster: Cluster) -> dict[str, tuple[Any, list[groups.Progress]]]:
        names = list(groups.listed(cluster))
        described = groups.described(cluster, names) if names else {}
        progress = groups.progress(cluster, described)
        self.lags.note({name: lag for name, rows in progress.items() if (lag := total_lag(rows)) is not None})
        self.commits.note({name: sum(row.committed or 0 for row in rows) for name, rows in progress.items() if rows})
        return {name: (described[name], progress[name]) for name in described}

    async def group_rows(self) -> list[GroupRow]:
        return [
            GroupRow(
                name,
                groups.state_name(description),
                len(description.members),
                tuple(sorted({row.topic for row in rows})),
                total_lag(rows),
                self.lags.rate(name),
            )
            for name, (description, rows) in (await self.groups()).items()
        ]

    async def preview_reset(self, group: str, chosen: Sequence[str], target: reset.Target) -> list[reset.Move]:
        return await self.do(lambda c: reset.plan(c, group, groups.committed(c, group), chosen, target))

    async def reset_group(self, group: str, moves: Sequence[reset.Move]) -> None:
        await self.change(lambda c: reset.apply(c, group, moves), "groups")

    async def delete_group(self, group: str) -> None:
        await self.change(lambda c: groups.delete(c, [group]), "groups")

    # Transactions

    async def transactions(self) -> list[transactions.Transaction]:
        return await self.ask(("transactions",), GROUPS_AGE_S, transactions.listed)

    async def hanging(self, older_than_ms: int) -> list[transactions.OpenTransaction]:
        return await self.do(lambda c: transactions.hanging(c, None, older_than_ms))

    async def abort_transaction(self, name: str) -> None:
        def abort(cluster: Cluster) -> None:
            (found,) = transactions.described(cluster, [name])
            transactions.require_open(found)
            transactions.abort_by_id(cluster, found)

        await self.change(abort, "transactions")


def total_lag(rows: Iterable[groups.Progress]) -> int | None:
    lags = [row.lag for row in rows if row.lag is not None]
    return sum(lags) if lags else None
