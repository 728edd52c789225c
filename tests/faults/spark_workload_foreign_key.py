"""The foreign-key join of the Spark kill test: orders with the customer they point to, both of them tables that change."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from headrace.spark.sinks import Guarantee
from headrace.streams import App
from tests.faults.spark_workloads import Barrier, Input, Table, Verdict

if TYPE_CHECKING:
    from confluent_kafka import Message

ROUNDS = 5
Value = TypeVar("Value")
Result = tuple[int, str, int] | None
"""Number of the order's row, its customer, version of the customer's row; None: no result."""


@dataclass
class Order:
    customer: str
    number: int


@dataclass
class Customer:
    version: int


@dataclass
class Named:
    number: int
    customer: str
    version: int


@dataclass
class Expected:
    """What the input says of the output."""

    written: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    """For each order the numbers it had, with the customer of each."""
    versions: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    settled: dict[str, list[Result]] = field(default_factory=lambda: defaultdict(list))
    """For each order the results that it had at barriers, one after the other."""
    final: dict[str, Result] = field(default_factory=dict)


class ForeignKeyJoin:
    """Orders change, move to other customers and are deleted; customers change and are deleted; the joined table follows.

    What happens between two changes that are close depends on how they meet. Known are: at a barrier, when all is processed, the table is what a join of
    both tables gives; so each order's output contains, in this order, what it had at the barriers. Everything else that comes out must be
    consistent: an order's row that was written, with a version of just that row's customer that was written. Every row has a number of its own,
    so exactly once means that no pair of order's row and customer's row comes out twice, and that neither ever goes back.
    """

    inputs: Mapping[str, int] = {"orders": 4, "customers": 4}
    outputs: Mapping[str, int] = {"named": 4}

    def records(self, count: int) -> Iterator[Input | Barrier]:
        chance = random.Random(7)
        orders = max(50, count // 50)
        customers = orders // 5
        for number in range(count):
            if number and number * ROUNDS // count != (number - 1) * ROUNDS // count:
                yield Barrier()
            gone = chance.random() < 0.08
            if chance.random() < 0.05:
                key = b"customer-%d" % chance.randrange(customers)
                yield Input("customers", key, None if gone else b'{"version": %d}' % number)
            else:
                key = b"order-%d" % chance.randrange(orders)
                customer = chance.randrange(customers)
                value = b'{"customer": "customer-%d", "number": %d}' % (customer, number)
                yield Input("orders", key, None if gone else value)

    def app(self) -> App:
        app = App("kills-foreign-key")
        orders = app.table("orders", key=str, value=Order)
        customers = app.table("customers", key=str, value=Customer)
        named = orders.join(
            customers,
            lambda order, customer: Named(number=order.number, customer=order.customer, version=customer.version),
            on=lambda order: order.customer,
            store="named",
        )
        named.to("named")
        return app

    def judge(self, count: int, output: Iterable[Message], table: Table, guarantee: Guarantee) -> Verdict:
        expected = self._expected(count)
        verdict = Verdict(expected=sum(map(len, expected.settled.values())))
        found: dict[str, list[Result]] = defaultdict(list)
        for message in output:
            verdict.seen += 1
            key, result = message.key().decode(), _result(message.value())
            if result is not None and not _is_consistent(key, result, expected):
                verdict.mistrust(f"{key} has {result}, which never was")
            found[key].append(result)
        for key, results in found.items():
            _count_doubled(verdict, key, results, guarantee)
        for key, settled in expected.settled.items():
            _count_lost(verdict, key, settled, found[key])
        last = {key: results[-1] for key, results in found.items() if results and results[-1] is not None}
        verdict.compare_tables("last output", last, expected.final)
        rows = {key: (row.number, row.customer, row.version) for key, row in table("named").items()}
        verdict.table_rows = len(rows)
        verdict.compare_tables("table", rows, expected.final)
        return verdict

    def _expected(self, count: int) -> Expected:
        expected = Expected()
        orders: dict[str, tuple[str, int]] = {}
        customers: dict[str, int] = {}
        for record in (*self.records(count), Barrier()):
            if isinstance(record, Barrier):
                _settle(expected, orders, customers)
                continue
            assert record.key is not None
            key, value = record.key.decode(), json.loads(record.value or b"null")
            if record.topic == "orders":
                _change(orders, key, value and (value["customer"], value["number"]))
                if value:
                    expected.written[key][value["number"]] = value["customer"]
            else:
                _change(customers, key, value and value["version"])
                if value:
                    expected.versions[key].add(value["version"])
        return expected


def _change(table: dict[str, Value], key: str, value: Value | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _settle(expected: Expected, orders: Mapping[str, tuple[str, int]], customers: Mapping[str, int]) -> None:
    """The join of both tables as they are."""
    joined = {
        key: (number, customer, customers[customer])
        for key, (customer, number) in orders.items()
        if customer in customers
    }
    for key in joined.keys() | expected.final.keys():
        if joined.get(key) != expected.final.get(key):
            expected.settled[key].append(joined.get(key))
    expected.final = dict(joined)


def _result(value: bytes | None) -> Result:
    if value is None:
        return None
    row = json.loads(value)
    return row["number"], row["customer"], row["version"]


def _is_consistent(key: str, result: Result, expected: Expected) -> bool:
    assert result is not None
    number, customer, version = result
    return expected.written[key].get(number) == customer and version in expected.versions[customer]


def _count_doubled(verdict: Verdict, key: str, results: list[Result], guarantee: Guarantee) -> None:
    pairs = [(result[0], result[2]) for result in results if result is not None]
    verdict.doubled += sum(many - 1 for many in Counter(pairs).values())
    if guarantee is Guarantee.EXACTLY_ONCE and pairs != sorted(pairs):
        verdict.mistrust(f"{key} goes back: {pairs}")


def _count_lost(verdict: Verdict, key: str, settled: list[Result], found: list[Result]) -> None:
    """What was settled has to come out, in this order."""
    left = iter(found)
    for result in settled:
        if result not in left:  # goes on where the one before was found
            verdict.lose(f"{key}, {result}")
            return
