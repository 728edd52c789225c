"""The flaw of version 1 of transactions: an EndTxn that comes late ends the next transaction. Nothing else gets its label."""

from __future__ import annotations

import pytest

from headrace.verify.checker import check
from tests.verify.notebook import Notebook
from tests.verify.test_checker import transaction


def met_by_a_late_end(history: Notebook, *, version: int = 1, producer: str = "w") -> None:
    """Transaction 1 commits; its first EndTxn arrives during transaction 2, which is aborted and visible all the same."""
    history.init("w/1", version)
    first = transaction(history, "w/1#1", offset=0)
    received = len(history.events) + 1
    history.finish("w/1#1")
    second = transaction(history, "w/1#2", offset=2)
    history.did("network", "late", producer=producer, version=1, received=received, commit=True)
    history.finish("w/1#2", commit=False)
    history.final(("in/0", 0, first), ("in/0", 2, second))


def test_it_is_labelled() -> None:
    history = Notebook()
    met_by_a_late_end(history)
    verdict = check(history.events)
    assert verdict.broken == ()
    assert [anomaly.kind.value for anomaly in verdict.known_flaws] == ["aborted read"]


@pytest.mark.parametrize("difference", [{"version": 2}, {"producer": "v"}], ids=["version 2", "of another producer"])
def test_it_is_not(difference: dict[str, object]) -> None:
    history = Notebook()
    met_by_a_late_end(history, **difference)  # type: ignore[arg-type]
    assert history.kinds() == ["aborted read"]


def test_the_end_of_the_same_transaction_is_no_excuse() -> None:
    history = Notebook()
    history.init("w/1")
    value = transaction(history)
    received = len(history.events) + 1
    history.did("network", "late", producer="w", version=1, received=received, commit=False)
    history.finish("w/1#1", commit=False)
    history.final(("in/0", 0, value))
    assert history.kinds() == ["aborted read"]


def test_an_answer_before_the_transaction_began_is_no_excuse() -> None:
    history = Notebook()
    history.init("w/1")
    history.did("network", "late", producer="w", version=1, received=1, commit=True)
    value = transaction(history)
    history.finish("w/1#1", commit=False)
    history.final(("in/0", 0, value))
    assert history.kinds() == ["aborted read"]


def test_a_lost_plain_write_is_no_part_of_it() -> None:
    history = Notebook()
    met_by_a_late_end(history)
    lost = Notebook()
    lost.send("plain", 5, session="p/1", partition="in/1")
    events = [{**event, "time": event["time"] - 10, "id": f"x{event['id']}"} for event in lost.events]
    assert [anomaly.kind.value for anomaly in check(events + history.events).broken] == ["lost write"]


@pytest.mark.parametrize("commit", [True, False])
def test_only_what_a_late_end_can_do_is_labelled(commit: bool) -> None:
    """A late commit cannot lose a committed transaction; a late abort can."""
    history = Notebook()
    history.init("w/1")
    first = transaction(history, "w/1#1", offset=0)
    received = len(history.events) + 1
    history.finish("w/1#1")
    transaction(history, "w/1#2", offset=2)
    history.did("network", "late", producer="w", version=1, received=received, commit=commit)
    history.finish("w/1#2")
    history.final(("in/0", 0, first))
    assert history.kinds() == (["lost write"] if commit else [])
