"""The records of `__transaction_state`, byte for byte where Kafka's layout is fixed, and what is not understood."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from headrace.coordinator.transactions.records import TransactionRecord, decode
from headrace.coordinator.transactions.transaction import Transaction, TransactionState
from headrace.wire.errors import WireError
from tests.coordinator.transactions.driver import Driver

OPEN = Transaction(
    producer_id=7,
    timeout_ms=60_000,
    state=TransactionState.ONGOING,
    producer_epoch=3,
    last_producer_epoch=2,
    previous_producer_id=7,
    next_producer_id=9,
    partitions=frozenset({("t", 1), ("t", 0), ("u", 5)}),
    start_ms=1000,
    last_update_ms=2000,
    client_version=2,
)
KEY = b"\x00\x00" + b"\x00\x01x"


def test_tagged_fields_come_with_transaction_version_1() -> None:
    key, value = TransactionRecord("x", OPEN).encode(2)
    assert key == KEY and value is not None and value[:2] == b"\x00\x01"
    assert decode(key, value) == TransactionRecord("x", replace(OPEN, last_producer_epoch=-1))


def test_without_it_the_value_is_kafkas_first_one() -> None:
    key, value = TransactionRecord("x", OPEN).encode(0)
    partitions = struct.pack(">ih1siiih1sii", 2, 1, b"t", 2, 0, 1, 1, b"u", 1, 5)
    assert value == struct.pack(">hqhib", 0, 7, 3, 60_000, 1) + partitions + struct.pack(">qq", 2000, 1000)
    restored = replace(OPEN, last_producer_epoch=-1, previous_producer_id=-1, next_producer_id=-1, client_version=0)
    assert decode(key, value) == TransactionRecord("x", restored)


def test_an_id_without_a_transaction_has_no_list_of_partitions() -> None:
    _, value = TransactionRecord("x", Transaction(7, 60_000, producer_epoch=0)).encode(0)
    assert value is not None and struct.unpack_from(">i", value, 17)[0] == -1


def test_a_tombstone() -> None:
    assert TransactionRecord("x", None).encode(2) == (KEY, None)
    assert decode(KEY, None) == TransactionRecord("x", None)


def test_keys_of_another_kind_are_skipped_and_unknown_states_are_not() -> None:
    assert decode(b"\x00\x05\x00\x00", b"") is None
    key, value = TransactionRecord("x", OPEN).encode(0)
    assert value is not None
    with pytest.raises(WireError, match="unknown state 99"):
        decode(key, value[:16] + b"\x63" + value[17:])


@pytest.mark.parametrize("server_version", [0, 1, 2])
def test_a_restart_finds_the_same(server_version: int) -> None:
    d = Driver(server_version=server_version)
    producer = d.init().producer
    d.add(producer, ("t", 1), version=2 if server_version == 2 else 0)
    before = d.current()
    d.restart()
    after = d.current()
    assert (after.state, after.partitions, after.producer_epoch) == (before.state, before.partitions, 0)
    assert after.start_ms == before.start_ms and after.timeout_ms == before.timeout_ms
