"""Variable-length integers: unsigned (lengths and tags of flexible messages) and zigzag (records).

Seven bits per byte, least significant group first, the high bit says that another byte follows. Decoders raise IndexError
at the end of the data; their callers turn that into a WireError.
"""

from headrace.wire.errors import WireError

MAX_LENGTH = (1 << 31) - 1
Buffer = bytes | bytearray | memoryview


def continue_uvarint(data: Buffer, position: int, first: int) -> tuple[int, int]:
    """The rest of an unsigned varint whose first byte had its high bit set; compiled decoders read that byte inline."""
    value = first & 0x7F
    shift = 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 28:
            raise WireError("varint is longer than 5 bytes")
    if value > MAX_LENGTH:
        raise WireError("varint does not fit 31 bits")
    return value, position


def continue_folded(data: bytes, position: int, first: int) -> tuple[int, int]:
    """The rest of a zigzag varint of up to 64 bits, not yet unfolded: its lowest bit is the sign."""
    value = first & 0x7F
    shift = 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
        if shift > 63:
            raise WireError("varint is longer than 10 bytes")


def read_uvarint(data: Buffer, position: int) -> tuple[int, int]:
    """An unsigned varint of at most 31 bits, and the position behind it."""
    value = data[position]
    if value < 128:
        return value, position + 1
    return continue_uvarint(data, position + 1, value)


def skip_tags(data: Buffer, position: int, count: int, size: int) -> int:
    """The position behind `count` tagged fields that nobody here knows (KIP-482)."""
    for _ in range(count):
        _, position = read_uvarint(data, position)
        length, position = read_uvarint(data, position)
        position += length
        if position > size:
            raise WireError("tagged field runs past the end")
    return position


def uvarint(value: int) -> bytes:
    """`value` as an unsigned varint."""
    if value < 128:
        return SMALL[value]
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(value: int) -> bytes:
    """`value` as a zigzag varint, of up to 64 bits."""
    folded = value << 1 if value >= 0 else (-value << 1) - 1
    return SMALL[folded] if folded < 128 else uvarint(folded)


SMALL = tuple(bytes((value,)) for value in range(128))
