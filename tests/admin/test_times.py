"""Times, durations and sizes as people write them."""

from __future__ import annotations

import pytest

from headrace.admin.errors import UsageMistake
from headrace.admin.times import duration, iso, parse_duration_ms, parse_size, parse_time_ms, size


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500ms", 500), ("90s", 90_000), ("5m", 300_000), ("1h30m", 5_400_000), ("7d", 604_800_000), ("1.5s", 1_500)],
)
def test_durations(text: str, expected: int) -> None:
    assert parse_duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "5", "m5", "5 m", "5y", "-5m", "5m!"])
def test_what_is_not_a_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageMistake, match="is not a duration") as caught:
        parse_duration_ms(text)
    assert "1h30m" in caught.value.line()


def test_times() -> None:
    assert parse_time_ms("-5m", now=1_000_000) == 700_000
    assert parse_time_ms("now", now=42) == 42
    assert parse_time_ms("@1700000000123") == 1_700_000_000_123
    assert parse_time_ms("2023-11-14T22:13:20Z") == 1_700_000_000_000
    assert parse_time_ms("2023-11-14T23:13:20+01:00") == 1_700_000_000_000
    assert iso(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"


@pytest.mark.parametrize("text", ["yesterday", "2023-13-01", "@12x", "12:00"])
def test_what_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(UsageMistake):
        parse_time_ms(text)


def test_sizes() -> None:
    assert [parse_size(text) for text in ("100", "1k", "64KiB", "1.5m", "2GB")] == [100, 1024, 65536, 1572864, 2 << 30]
    assert [size(count) for count in (0, 1023, 1536, 5 << 20)] == ["0 B", "1023 B", "1.5 KiB", "5.0 MiB"]
    with pytest.raises(UsageMistake):
        parse_size("many")


def test_durations_read_well() -> None:
    assert [duration(ms) for ms in (12.34, 500, 90_000, 3_600_000, 604_800_000)] == [
        "12.3 ms",
        "500 ms",
        "90 s",
        "1 h",
        "7 d",
    ]
