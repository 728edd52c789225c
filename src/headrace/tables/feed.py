"""The thread that reads a changelog topic into a store.

Owns the consumer, and is the only writer of the store. Every `refresh_s` it asks the cluster about the topic, so that a topic
that appears, disappears, gains partitions or is created anew is noticed; in between it only reads. A store that does not fit
its topic any more is emptied and filled again:

- the topic has another id: it was deleted and created again;
- a partition does not have the offset that comes next: the log was truncated, or its retention went past it;
- the table was away for longer than the topic keeps tombstones: it may have missed that a key was deleted.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace import client
from headrace.clock import Clock
from headrace.tables.changelog import Trouble, collect
from headrace.tables.progress import Progress, State, reached
from headrace.tables.store import Changes, Origin, Store
from headrace.tables.topic import ChangelogTopic, TopicClosed, TopicDescription

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

POLL_S = 0.1
CHUNK_RECORDS = 1_000  # taken from the client at once; in between, other threads get their turn
REQUEST_S = 10.0
# A running table meets its topic every few seconds. That alone must not look like an absence, however short tombstones live.
SHORTEST_ABSENCE_MS = 60_000

_log = logging.getLogger(__name__)


class Feed:
    """See the module. `start` once, `close` once."""

    def __init__(
        self,
        bootstrap_servers: str,
        topic: ChangelogTopic,
        store: Store,
        places: str,
        progress: Progress,
        *,
        settings: Mapping[str, Any],
        refresh_s: float,
        clock: Clock,
    ) -> None:
        self._topic = topic
        self._store = store
        self._places = places
        self._progress = progress
        self._refresh_s = refresh_s
        self._clock = clock
        self._stopping = threading.Event()
        self._refresh_at = 0.0
        self._in_contact = False
        self._assigned: TopicDescription | None = None
        self._delete_retention_ms = 0
        self._sample: tuple[int, dict[int, int]] | None = None
        fixed = {"isolation.level": topic.isolation_level, "enable.partition.eof": True, "auto.offset.reset": "error"}
        self._consumer: Consumer = client.consumer(bootstrap_servers, None, {**settings, **fixed})
        self._thread = threading.Thread(target=self._run, name=f"headrace-table-{topic.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def refresh(self) -> None:
        """Look at the topic again soon."""
        self._refresh_at = 0.0

    def close(self) -> None:
        """Stop reading, and wait for the thread to end."""
        self._stopping.set()
        self._topic.stop()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                if time.monotonic() >= self._refresh_at:
                    self._look()
                if self._assigned is None:
                    self._stopping.wait(min(POLL_S, self._refresh_s))
                else:
                    self._read()
            self._mark_current()
        except TopicClosed:
            _log.debug("the table of topic %s was closed while it asked its cluster", self._topic.name)
        except BaseException as error:
            _log.exception("the table of topic %s has stopped", self._topic.name)
            self._progress.fail(error)
        finally:
            self._consumer.close()

    # What the cluster says about the topic.

    def _look(self) -> None:
        from confluent_kafka import KafkaException

        self._refresh_at = time.monotonic() + self._refresh_s
        try:
            found = self._topic.describe(REQUEST_S)
            if found is None:
                self._leave()
            else:
                self._meet(found)
        except KafkaException as error:
            self._in_contact = False
            self._progress.update(last_error=error.args[0].str())

    def _leave(self) -> None:
        """The topic is not there. The rows stay: if the same topic is seen again, reading goes on where it was."""
        if self._assigned is not None:
            _log.warning("topic %s does not exist any more; look-ups in its table are refused", self._topic.name)
            self._consumer.unassign()
        self._assigned = None
        self._progress.update(state=State.MISSING, last_error="")

    def _meet(self, found: TopicDescription) -> None:
        """The topic is there. Begins reading it, or reads on, or reads what it has gained."""
        known = self._assigned
        if known is None or known.topic_id != found.topic_id:
            self._delete_retention_ms = self._topic.delete_retention_ms(REQUEST_S)
            self._begin(found, self._misfit(found.topic_id, 0))
        elif not self._in_contact and (reason := self._misfit(found.topic_id, SHORTEST_ABSENCE_MS)):
            self._begin(found, reason)
        elif known.partitions != found.partitions:
            self._grow(known, found)
        self._in_contact = True
        self._progress.update(last_error="")
        self._follow(found)

    def _misfit(self, topic_id: str, shortest_ms: int) -> str:
        """Why the store cannot go on from where it is; empty when it can."""
        origin = self._store.origin()
        if origin is None:
            return "it is new"
        if origin.topic_id != topic_id or not topic_id:
            return "the topic was deleted and created again"
        if origin.isolation_level != self._topic.isolation_level or origin.places != self._places:
            return "it was written with another isolation level, key order or retention"
        if not self._store.position():
            return ""  # nothing was read yet, so nothing was missed
        away_ms = self._clock.now_ms() - origin.current_at_ms
        if away_ms > max(shortest_ms, self._delete_retention_ms):
            return f"it was away for {away_ms} ms, and the topic keeps tombstones for {self._delete_retention_ms} ms"
        return ""

    def _begin(self, found: TopicDescription, misfit: str) -> None:
        """Read from where the store is, or from the beginning if it does not fit."""
        targets = self._topic.end_offsets(found.partitions, REQUEST_S)
        if misfit:
            self._reset(found, misfit)
        self._assign(found)
        self._sample = None
        self._progress.load(found.topic_id, self._store.position(), targets)
        origin = self._store.origin()
        if origin is not None and origin.complete:
            self._progress.update(state=State.SERVING)
        else:
            self._finish_loading()

    def _reset(self, found: TopicDescription, misfit: str) -> None:
        previous = self._store.origin()
        if previous is not None and (previous.complete or self._store.position()):
            _log.warning("the table of topic %s is filled again: %s", self._topic.name, misfit)
            rebuilds = self._progress.status.rebuilds + 1
            self._progress.update(state=State.LOADING, rebuilds=rebuilds, rebuild_reason=misfit)
        now = self._clock.now_ms()
        self._store.reset(Origin(found.topic_id, self._topic.isolation_level, self._places, False, now))

    def _assign(self, found: TopicDescription) -> None:
        from confluent_kafka import TopicPartition

        position, epochs = self._store.position(), self._store.epochs()
        # Asked for here and not left to the client: it would begin with the partition that is ready first, and the others
        # would wait until a fetch of that one has waited for records that are not there.
        starts = self._topic.start_offsets(set(found.partitions) - set(position), REQUEST_S)
        offsets = {**starts, **position}
        # The epoch lets the client notice that the log was truncated and has grown again; -1 is none.
        begins = [
            TopicPartition(self._topic.name, each, offsets[each], leader_epoch=epochs.get(each, -1))
            for each in found.partitions
        ]
        self._consumer.assign(begins)
        self._assigned = found

    def _grow(self, known: TopicDescription, found: TopicDescription) -> None:
        """New partitions are read from their beginning; what is known of the others stays."""
        warning = (
            f"topic {self._topic.name!r} went from {len(known.partitions)} to {len(found.partitions)} partitions: keys that "
            "moved have a row in both, and the one read last counts. Copy the table into a topic with the new number"
        )
        _log.warning("%s", warning)
        self._consumer.list_topics(self._topic.name, REQUEST_S)  # or the client would learn of them at some later time
        self._assign(found)
        self._progress.update(warning=warning)

    # The records.

    def _read(self) -> None:
        changes = Changes()
        loading = self._progress.status.state is State.LOADING
        enough = self._store.load_records if loading else self._store.batch_records
        try:
            while changes.records < enough:
                # A table that loads waits for more before it writes; one that serves shows at once what there is.
                wait = not changes.offsets or (loading and not self._progress.loaded(changes.offsets))
                messages = self._next(wait)
                if not messages:
                    break
                skipped = collect(messages, changes)
                if skipped:
                    self._progress.update(skipped=self._progress.status.skipped + skipped)
        except Trouble as trouble:
            self._apply(changes)
            self._mend(trouble)
            return
        self._apply(changes)

    def _next(self, wait: bool) -> list[Message]:
        """What the client has fetched; if that is nothing and `wait` says so, the first that comes within a moment."""
        messages = self._consumer.consume(CHUNK_RECORDS, 0)
        if messages or not wait:
            return messages
        first = self._consumer.poll(POLL_S)
        return [] if first is None else [first]

    def _apply(self, changes: Changes) -> None:
        if not changes.offsets:
            return
        position = self._store.apply(changes)
        self._progress.update(position=position, records=self._progress.status.records + changes.records)
        if self._progress.status.state is State.LOADING:
            self._finish_loading()

    def _finish_loading(self) -> None:
        if not self._progress.loaded():
            return
        origin = self._store.origin()
        assert origin is not None, "a table that loads has an origin"
        self._store.mark(replace(origin, complete=True))
        self._progress.update(state=State.SERVING)

    def _mend(self, trouble: Trouble) -> None:
        """What the consumer cannot go on from by itself."""
        from confluent_kafka import KafkaError, KafkaException

        code = trouble.error.code()
        if code in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION):
            self._rebuild(str(trouble))
        elif trouble.error.fatal():
            raise KafkaException(trouble.error)
        else:
            self._progress.update(last_error=str(trouble))
            self._refresh_at = min(self._refresh_at, time.monotonic() + min(1.0, self._refresh_s))

    def _rebuild(self, trouble: str) -> None:
        """The next offset is not in the log. The store is worthless from here on, whether or not the cluster answers now."""
        found = self._assigned
        assert found is not None, "a partition with an error is assigned"
        self._consumer.unassign()
        self._assigned = None
        self._reset(found, f"the log does not have the offset that comes next ({trouble})")
        self._refresh_at = 0.0

    # When the table was last known to have all of it.

    def _follow(self, found: TopicDescription) -> None:
        """Sample where the topic ends; once the table is there, it was current at the time of the sample."""
        self._mark_current()
        if self._sample is None:
            now = self._clock.now_ms()
            self._sample = (now, self._topic.end_offsets(found.partitions, REQUEST_S))
            self._mark_current()

    def _mark_current(self) -> None:
        origin = self._store.origin()
        if self._sample is None or origin is None or not reached(self._store.position(), self._sample[1]):
            return
        self._store.mark(replace(origin, current_at_ms=max(origin.current_at_ms, self._sample[0])))
        self._sample = None
