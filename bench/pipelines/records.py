"""The records that pipelines are measured with, each computable from its number, and what must come out of them. Pure.

    key      user-0123                        1,000 users; partition = user % 4
    value    {"id":…,"name":…,"amount":…,"kind":…,"note":…}   100 bytes
    time     BASE_MS + number ÷ (records per millisecond)

A table record tells of a user: {"city":…,"tier":…}, a second before the first event.
"""

from __future__ import annotations

from dataclasses import dataclass

USERS = 1_000
PARTITIONS = 4
SIZE = 100
BASE_MS = 1_700_000_400_000  # a multiple of ten minutes, so that windows begin with the first record
LEAST_AMOUNT = 10.0
TAX = 1.19


@dataclass(frozen=True)
class Backlog:
    """A topic of `count` events, of which `per_ms` have the same millisecond."""

    count: int
    per_ms: int

    @property
    def topic(self) -> str:
        return f"bench-events-{self.count}-{self.per_ms}"

    @property
    def seconds(self) -> float:
        """How much event time it covers."""
        return self.count / self.per_ms / 1000

    def time_ms(self, number: int) -> int:
        return BASE_MS + number // self.per_ms

    def passing(self) -> int:
        """How many pass the filter: in every thousand the same, as amounts go round."""
        assert self.count % 1000 == 0
        return self.count * 9 // 10

    def windows(self, size_ms: int) -> int:
        """How many tumbling windows have records; each of them has all users."""
        last = self.time_ms(self.count - 1)
        return (last - BASE_MS) // size_ms + 1


def user_of(number: int) -> int:
    return number * 31 % USERS


def amount_of(number: int) -> float:
    """0.0 to 99.9, a tenth of them below the filter's limit, not bound to the user."""
    return (number * 7919 + number // 1000 * 7) % 1000 / 10


def key(user: int) -> str:
    return f"user-{user:04d}"


def event(number: int) -> str:
    user = user_of(number)
    text = f'{{"id":{number},"name":"user-{user:04d}","amount":{amount_of(number)},"kind":"kind-{number % 7}","note":"'
    return f'{text}{"x" * (SIZE - len(text) - 2)}"}}'


def user_row(user: int) -> str:
    return f'{{"city":"city-{user % 50}","tier":{user % 5}}}'
