"""What a format is, and what all formats share: windows of keys, options, and conversions between JSON-like values and Python's.

Rows in Python are dicts by column: TIMESTAMP is milliseconds (int), DATE days (int), TIME milliseconds (int), BYTES bytes, DECIMAL `decimal.Decimal`.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.plan.serdes import KeyWindow, Serde

Row = dict[str, Any]
WINDOW_START = "window_start"
WINDOW_END = "window_end"


class FormatError(ValueError):
    """Bytes that are not what their format says, a row that a format cannot hold, or a serde that cannot be."""


@dataclass(frozen=True)
class DecodeSql:
    """Bytes to a row, in two steps: `parse` is made a column first, then `{parsed}` in the others stands for it.

    `row` is the serde's STRUCT, NULL for NULL bytes. `error` is NULL when all is well, else the reason. The bounds (BIGINT) are of windowed keys only.
    `fields`: the columns of `row` one by one, where they can be had without it; they count only where the bytes are not NULL.
    """

    parse: str
    row: str
    error: str | None
    window_start: str | None = None
    window_end: str | None = None
    fields: Mapping[str, str] | None = None


class Format(ABC):
    """A format. The public methods deal with windows; a format implements those with an underscore, for what is left."""

    name: str
    doc: str
    options: Mapping[str, str]  # option → what it means

    def check(self, serde: Serde, is_key: bool) -> None:
        """`FormatError` when the format cannot hold these columns or has no such option."""
        for option in serde.options:
            if option.name not in self.options:
                known = ", ".join(self.options) or "none"
                raise FormatError(f"the format {self.name} has no option {option.name!r}; it has: {known}")
        if not serde.wrapped and len(serde.columns.fields) != 1:
            raise FormatError(f"a value that is not wrapped is one column, these are {len(serde.columns.fields)}")
        if serde.window is not None and not is_key:
            raise FormatError("only keys have windows")
        self._check(serde, is_key)

    def decode_sql(self, bytes_sql: str, serde: Serde) -> DecodeSql:
        if serde.window is None:
            return self._decode_sql(bytes_sql, serde)
        return _windowed_decode_sql(self, bytes_sql, serde)

    def encode_sql(
        self, struct_sql: str, serde: Serde, window_start: str | None = None, window_end: str | None = None
    ) -> str:
        """BINARY; NULL for a NULL struct. A windowed key needs its bounds, as SQL of BIGINT milliseconds."""
        inner = self._encode_sql(struct_sql, serde)
        if serde.window is None:
            return inner
        if window_start is None or window_end is None:
            raise FormatError("a windowed key is written with its window's bounds")
        bounds = [window_start] if serde.window is KeyWindow.TIME else [window_end, window_start]
        return f"concat({', '.join([inner, *(bigint_bytes_sql(bound) for bound in bounds)])})"

    def decode(self, data: bytes | None, serde: Serde) -> Row | None:
        """A windowed key's row has `window_start` and `window_end` too."""
        if data is None:
            return None
        if serde.window is None:
            return self._decode(data, serde)
        inner, start, end = split_window(data, serde)
        row = self._decode(inner, replace(serde, window=None, window_size_ms=None))
        return None if row is None else {**row, WINDOW_START: start, WINDOW_END: end}

    def encode(self, row: Mapping[str, Any] | None, serde: Serde) -> bytes | None:
        if row is None:
            return None
        inner = self._encode(row, serde)
        if serde.window is None or inner is None:
            return inner
        try:
            start, end = int(row[WINDOW_START]), int(row[WINDOW_END])
            bounds = struct.pack(">q", start) if serde.window is KeyWindow.TIME else struct.pack(">qq", end, start)
        except (KeyError, TypeError, ValueError, struct.error):
            raise FormatError(f"a windowed key has {WINDOW_START} and {WINDOW_END}, whole milliseconds") from None
        return inner + bounds

    @abstractmethod
    def _check(self, serde: Serde, is_key: bool) -> None: ...

    @abstractmethod
    def _decode_sql(self, bytes_sql: str, serde: Serde) -> DecodeSql: ...

    @abstractmethod
    def _encode_sql(self, struct_sql: str, serde: Serde) -> str: ...

    @abstractmethod
    def _decode(self, data: bytes, serde: Serde) -> Row | None: ...

    @abstractmethod
    def _encode(self, row: Mapping[str, Any], serde: Serde) -> bytes | None: ...


def split_window(data: bytes, serde: Serde) -> tuple[bytes, int, int]:
    """A windowed key's own bytes and its window's bounds."""
    size = 8 if serde.window is KeyWindow.TIME else 16
    if len(data) < size:
        raise FormatError(f"a windowed key ends with {size} bytes of its window, this has {len(data)} bytes")
    if serde.window is KeyWindow.TIME:
        (start,) = struct.unpack(">q", data[-8:])
        return data[:-8], start, start + (serde.window_size_ms or 0)
    end, start = struct.unpack(">qq", data[-16:])
    return data[:-16], start, end


def bigint_bytes_sql(sql: str) -> str:
    """Eight bytes, big endian, of a BIGINT: what Spark's cast to BINARY gives."""
    return f"CAST({sql} AS BINARY)"


def _windowed_decode_sql(format_: Format, bytes_sql: str, serde: Serde) -> DecodeSql:
    size = 8 if serde.window is KeyWindow.TIME else 16
    inner_serde = replace(serde, window=None, window_size_ms=None)
    inner = format_._decode_sql(f"substring({bytes_sql}, 1, greatest(length({bytes_sql}) - {size}, 0))", inner_serde)
    short = f"CASE WHEN length({bytes_sql}) < {size} THEN 'a windowed key ends with {size} bytes of its window' END"
    start = f"headrace_bigint_before_end({bytes_sql}, 0)"
    if serde.window is KeyWindow.TIME:
        end = f"({start} + {serde.window_size_ms}L)"
    else:
        end = f"headrace_bigint_before_end({bytes_sql}, 8)"
    error = short if inner.error is None else f"coalesce({short}, {inner.error})"
    return DecodeSql(inner.parse, inner.row, error, start, end, inner.fields)
