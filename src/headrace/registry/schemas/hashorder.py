"""The order in which a Java `HashMap` of strings is walked, which decides the order of differences in Confluent's answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable


def string_hash(text: str) -> int:
    """`String.hashCode`, spread over the lower bits as `HashMap` does."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for index in range(0, len(units), 2):
        value = (31 * value + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    return value ^ (value >> 16)


def copied_map(keys: Collection[str]) -> list[str]:
    """The keys of `new HashMap<>(map)`."""
    return _walk(keys, _power_of_two(int(len(keys) / 0.75 + 1)))


def set_of(first: Collection[str], more: Iterable[str] = ()) -> list[str]:
    """The entries of `new HashSet<>(first)` after `addAll(more)`."""
    together = list(dict.fromkeys((*first, *more)))
    return _walk(together, _buckets(len(first), len(together)))


def integers_of(first: Collection[int], more: Iterable[int] = ()) -> list[int]:
    """The same for 32-bit integers, which are their own hash."""
    together = list(dict.fromkeys((*first, *more)))
    mask = _buckets(len(first), len(together)) - 1
    return sorted(together, key=lambda number: ((number & 0xFFFFFFFF) ^ ((number & 0xFFFFFFFF) >> 16)) & mask)


def _buckets(first: int, together: int) -> int:
    buckets = _power_of_two(max(int(first / 0.75) + 1, 16))
    while together > buckets * 0.75:
        buckets *= 2
    return buckets


def _walk(keys: Iterable[str], buckets: int) -> list[str]:
    return sorted(keys, key=lambda key: string_hash(key) & (buckets - 1))


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()
