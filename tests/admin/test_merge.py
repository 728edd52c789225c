"""Merging partitions by timestamp: nothing lost, nothing invented, in order where the partitions are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.admin.merge import Merge


@given(st.lists(st.lists(st.integers(0, 100)).map(sorted), min_size=1, max_size=5), st.randoms())
def test_ordered_partitions_give_an_ordered_whole(partitions: list[list[int]], chance: object) -> None:
    merge: Merge[tuple[int, int, int]] = Merge(range(len(partitions)))
    positions = [0] * len(partitions)
    left = {index for index, timestamps in enumerate(partitions) if timestamps}
    for index in set(range(len(partitions))) - left:
        merge.idle(index)
    merged = []
    while left or merge.exhausted() != frozenset(range(len(partitions))):
        if left:
            index = chance.choice(sorted(left))  # type: ignore[attr-defined]
            timestamp = partitions[index][positions[index]]
            merge.push(index, timestamp, (timestamp, index, positions[index]))
            positions[index] += 1
            if positions[index] == len(partitions[index]):
                left.discard(index)
        before = len(merged)
        for record in merge.ready():
            merged.append(record)
            for finished in merge.exhausted() - left:
                merge.idle(finished)
        if not left and len(merged) == before:
            break
    assert sorted(merged) == sorted(
        (t, i, n) for i, timestamps in enumerate(partitions) for n, t in enumerate(timestamps)
    )
    assert [record[0] for record in merged] == sorted(record[0] for record in merged)


def test_a_silent_partition_holds_up_the_others_until_it_is_known_to_be_idle() -> None:
    merge: Merge[str] = Merge(["a", "b"])
    merge.push("a", 5, "five")
    assert list(merge.ready()) == []
    merge.idle("b")
    assert list(merge.ready()) == ["five"]


def test_each_partition_keeps_its_own_order_even_against_the_clock() -> None:
    merge: Merge[str] = Merge(["a"])
    for timestamp in (9, 3, 7):
        merge.push("a", timestamp, str(timestamp))
    assert list(merge.ready()) == ["9", "3", "7"]
    assert merge.depth("a") == 0
