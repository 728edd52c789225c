"""What a batch waits for before it is appended: in threads, in the order of arrival, and nobody else waits with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from headrace.replica.preparation import Check, Preparation
from headrace.storage.config import LogConfig
from headrace.storage.errors import AppendError
from headrace.storage.log import Appended
from headrace.storage.validation import MOST_IN_PASSING, MOST_NAMED, check_client_batch, read_one_batch
from headrace.wire.batch import Record, encode_batch, write_crc
from headrace.wire.compression import Codec
from headrace.wire.errors import ErrorCode

NOW = 1_700_000_000_000
COMPACTED = LogConfig(cleanup_policy=("compact",))
Scenario = Callable[[Preparation, list[tuple[int, bool]]], Awaitable[None]]


def sent(count: int, codec: Codec = Codec.NONE, key: bytes | None = b"k", timestamp: int = NOW) -> memoryview:
    records = [Record(index, timestamp, key, b"v", ()) for index in range(count)]
    return memoryview(encode_batch(records, codec=codec))


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


def run(threads: ThreadPoolExecutor, scenario: Scenario) -> None:
    arrived: list[tuple[int, bool]] = []

    def append(batch: memoryview, now_ms: int, check: Check | None, records_checked: bool) -> Appended:
        arrived.append((read_one_batch(batch).record_count, records_checked))
        return Appended(0, 0, -1, 0, False, False)

    async def main() -> None:
        await scenario(Preparation(threads, append), arrived)

    asyncio.run(main())


def test_a_few_records_are_looked_at_in_passing(threads: ThreadPoolExecutor) -> None:
    async def scenario(preparation: Preparation, arrived: list[tuple[int, bool]]) -> None:
        assert isinstance(preparation.append(sent(3), NOW, COMPACTED), Appended)
        assert arrived == [(3, False)]

    run(threads, scenario)


@pytest.mark.parametrize("large", [sent(MOST_IN_PASSING + 1), sent(1, Codec.ZSTD)], ids=["many", "compressed"])
def test_what_may_take_long_is_looked_at_in_a_thread_and_nothing_overtakes_it(
    threads: ThreadPoolExecutor, large: memoryview
) -> None:
    async def scenario(preparation: Preparation, arrived: list[tuple[int, bool]]) -> None:
        busy = Event()
        for _ in range(2):
            threads.submit(busy.wait, 10)
        first, second = preparation.append(large, NOW, COMPACTED), preparation.append(sent(2), NOW, COMPACTED)
        assert isinstance(first, asyncio.Future) and isinstance(second, asyncio.Future)
        await asyncio.sleep(0)
        assert not arrived
        busy.set()
        await asyncio.gather(first, second)
        assert arrived == [(read_one_batch(large).record_count, True), (2, False)]

    run(threads, scenario)


def test_one_that_is_refused_lets_the_next_pass(threads: ThreadPoolExecutor) -> None:
    async def scenario(preparation: Preparation, arrived: list[tuple[int, bool]]) -> None:
        refused = preparation.append(sent(MOST_NAMED + 7, key=None), NOW, COMPACTED)
        follows = preparation.append(sent(2), NOW, COMPACTED)
        assert isinstance(refused, asyncio.Future) and isinstance(follows, asyncio.Future)
        with pytest.raises(AppendError, match=f"{MOST_NAMED + 7} records have no key") as caught:
            await refused
        assert caught.value.error_code is ErrorCode.INVALID_RECORD
        assert len(caught.value.record_errors) == MOST_NAMED
        await follows
        assert arrived == [(2, False)]

    run(threads, scenario)


def test_a_million_records_in_a_small_batch_hold_nobody_up(threads: ThreadPoolExecutor) -> None:
    """A few hundred bytes that say they hold a million records, without keys and from the future."""
    batch = bytearray(sent(1, Codec.ZSTD, key=None, timestamp=NOW + 10**9))
    batch[23:27], batch[57:61] = (999_999).to_bytes(4, "big"), (1_000_000).to_bytes(4, "big")
    write_crc(batch)
    view = memoryview(batch)
    with pytest.raises(AppendError) as caught:
        check_client_batch(read_one_batch(view), view, LogConfig(), NOW)
    assert caught.value.error_code is ErrorCode.INVALID_TIMESTAMP and not caught.value.record_errors
