"""Which groups hold which records, and how far a log may be deleted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.coordinator.consumed import Hold, holds, new_log_start

GROUPS = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("names", "committed", "known", "expected"),
    [
        (["a"], {"a": {0: 5}}, [], [Hold("a", 5)]),
        (["a", "b"], {"a": {0: 5}, "b": {0: 3}}, [], [Hold("a", 5), Hold("b", 3)]),
        (["a", "b"], {"a": {0: 5}}, [], [Hold("a", 5), Hold("b", None)]),
        (["a", "b"], {"a": {0: 5}}, ["b"], [Hold("a", 5)]),
        (["a"], {"a": {1: 5}}, ["a"], [Hold("a", None)]),
        (["a"], {"b": {0: 5}}, [], [Hold("a", None)]),
        (["a"], {}, ["a"], []),
        (["*"], {}, [], []),
        (["*"], {"a": {0: 5}, "b": {0: 7}}, [], [Hold("a", 5), Hold("b", 7)]),
        (["*"], {"a": {0: 5}, "b": {1: 7}}, [], [Hold("a", 5), Hold("b", None)]),
        (["*", "c"], {"a": {0: 5}}, [], [Hold("c", None), Hold("a", 5)]),
    ],
)
def test_who_holds_a_partition(names, committed, known, expected) -> None:
    assert holds(names, committed, known, 0) == expected


@pytest.mark.parametrize(
    ("held", "last_stable_offset", "expected"),
    [
        ([], 10, None),
        ([Hold("a", None)], 10, None),
        ([Hold("a", 4), Hold("b", None)], 10, None),
        ([Hold("a", 4), Hold("b", 7)], 10, 4),
        ([Hold("a", 8)], 6, 6),
        ([Hold("a", 0)], 6, 0),
    ],
)
def test_how_far_a_log_may_go(held, last_stable_offset, expected) -> None:
    assert new_log_start(held, last_stable_offset) == expected


offsets = st.integers(0, 100)
committed_offsets = st.dictionaries(
    st.sampled_from(GROUPS), st.dictionaries(st.integers(0, 2), offsets, max_size=3), max_size=3
)


@given(
    names=st.lists(st.sampled_from([*GROUPS, "*"]), unique=True),
    committed=committed_offsets,
    known=st.sets(st.sampled_from(GROUPS)),
    partition=st.integers(0, 2),
    last_stable_offset=offsets,
)
def test_no_group_loses_what_it_has_not_read(names, committed, known, partition, last_stable_offset) -> None:
    start = new_log_start(holds(names, committed, known, partition), last_stable_offset)
    counted = {group for group in GROUPS if group in names or ("*" in names and group in committed)}
    if start is None:
        start = 0
    assert start <= last_stable_offset
    for group in counted:
        reads = committed.get(group, {})
        if reads:
            assert start <= reads.get(partition, 0)
        elif group not in known:
            assert start == 0


@given(committed=committed_offsets, partition=st.integers(0, 2), last_stable_offset=offsets)
def test_another_group_never_lets_more_go(committed, partition, last_stable_offset) -> None:
    """With a name added, a log starts no later, as long as the others let anything go at all."""
    starts = [
        new_log_start(holds(GROUPS[:count], committed, (), partition), last_stable_offset) or 0 for count in (1, 2, 3)
    ]
    assert starts == sorted(starts, reverse=True)
