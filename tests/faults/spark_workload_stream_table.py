"""The stream-table join of the Spark kill test: orders with the price that their product has at that moment."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.spark.sinks import Guarantee
from headrace.streams import App
from tests.faults.spark_workloads import Barrier, Input, Table, Verdict

if TYPE_CHECKING:
    from confluent_kafka import Message

ROUNDS = 6
NONE = -1


@dataclass
class Order:
    n: int


@dataclass
class Price:
    version: int


@dataclass
class Priced:
    n: int
    version: int


class StreamTableJoin:
    """Every order comes out once, with the version of its product's price, or -1 when there is none.

    Which version an order meets depends on how the two topics are interleaved, so a product never has orders and prices in flight at once: products
    are in two halves, and in each round one half is ordered while the prices of the other change (a tenth of the changes are deletions).
    Rounds are divided by barriers: all that came is processed before the halves change places. So both topics flow all the time and the
    answer is known: the last version that was written before the round.
    """

    inputs: Mapping[str, int] = {"orders": 4, "prices": 2}
    outputs: Mapping[str, int] = {"priced": 4}
    products = 2000

    def records(self, count: int) -> Iterator[Input | Barrier]:
        chance = random.Random(6)
        half = 0
        for number in range(count):
            if number and number * ROUNDS // count != (number - 1) * ROUNDS // count:
                half = 1 - half
                yield Barrier()
            is_price = chance.random() < 0.2
            product = 2 * chance.randrange(self.products // 2) + (1 - half if is_price else half)
            key = b"product-%d" % product
            if is_price:
                yield Input("prices", key, None if chance.random() < 0.1 else b'{"version": %d}' % number)
            else:
                yield Input("orders", key, b'{"n": %d}' % number)

    def app(self) -> App:
        app = App("kills-stream-table")
        orders = app.stream("orders", key=str, value=Order)
        prices = app.table("prices", key=str, value=Price, store="prices")
        orders.left_join(prices, lambda order, price: Priced(n=order.n, version=price.version.or_else(NONE))).to(
            "priced"
        )
        return app

    def judge(self, count: int, output: Iterable[Message], table: Table, guarantee: Guarantee) -> Verdict:
        versions, prices = self._expected(count)
        verdict = Verdict(expected=len(versions))
        seen: set[int] = set()
        last: dict[bytes, int] = {}
        for message in output:
            verdict.seen += 1
            value = json.loads(message.value())
            number, key = value["n"], message.key()
            if versions.get(number) != (key, value["version"]):
                verdict.mistrust(f"{key!r} has {value} instead of {versions.get(number)}")
            if guarantee is Guarantee.EXACTLY_ONCE and number < last.get(key, -1):
                verdict.mistrust(f"{number} after {last[key]} under {key!r}")
            verdict.doubled += number in seen
            seen.add(number)
            last[key] = number
        for number in versions.keys() - seen:
            verdict.lose(f"order {number}, {versions[number]}")
        rows = {key: row.version for key, row in table("prices").items()}
        verdict.table_rows = len(rows)
        verdict.compare_tables("table", rows, prices)
        return verdict

    def _expected(self, count: int) -> tuple[dict[int, tuple[bytes, int]], dict[str, int]]:
        """For each order its key and the version it meets; the prices in the end."""
        prices: dict[bytes, int] = {}
        versions: dict[int, tuple[bytes, int]] = {}
        for record in self.records(count):
            if isinstance(record, Barrier):
                continue
            assert record.key is not None
            if record.topic == "orders":
                assert record.value is not None
                versions[json.loads(record.value)["n"]] = (record.key, prices.get(record.key, NONE))
            elif record.value is None:
                prices.pop(record.key, None)
            else:
                prices[record.key] = json.loads(record.value)["version"]
        return versions, {key.decode(): version for key, version in prices.items()}
