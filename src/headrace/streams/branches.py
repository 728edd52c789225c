"""Branches of a stream: by position, as Kafka's old `branch`, or by name, as its `split`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic

from headrace.plan.steps import Branch, BranchCase
from headrace.streams.errors import StreamsError
from headrace.streams.flow import K, V

if TYPE_CHECKING:
    from headrace.streams.kstream import KStream


class Branches(Generic[K, V]):
    """The branches of `split`, as attributes and as items."""

    def __init__(self, streams: Mapping[str, KStream[K, V]]) -> None:
        self._streams = dict(streams)

    def __getattr__(self, name: str) -> KStream[K, V]:
        try:
            return self._streams[name]
        except KeyError:
            raise AttributeError(f"there is no branch {name!r}; there are {', '.join(self._streams)}") from None

    def __getitem__(self, name: str) -> KStream[K, V]:
        return self._streams[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._streams)


def branched(
    stream: KStream[K, V], predicates: tuple[Callable[..., Any], ...], name: str | None
) -> tuple[KStream[K, V], ...]:
    if not predicates:
        raise StreamsError("branch takes at least one predicate")
    cases = {str(number): predicate for number, predicate in enumerate(predicates, 1)}
    return tuple(_branches(stream, cases, name).values())


def split(stream: KStream[K, V], cases: Mapping[str, Callable[..., Any] | None], name: str | None) -> Branches[K, V]:
    if not cases:
        raise StreamsError("split takes branches as keywords: split(large=lambda p: p.amount > 100, rest=None)")
    if sum(1 for predicate in cases.values() if predicate is None) > 1:
        raise StreamsError("only one branch can take what is left (None)")
    return Branches(_branches(stream, cases, name))


def _branches(
    stream: KStream[K, V], cases: Mapping[str, Callable[..., Any] | None], name: str | None
) -> dict[str, KStream[K, V]]:
    found = tuple(
        BranchCase(label, None if predicate is None else stream._condition(predicate, "branch"))
        for label, predicate in cases.items()
    )
    step = stream._add(lambda id_: Branch(id_, stream._step, found), "branch", name)
    return {case.name: stream._like(f"{step}.{case.name}") for case in found}
