"""Every kind of anomaly in a history as small as it gets, next to one that looks like it and is fine."""

from __future__ import annotations

import pytest

from headrace.verify.anomalies import MEANING, Kind
from headrace.verify.checker import check
from tests.verify.notebook import Notebook


@pytest.fixture
def history() -> Notebook:
    return Notebook()


def transaction(history: Notebook, txn: str = "w/1#1", *, partition: str = "in/0", offset: int = 0) -> str:
    """One acknowledged record in a transaction that is still open; returns its value."""
    value = f"{txn}-{partition}-{offset}"
    history.send(value, offset, txn=txn, session=txn.partition("#")[0], partition=partition)
    return value


def test_every_kind_has_a_meaning() -> None:
    assert set(MEANING) == set(Kind)


def test_a_good_history(history: Notebook) -> None:
    history.init("w/1")
    value = transaction(history)
    history.finish("w/1#1")
    history.send("plain", 2, session="p/1")
    history.poll(("in/0", 0, value), ("in/0", 2, "plain"))
    history.final(("in/0", 0, value), ("in/0", 2, "plain"))
    verdict = check(history.events)
    assert verdict.anomalies == ()
    assert verdict.complete
    assert verdict.counts["commit"] == {"ok": 1}


def test_lost_write(history: Notebook) -> None:
    history.send("a", 0)
    history.final()
    assert history.kinds() == ["lost write"]


def test_a_write_that_timed_out_may_be_lost_or_not(history: Notebook) -> None:
    history.send("a", None, "unknown")
    history.send("b", None, "unknown")
    history.invoke("w/1", "send", value="c", partition="in/0", session="w/1", txn=None)
    history.final(("in/0", 0, "b"))
    assert history.kinds() == []


def test_lost_transaction(history: Notebook) -> None:
    transaction(history)
    history.finish("w/1#1")
    history.final()
    assert history.kinds() == ["lost write"]


def test_a_commit_that_timed_out_may_be_lost(history: Notebook) -> None:
    transaction(history)
    history.finish("w/1#1", "unknown")
    history.final()
    assert history.kinds() == []


def test_a_read_record_that_is_gone(history: Notebook) -> None:
    history.send("a", None, "unknown")
    history.poll(("in/0", 0, "a"), isolation="read_uncommitted")
    history.final()
    assert history.kinds() == ["lost write"]


def test_without_a_final_read_nothing_is_called_lost(history: Notebook) -> None:
    history.send("a", 0)
    assert history.kinds() == []
    assert not check(history.events).complete


def test_duplicate(history: Notebook) -> None:
    history.send("a", None, "unknown")
    history.final(("in/0", 0, "a"), ("in/0", 1, "a"))
    assert history.kinds() == ["duplicate"]


def test_an_input_transformed_twice(history: Notebook) -> None:
    for number in (1, 2):
        history.send(f"out{number}", number, txn=f"t/1#{number}", session="t/1", partition="out/0", source=["in/0", 0])
        history.finish(f"t/1#{number}")
    history.send("a", 0)
    history.final(("in/0", 0, "a"), ("out/0", 1, "out1"), ("out/0", 2, "out2"))
    assert history.kinds() == ["duplicate"]


def test_an_input_transformed_again_after_an_abort(history: Notebook) -> None:
    history.send("a", 0)
    for number in (1, 2):
        history.send(f"out{number}", number, txn=f"t/1#{number}", session="t/1", partition="out/0", source=["in/0", 0])
        history.finish(f"t/1#{number}", commit=number == 2)
    history.final(("in/0", 0, "a"), ("out/0", 2, "out2"), uncommitted=(("out/0", 1, "out1"),))
    history.committed(in_0=1)
    assert history.kinds() == []


def test_an_input_that_was_skipped(history: Notebook) -> None:
    history.send("a", 0)
    history.final(("in/0", 0, "a"))
    history.committed(in_0=1)
    assert history.kinds() == ["skipped input"]


def test_an_input_that_is_still_to_do(history: Notebook) -> None:
    history.send("a", 0)
    history.final(("in/0", 0, "a"))
    history.committed(in_0=0)
    assert history.kinds() == []


def test_phantom(history: Notebook) -> None:
    history.final(("in/0", 0, "nobody's"))
    assert history.kinds() == ["phantom record"]


