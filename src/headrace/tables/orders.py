"""The order of keys for range look-ups: bytes that compare as the keys do.

A store compares bytes. UTF-8 strings and fixed-size unsigned integers sort right as they are; for signed integers, doubles and
everything that only a decoder understands a `KeyOrder` gives other bytes to sort by. `name` stands for the order in a stored
table: a store that was written under another name is rebuilt. Two keys may share a place; rows are still told apart by their key.

What `by_value` writes, so that comparing bytes compares values; kinds follow one another as listed. Ints and floats compare with one
another, decimals among themselves, structs (dicts) by their columns in the order that they come in:

    None, False, True   10, 20, 21
    int, float          30 · double, big-endian, sign bit flipped (all bits if negative) · what the double lost of an int, 8 bytes
    Decimal             38 · 00 if negative, 01 if zero, 02 if positive · exponent, 4 bytes · digits from 01 · 00; negative: inverted
    str, bytes          40, 50 · the bytes, 00 as 00 FF · 00 00
    list, tuple         60 · each element · 00
    dict                70 · each name and value · 00
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_SIGN = 1 << 63
_ALL = (1 << 64) - 1
MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class KeyOrder:
    """`encode` takes a key as it stands in the topic; it may raise for a key it does not understand, which then sorts last."""

    name: str
    encode: Callable[[bytes], bytes]
    keeps_prefixes: bool = False


def _same(key: bytes) -> bytes:
    return key


BYTES = KeyOrder("bytes", _same, keeps_prefixes=True)


def _signed(key: bytes) -> bytes:
    if len(key) not in (4, 8):
        raise ValueError(f"an integer key has 4 or 8 bytes, not {len(key)}")
    return bytes((key[0] ^ 0x80,)) + key[1:]


def _double(key: bytes) -> bytes:
    if len(key) != 8:
        raise ValueError(f"a double key has 8 bytes, not {len(key)}")
    return _ordered_double(int.from_bytes(key, "big"))


# Kafka's own serializers of Integer, Long and Double: big-endian.
SIGNED = KeyOrder("signed", _signed)
DOUBLE = KeyOrder("double", _double)


def by_value(name: str, decode: Callable[[bytes], Any]) -> KeyOrder:
    """The order of decoded keys: None, bool, int, float, Decimal, str, bytes, and sequences and dicts of them."""

    def encode(key: bytes) -> bytes:
        return ordered(decode(key))

    return KeyOrder(f"by_value:{name}", encode)


def ordered(value: Any, depth: int = 0) -> bytes:
    """Bytes that compare as `value` does among others of its kind."""
    if value is None:
        return b"\x10"
    if isinstance(value, bool):
        return b"\x21" if value else b"\x20"
    if isinstance(value, int | float):
        return b"\x30" + _number(value)
    if isinstance(value, Decimal):
        return b"\x38" + _decimal(value)
    if isinstance(value, str):
        return b"\x40" + terminated(value.encode())
    if isinstance(value, bytes):
        return b"\x50" + terminated(value)
    if depth == MAX_DEPTH:
        raise ValueError(f"a key with values inside one another deeper than {MAX_DEPTH} has no order")
    if isinstance(value, list | tuple):
        return b"\x60" + b"".join(ordered(element, depth + 1) for element in value) + b"\x00"
    if isinstance(value, dict):
        parts = (ordered(part, depth + 1) for item in value.items() for part in item)
        return b"\x70" + b"".join(parts) + b"\x00"
    raise TypeError(f"no order for {type(value).__name__} in a key: decode it to numbers, strings, bytes or sequences")


def terminated(data: bytes) -> bytes:
    """`data` with an end that sorts before every continuation, so that more may follow it."""
    return data.replace(b"\x00", b"\x00\xff") + b"\x00\x00"


def _number(value: int | float) -> bytes:
    try:
        double = float(value)
        if double == 0:
            double = 0.0  # -0.0 equals 0.0
        lost = value - int(double) if isinstance(value, int) else 0
        (bits,) = struct.unpack(">Q", struct.pack(">d", double))
        return _ordered_double(bits) + struct.pack(">Q", lost + _SIGN)
    except (OverflowError, struct.error) as error:
        raise ValueError("an integer this large has no order") from error


def _decimal(value: Decimal) -> bytes:
    if not value.is_finite():
        raise ValueError(f"{value} has no order")
    if not value:
        return b"\x01"
    digits = "".join(map(str, value.as_tuple().digits)).strip("0")
    size = struct.pack(">I", value.adjusted() + (1 << 31)) + bytes(int(digit) + 1 for digit in digits) + b"\x00"
    return b"\x02" + size if value > 0 else b"\x00" + bytes(byte ^ 0xFF for byte in size)


def _ordered_double(bits: int) -> bytes:
    flipped = bits ^ _ALL if bits & _SIGN else bits | _SIGN
    return flipped.to_bytes(8, "big")
