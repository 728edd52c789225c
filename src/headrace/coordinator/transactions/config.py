"""What a transaction coordinator needs to know of the broker's settings."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.coordinator.config import Settings


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    """Kafka's settings under Kafka's defaults; `from_settings` maps their names."""

    max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 7 * 24 * 3_600_000
    abort_timed_out_interval_ms: int = 10_000
    remove_expired_interval_ms: int = 3_600_000

    @classmethod
    def from_settings(cls, settings: Settings) -> TransactionConfig:
        return cls(
            max_timeout_ms=settings["transaction.max.timeout.ms"],
            transactional_id_expiration_ms=settings["transactional.id.expiration.ms"],
            abort_timed_out_interval_ms=settings["transaction.abort.timed.out.transaction.cleanup.interval.ms"],
            remove_expired_interval_ms=settings["transaction.remove.expired.transaction.cleanup.interval.ms"],
        )