def test_a_refused_write_that_is_there(history: Notebook) -> None:
    history.send("a", None, "fail")
    history.final(("in/0", 0, "a"))
    assert history.kinds() == ["phantom record"]


def test_moved_record(history: Notebook) -> None:
    history.send("a", 0)
    history.final(("in/0", 1, "a"))
    assert history.kinds() == ["moved record"]


def test_two_records_at_one_offset(history: Notebook) -> None:
    history.send("a", None, "unknown")
    history.send("b", 1)
    history.poll(("in/0", 1, "a"))
    history.final(("in/0", 0, "a"), ("in/0", 1, "b"))
    assert history.kinds() == ["moved record"]


def test_reordered_write(history: Notebook) -> None:
    first = history.invoke("w", "send", value="a", partition="in/0", session="w/1", txn=None)
    second = history.invoke("w", "send", value="b", partition="in/0", session="w/1", txn=None)
    history.end(second, offset=0)
    history.end(first, offset=1)
    history.final(("in/0", 0, "b"), ("in/0", 1, "a"))
    assert history.kinds() == ["reordered write"]


def test_writes_of_two_producers_may_overtake(history: Notebook) -> None:
    first = history.invoke("v", "send", value="a", partition="in/0", session="v/1", txn=None)
    history.send("b", 0)
    history.end(first, offset=1)
    history.final(("in/0", 0, "b"), ("in/0", 1, "a"))
    assert history.kinds() == []


def test_acknowledged_offset_went_back(history: Notebook) -> None:
    history.send("a", 1, session="v/1")
    history.send("b", 0, session="w/1")
    history.final(("in/0", 0, "b"), ("in/0", 1, "a"))
    assert history.kinds() == ["offset went back"]


def test_committed_offset_went_back(history: Notebook) -> None:
    history.committed(in_0=5)
    history.committed(in_0=4)
    assert history.kinds() == ["offset went back"]


def test_committed_offset_behind_a_committed_transaction(history: Notebook) -> None:
    history.did("t", "offsets", txn="t/1#1", group="g", offsets={"in/0": 3}, producer="t", session="t/1")
    history.finish("t/1#1")
    history.committed(in_0=2)
    assert history.kinds() == ["offset went back"]


def test_committed_offset_behind_an_aborted_transaction(history: Notebook) -> None:
    history.did("t", "offsets", txn="t/1#1", group="g", offsets={"in/0": 3}, producer="t", session="t/1")
    history.finish("t/1#1", commit=False)
    history.committed(in_0=2)
    assert history.kinds() == []


def test_aborted_read(history: Notebook) -> None:
    value = transaction(history)
    history.finish("w/1#1", commit=False)
    history.poll(("in/0", 0, value))
    history.final(uncommitted=(("in/0", 0, value),))
    assert history.kinds() == ["aborted read"]


def test_aborted_read_at_the_end(history: Notebook) -> None:
    value = transaction(history)
    history.finish("w/1#1", "unknown", commit=False)
    history.final(("in/0", 0, value))
    assert history.kinds() == ["aborted read"]


def test_read_uncommitted_may_see_aborted_records(history: Notebook) -> None:
    value = transaction(history)
    history.poll(("in/0", 0, value), isolation="read_uncommitted")
    history.finish("w/1#1", commit=False)
    history.final(uncommitted=(("in/0", 0, value),))
    assert history.kinds() == []


def test_dirty_read(history: Notebook) -> None:
    value = transaction(history)
    history.poll(("in/0", 0, value))
    history.finish("w/1#1")
    history.final(("in/0", 0, value))
    assert history.kinds() == ["dirty read"]


def test_a_read_during_the_commit(history: Notebook) -> None:
    value = transaction(history)
    end = history.invoke("w/1", "end", txn="w/1#1", commit=True, producer="w", session="w/1")
    history.poll(("in/0", 0, value))
    history.end(end)
    history.final(("in/0", 0, value))
    assert history.kinds() == []


@pytest.mark.parametrize("outcome", ["ok", "unknown"])
def test_torn_transaction(history: Notebook, outcome: str) -> None:
    shown = transaction(history, partition="in/0")
    hidden = transaction(history, partition="in/1")
    history.finish("w/1#1", outcome)
    history.final(("in/0", 0, shown), uncommitted=(("in/1", 0, hidden),))
    assert history.kinds() == ["torn transaction"]


