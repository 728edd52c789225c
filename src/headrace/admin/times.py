"""Times, durations, sizes and counts as people write and read them: `-5m`, `2026-01-31T12:00`, `7d`, `1.5 MiB`."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

from headrace.admin.errors import UsageMistake

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_UNITS_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def parse_duration_ms(text: str) -> int:
    """`90s`, `5m`, `1h30m`, `7d`."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise UsageMistake(f"'{text}' is not a duration", "Write it like 90s, 5m, 1h30m or 7d")
    return round(sum(float(number) * _UNITS_MS[unit] for number, unit in parts))


def parse_time_ms(text: str, *, now: int | None = None) -> int:
    """A point in time in milliseconds: `-5m` (ago), `@1700000000000` (epoch), `now`, or ISO 8601 (local unless it has a zone)."""
    if text == "now":
        return now_ms() if now is None else now
    if text.startswith("-"):
        return (now_ms() if now is None else now) - parse_duration_ms(text[1:])
    if text.startswith("@") and text[1:].isdigit():
        return int(text[1:])
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageMistake(
            f"'{text}' is not a time", "Write -5m, 2026-01-31T12:00, 2026-01-31T12:00Z or @MILLISECONDS"
        ) from None
    return round(moment.astimezone().timestamp() * 1000)


def parse_size(text: str) -> int:
    """`100`, `1k`, `64KiB`, `1.5m`: bytes, in powers of 1,024."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise UsageMistake(f"'{text}' is not a size", "Write it like 100, 1k or 64KiB")
    return round(float(match[1]) * _UNITS_BYTES[match[2].lower()])


def iso(timestamp_ms: int) -> str:
    """UTC, to the millisecond; what scripts read."""
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def local(timestamp_ms: int) -> str:
    """The user's own time zone; what people read."""
    return datetime.fromtimestamp(timestamp_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def duration(milliseconds: float) -> str:
    """7 d, 36 h, 90 s, 12.5 ms: the largest unit that keeps the number at two digits or whole."""
    for unit in ("d", "h", "m", "s"):
        size = _UNITS_MS[unit]
        if milliseconds >= size and (milliseconds % size == 0 or milliseconds >= 2 * size):
            amount = milliseconds / size
            return f"{amount:.0f} {unit}" if amount == int(amount) else f"{amount:.1f} {unit}"
    return (
        f"{milliseconds:.0f} ms"
        if milliseconds >= 100 or milliseconds == int(milliseconds)
        else f"{milliseconds:.1f} ms"
    )


def size(count: float) -> str:
    """1.5 MiB and the like."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def number(value: int | float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def counted(amount: int, noun: str) -> str:
    """`1 record`, `2,000 records`."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"
