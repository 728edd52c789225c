"""The windowed aggregate of the Spark kill test: count and sum by key in tumbling windows, every update written."""

from __future__ import annotations

import json
import random
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.spark.sinks import Guarantee
from headrace.streams import App, agg, hours, minutes, tumbling
from tests.faults.spark_workloads import Barrier, Input, Table, Verdict

if TYPE_CHECKING:
    from confluent_kafka import Message

WINDOW_MS = 10_000
DISORDER_MS = 5_000
BASE_MS = 1_700_000_000_000
Window = tuple[str, int]


@dataclass
class Reading:
    amount: int


@dataclass
class Total:
    count: int
    total: int


class WindowedAggregate:
    """Each record changes one row, and each change comes out: the n-th of a key and window has count n and the sum of the first n amounts.

    A key's records lie in one partition, so their order, and with it every sum on the way, is known. A record is a millisecond of event time, up to
    five seconds out of order. The grace is ten minutes, 600,000 records: no partition falls behind another by that, so nothing is late, while
    of a million records the first windows do leave the state on the way. The table keeps all of them.
    """

    inputs: Mapping[str, int] = {"readings": 4}
    outputs: Mapping[str, int] = {"totals": 4}
    keys = 1000

    def records(self, count: int) -> Iterator[Input | Barrier]:
        chance = random.Random(5)
        for number in range(count):
            key = b"key-%d" % chance.randrange(self.keys)
            timestamp_ms = BASE_MS + number + chance.randrange(DISORDER_MS)
            yield Input("readings", key, b'{"amount": %d}' % chance.randrange(1_000_000), timestamp_ms=timestamp_ms)

    def app(self) -> App:
        app = App("kills-window")
        readings = app.stream("readings", key=str, value=Reading)
        windows = readings.group_by_key().windowed_by(tumbling(ms=WINDOW_MS, grace=minutes(10), retention=hours(1)))
        totals = windows.summarize(
            lambda reading: Total(count=agg.count(), total=agg.sum(reading.amount)), store="per-window"
        )
        totals.to("totals")
        return app

    def judge(self, count: int, output: Iterable[Message], table: Table, guarantee: Guarantee) -> Verdict:
        verdict = Verdict(expected=count)
        sums = self._sums(count)
        times: Counter[tuple[Window, int]] = Counter()
        last: dict[Window, int] = {}
        for message in output:
            verdict.seen += 1
            window, value = _window(message.key()), json.loads(message.value())
            number = value["count"]
            if not 1 <= number <= len(sums[window]) or value["total"] != sums[window][number - 1]:
                verdict.mistrust(f"{window} has {value}, after {len(sums[window])} records {sums[window][-1:]}")
            elif guarantee is Guarantee.EXACTLY_ONCE and number < last.get(window, 0):
                verdict.mistrust(f"{window} has {number} after {last[window]}")
            times[window, number] += 1
            last[window] = number
        for window, each in sums.items():
            for number in range(1, len(each) + 1):
                if not times[window, number]:
                    verdict.lose(f"{window}, record {number} of {len(each)}")
        verdict.doubled = sum(many - 1 for many in times.values() if many > 1)
        final = {window: (len(each), each[-1]) for window, each in sums.items() if each}
        verdict.compare_tables(
            "last output", {window: (at, sums[window][at - 1]) for window, at in last.items()}, final
        )
        rows = {key: (row.count, row.total) for key, row in table("per-window").items()}
        verdict.table_rows = len(rows)
        verdict.compare_tables("table", rows, final)
        return verdict

    def _sums(self, count: int) -> dict[Window, list[int]]:
        """For each key and window the sums after its first record, its second, and so on."""
        sums: dict[Window, list[int]] = defaultdict(list)
        for record in self.records(count):
            assert isinstance(record, Input) and record.key is not None and record.value is not None
            each = sums[record.key.decode(), record.timestamp_ms // WINDOW_MS * WINDOW_MS]
            each.append((each[-1] if each else 0) + json.loads(record.value)["amount"])
        return sums


def _window(key: bytes) -> Window:
    """A windowed key as Kafka Streams writes it: the key, then the window's start in eight bytes."""
    return key[:-8].decode(), struct.unpack(">q", key[-8:])[0]
