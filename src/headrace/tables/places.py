"""Where a key stands in a store: the bytes that the store sorts by, and the bounds of a look-up among them.

    byte order, no windows   the key itself
    any other order          00 · order bytes
    with windows             00 · order bytes of the inner key, 00 as 00 FF · 00 00 · window suffix
    a key the order refuses  01 · the key

`place` never raises, whatever a topic holds; bounds come from callers and do.
"""

from __future__ import annotations

from headrace.tables.orders import BYTES, KeyOrder, terminated
from headrace.tables.windows import SessionWindows, TimeWindows, Windows

Bounds = tuple[bytes, bytes | None]  # from the first, included, up to the second, excluded; None is no end


class Places:
    """The places of one table's keys."""

    __slots__ = ("_encode", "_order", "_suffix", "_windows", "are_keys")

    def __init__(self, order: KeyOrder, windows: Windows | None) -> None:
        self._order = order
        self._encode = order.encode
        self._windows = windows
        self._suffix = windows.suffix_bytes if windows else 0
        self.are_keys = order is BYTES and windows is None

    @property
    def name(self) -> str:
        """Stands for this arrangement in a store on disk."""
        kind = {TimeWindows: "/time", SessionWindows: "/session"}.get(type(self._windows), "")
        return self._order.name + kind

    @property
    def keep_prefixes(self) -> bool:
        return self._order.keeps_prefixes

    def place(self, key: bytes) -> bytes:
        """The place of a key of the topic."""
        if self.are_keys:
            return key
        try:
            if not self._suffix:
                return b"\x00" + self._encode(key)
            if len(key) < self._suffix:
                return b"\x01" + key
            return b"\x00" + terminated(self._encode(key[: -self._suffix])) + key[-self._suffix :]
        except Exception:
            # The order is a caller's function over bytes of a stranger: whatever it raises means "not one of my keys".
            return b"\x01" + key

    def everything(self) -> Bounds:
        return b"", None

    def between(self, low: bytes | None, high: bytes | None, include_low: bool, include_high: bool) -> Bounds:
        """The rows from one key (inner key, with windows) to another. Keys that the order refuses are in no range."""
        first = b"" if low is None else self._edge(low, after=not include_low)
        if high is None:
            return first, None if self.are_keys else b"\x01"
        return first, self._edge(high, after=include_high)

    def _edge(self, key: bytes, *, after: bool) -> bytes:
        """The bound just before the rows of `key`, or just after them."""
        if self._windows is None:
            place = key if self.are_keys else b"\x00" + self._encode(key)
            return place + b"\x00" if after else place
        stem = b"\x00" + terminated(self._encode(key))
        return stem[:-1] + b"\x01" if after else stem

    def prefixed(self, prefix: bytes) -> Bounds:
        """The rows whose key (inner key, with windows) begins with `prefix`."""
        stem = prefix
        if not self.are_keys:
            stem = b"\x00" + (terminated(self._encode(prefix))[:-2] if self._windows else self._encode(prefix))
        kept = stem.rstrip(b"\xff")
        return stem, kept[:-1] + bytes((kept[-1] + 1,)) if kept else None

    def within(self, key: bytes, first: bytes, last: bytes) -> Bounds:
        """The windows of one key, from the one with the suffix `first` to the one with `last`."""
        stem = b"\x00" + terminated(self._encode(key))
        return stem + first, stem + last + b"\x00"

    def split(self, key: bytes) -> tuple[bytes, bytes]:
        """A topic's key as inner key and window suffix; ValueError when it is too short to have one."""
        if len(key) < self._suffix:
            raise ValueError(f"a windowed key has at least {self._suffix} bytes, not {len(key)}")
        cut = len(key) - self._suffix
        return key[:cut], key[cut:]