def test_records_without_their_offsets(history: Notebook) -> None:
    history.send("a", 0)
    history.send("out", 0, txn="t/1#1", session="t/1", partition="out/0", source=["in/0", 0])
    history.did("t", "offsets", txn="t/1#1", group="g", offsets={"in/0": 1}, producer="t", session="t/1")
    history.finish("t/1#1", "unknown")
    history.final(("in/0", 0, "a"), ("out/0", 0, "out"))
    history.committed(in_0=0)
    assert history.kinds() == ["torn transaction"]


def test_an_unacknowledged_record_tears_nothing(history: Notebook) -> None:
    shown = transaction(history)
    history.send("never", None, "unknown", txn="w/1#1")
    history.finish("w/1#1", "unknown")
    history.final(("in/0", 0, shown))
    assert history.kinds() == []


def test_commit_after_fencing(history: Notebook) -> None:
    history.init("w/1")
    value = transaction(history)
    history.init("w/2")
    history.finish("w/1#1")
    history.final(("in/0", 0, value))
    assert history.kinds() == ["write after fencing"]


def test_send_after_fencing(history: Notebook) -> None:
    history.init("w/1")
    history.init("w/2")
    value = transaction(history)
    history.finish("w/1#1", "unknown", commit=False)
    history.final(uncommitted=(("in/0", 0, value),))
    assert history.kinds() == ["write after fencing"]


def test_a_commit_that_overlaps_the_takeover(history: Notebook) -> None:
    history.init("w/1")
    value = transaction(history)
    end = history.invoke("w/1", "end", txn="w/1#1", commit=True, producer="w", session="w/1")
    history.init("w/2")
    history.end(end)
    history.final(("in/0", 0, value))
    assert history.kinds() == []


def test_a_takeover_that_timed_out_fences_nobody_for_sure(history: Notebook) -> None:
    history.init("w/1")
    history.did("w/2", "init", "unknown", producer="w", session="w/2", version=1)
    value = transaction(history)
    history.finish("w/1#1")
    history.final(("in/0", 0, value))
    assert history.kinds() == []


def test_hanging_transaction(history: Notebook) -> None:
    history.final(unstable=["in/0: 3 < 5"])
    assert history.kinds() == ["hanging transaction"]


def test_non_monotonic_read(history: Notebook) -> None:
    history.send("a", 0)
    history.send("b", 1)
    history.poll(("in/0", 0, "a"), ("in/0", 1, "b"))
    history.poll(("in/0", 1, "b"))
    history.final(("in/0", 0, "a"), ("in/0", 1, "b"))
    assert history.kinds() == ["non-monotonic read"]


def test_reading_again_in_a_new_session(history: Notebook) -> None:
    history.send("a", 0)
    history.poll(("in/0", 0, "a"))
    history.poll(("in/0", 0, "a"), session="r/2")
    history.final(("in/0", 0, "a"))
    assert history.kinds() == []


def test_skipped_read(history: Notebook) -> None:
    for offset, value in enumerate("abc"):
        history.send(value, offset)
    history.poll(("in/0", 0, "a"), ("in/0", 2, "c"))
    history.final(("in/0", 0, "a"), ("in/0", 1, "b"), ("in/0", 2, "c"))
    assert history.kinds() == ["skipped read"]


def test_aborted_records_and_markers_are_not_skipped(history: Notebook) -> None:
    history.send("a", 0)
    hidden = transaction(history, offset=1)
    history.finish("w/1#1", commit=False)
    history.send("c", 3)
    history.poll(("in/0", 0, "a"), ("in/0", 3, "c"))
    history.final(("in/0", 0, "a"), ("in/0", 3, "c"), uncommitted=(("in/0", 1, hidden),))
    assert history.kinds() == []


def test_a_broken_history_is_refused(history: Notebook) -> None:
    history.end("w:7", "ok")
    with pytest.raises(ValueError, match="before its beginning"):
        check(history.events)
    twice = Notebook()
    twice.send("a", 0)
    twice.send("a", 1)
    with pytest.raises(ValueError, match="unique"):
        check(twice.events)
