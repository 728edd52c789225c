"""Fetch sessions as a cache: what a request means, what is news, who is evicted."""

from __future__ import annotations

from headrace.broker.fetch_sessions import EVICT_AFTER_MS, FetchSessions
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic


def request(
    session_id: int, epoch: int, partitions: dict[int, int] | None = None, forget: list[int] | None = None
) -> FetchRequest:
    topics = [
        FetchTopic(
            topic="t", partitions=[FetchPartition(partition=p, fetch_offset=o) for p, o in (partitions or {}).items()]
        )
    ]
    forgotten = [ForgottenTopic(topic="t", partitions=forget)] if forget else []
    return FetchRequest(
        session_id=session_id, session_epoch=epoch, topics=topics if partitions else [], forgotten_topics_data=forgotten
    )


def offsets(wanted) -> dict[int, int]:
    return {followed.key[1]: followed.fetch.fetch_offset for followed in wanted.partitions}


def test_without_a_session_every_request_stands_for_itself() -> None:
    sessions = FetchSessions(10)
    wanted = sessions.resolve(request(0, -1, {0: 5}), False, 0)
    assert (wanted.error, wanted.session_id, offsets(wanted), len(sessions)) == (ErrorCode.NONE, 0, {0: 5}, 0)


def test_a_session_remembers_changes_and_forgets_what_it_is_told_to() -> None:
    sessions = FetchSessions(10)
    opened = sessions.resolve(request(0, 0, {0: 5, 1: 7}), False, 0)
    assert opened.session_id and not opened.incremental
    second = sessions.resolve(request(opened.session_id, 1, {1: 8, 2: 0}), False, 1)
    assert second.incremental and offsets(second) == {0: 5, 1: 8, 2: 0}
    third = sessions.resolve(request(opened.session_id, 2, forget=[0, 2]), False, 2)
    assert offsets(third) == {1: 8}


def test_wrong_ids_and_epochs_are_refused_and_change_nothing() -> None:
    sessions = FetchSessions(10)
    opened = sessions.resolve(request(0, 0, {0: 5}), False, 0)
    assert sessions.resolve(request(opened.session_id + 1, 1), False, 0).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.resolve(request(opened.session_id, 7), False, 0).error == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert sessions.resolve(request(opened.session_id, 1), True, 0).error == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert sessions.resolve(request(opened.session_id, 1), False, 0).error == ErrorCode.NONE


def test_a_final_epoch_closes_the_session() -> None:
    sessions = FetchSessions(10)
    opened = sessions.resolve(request(0, 0, {0: 5}), False, 0)
    closing = sessions.resolve(request(opened.session_id, -1, {0: 6}), False, 0)
    assert closing.session_id == 0 and offsets(closing) == {0: 6} and len(sessions) == 0


def test_a_full_cache_evicts_only_what_was_not_used_for_a_while() -> None:
    sessions = FetchSessions(1)
    first = sessions.resolve(request(0, 0, {0: 5}), False, 0)
    assert sessions.resolve(request(0, 0, {0: 5}), False, EVICT_AFTER_MS - 1).session_id == 0
    second = sessions.resolve(request(0, 0, {0: 5}), False, EVICT_AFTER_MS)
    assert second.session_id not in (0, first.session_id) and sessions.evicted == 1


def test_a_served_partition_goes_to_the_end_and_only_news_is_news() -> None:
    sessions = FetchSessions(1)
    opened = sessions.resolve(request(0, 0, {0: 5, 1: 5, 2: 5}), False, 0)
    first = opened.partitions[0]
    assert first.news(9, 0) and not first.news(9, 0) and first.news(10, 0) and first.news(10, 3)
    assert opened.session is not None
    opened.session.served(first.key)
    assert list(offsets(sessions.resolve(request(opened.session_id, 1), False, 0))) == [1, 2, 0]


def test_epochs_wrap_around_to_one() -> None:
    sessions = FetchSessions(1)
    opened = sessions.resolve(request(0, 0, {0: 5}), False, 0)
    assert opened.session is not None
    opened.session.epoch = 2**31 - 1
    assert sessions.resolve(request(opened.session_id, 2**31 - 1), False, 0).error == ErrorCode.NONE
    assert opened.session.epoch == 1
