"""When a coordinator looks for timed-out transactions and expired ids: at intervals, as Kafka does, and only if there is need."""

from __future__ import annotations

from headrace.coordinator.transactions.config import TransactionConfig


class Deadlines:
    """Each is None while nothing asks for it, and again once it is due."""

    __slots__ = ("_config", "_expiry_ms", "_retry_ms", "_timeouts_ms")

    def __init__(self, config: TransactionConfig) -> None:
        self._config = config
        self._timeouts_ms: int | None = None
        self._expiry_ms: int | None = None
        self._retry_ms: int | None = None

    def watch_timeouts(self, now_ms: int) -> None:
        """A transaction is open: look at it after the interval, unless a look is due before."""
        if self._timeouts_ms is None:
            self._timeouts_ms = now_ms + self._config.abort_timed_out_interval_ms

    def watch_expiry(self, now_ms: int) -> None:
        self._expiry_ms = now_ms + self._config.remove_expired_interval_ms

    def retry_at(self, when_ms: int) -> None:
        if self._retry_ms is None:
            self._retry_ms = when_ms

    def next_ms(self) -> int | None:
        return min(self._set(), default=None)

    def is_timeout_check_due(self, now_ms: int) -> bool:
        if self._timeouts_ms is None or now_ms < self._timeouts_ms:
            return False
        self._timeouts_ms = None
        return True

    def is_expiry_due(self, now_ms: int) -> bool:
        if self._expiry_ms is None or now_ms < self._expiry_ms:
            return False
        self._expiry_ms = None
        return True

    def is_retry_due(self, now_ms: int) -> bool:
        if self._retry_ms is None or now_ms < self._retry_ms:
            return False
        self._retry_ms = None
        return True

    def shift(self, delta_ms: int) -> None:
        """The wall clock was set."""
        self._timeouts_ms = _moved(self._timeouts_ms, delta_ms)
        self._expiry_ms = _moved(self._expiry_ms, delta_ms)
        self._retry_ms = _moved(self._retry_ms, delta_ms)

    def _set(self) -> list[int]:
        return [each for each in (self._timeouts_ms, self._expiry_ms, self._retry_ms) if each is not None]


def _moved(deadline_ms: int | None, delta_ms: int) -> int | None:
    return None if deadline_ms is None else deadline_ms + delta_ms
