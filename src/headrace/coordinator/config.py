"""What a group coordinator needs to know of the broker's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

MINUTE_MS = 60_000


class Settings(Protocol):
    """Broker settings by Kafka's names."""

    def __getitem__(self, name: str, /) -> Any: ...


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Kafka's settings under Kafka's defaults; `from_settings` maps their names."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1
    offset_metadata_max_bytes: int = 4096
    offsets_retention_ms: int = 7 * 24 * 60 * MINUTE_MS
    offsets_retention_check_interval_ms: int = 600_000
    new_member_join_timeout_ms: int = 5 * MINUTE_MS
    """A constant in Kafka: a member that has never got a join response is given up after this long."""

    @classmethod
    def from_settings(cls, settings: Settings) -> GroupConfig:
        return cls(
            min_session_timeout_ms=settings["group.min.session.timeout.ms"],
            max_session_timeout_ms=settings["group.max.session.timeout.ms"],
            initial_rebalance_delay_ms=settings["group.initial.rebalance.delay.ms"],
            max_size=settings["group.max.size"],
            offset_metadata_max_bytes=settings["offset.metadata.max.bytes"],
            offsets_retention_ms=settings["offsets.retention.minutes"] * MINUTE_MS,
            offsets_retention_check_interval_ms=settings["offsets.retention.check.interval.ms"],
        )
