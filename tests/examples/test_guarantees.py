"""The guarantees, a slice with a fixed seed; `python -m tests.examples.crash_guarantees` is the whole.

Each test also shows that it could have seen the fault which the guarantee excludes: programs are killed until a kill has
hit work half done.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing import broker
from tests.examples.crash_guarantees import EXAMPLES, FOLDER, Outcome, check, crash

ROUNDS = 4
SEED = 7


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with broker({"offsets.topic.num.partitions": 4, "transaction.state.log.num.partitions": 4}) as running:
        yield running.bootstrap_servers


def crashed(bootstrap: str, example: str) -> Outcome:
    outcome = crash(bootstrap, example, ROUNDS, SEED)
    check(outcome)
    assert outcome.kills >= ROUNDS
    return outcome


def test_at_most_once_may_lose_and_never_repeats(bootstrap: str) -> None:
    outcome = crashed(bootstrap, "at_most_once")
    assert outcome.lost > 0
    assert outcome.duplicates == 0


def test_at_least_once_may_repeat_and_never_loses(bootstrap: str) -> None:
    outcome = crashed(bootstrap, "at_least_once")
    assert outcome.duplicates > 0
    assert outcome.lost == 0


def test_effectively_once_does_neither_though_records_come_again(bootstrap: str) -> None:
    outcome = crashed(bootstrap, "effectively_once")
    assert outcome.worked_on > outcome.sent
    assert (outcome.lost, outcome.duplicates) == (0, 0)


def test_exactly_once_does_neither_though_transactions_were_cut(bootstrap: str) -> None:
    outcome = crashed(bootstrap, "exactly_once")
    assert outcome.worked_on > outcome.sent
    assert (outcome.lost, outcome.duplicates) == (0, 0)


@pytest.mark.parametrize(
    ("example", "lost", "duplicates"),
    [("at_most_once", 0, 1), ("at_least_once", 1, 0), ("effectively_once", 1, 0), ("exactly_once", 0, 1)],
)
def test_the_other_kind_of_fault_is_found(example: str, lost: int, duplicates: int) -> None:
    with pytest.raises(AssertionError):
        check(Outcome(example, SEED, 1, 10, 10, lost, duplicates))


def test_every_example_is_crashed_and_listed() -> None:
    readme = (FOLDER / "README.md").read_text()
    programs = {path.stem for path in FOLDER.glob("*.py")} - {"reading"}
    assert programs == set(EXAMPLES)
    assert all(f"({name}.py)" in readme for name in programs)
    assert Path(FOLDER.parent / "README.md").read_text().count("guarantees/README.md") == 1
