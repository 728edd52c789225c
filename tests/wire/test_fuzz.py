"""A slice of the fuzzer with a fixed seed, so that every test run holds the decoders against some hostile inputs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from headrace.wire.messages.heartbeat import HeartbeatRequest
from tests.wire import fuzz


def test_a_slice_with_a_fixed_seed(tmp_path: Path) -> None:
    fuzz.write_seeds(tmp_path)
    seeds = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    chance = random.Random(20_240)
    for _ in range(20_000):
        data = bytearray(chance.choice(seeds) + b"\0")
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(2, len(data))] = chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        if chance.random() < 0.3:
            del data[chance.randrange(2, len(data)) :]
        if chance.random() < 0.2:
            data += chance.randbytes(chance.randint(1, 20))
        fuzz.one_input(bytes(data))


def test_the_fuzzer_sees_a_decoder_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The canary: a decoder with a bug has to be a finding, or finding nothing means nothing."""

    def broken(data: memoryview, position: int) -> tuple[HeartbeatRequest, int]:
        return HeartbeatRequest(group_id=str(data[100])), len(data)

    monkeypatch.setitem(HeartbeatRequest._decoders, 4, broken)
    number = fuzz.MESSAGES.index((HeartbeatRequest, 4))
    with pytest.raises(IndexError):
        fuzz.one_input(number.to_bytes(2, "big") + b"short")
