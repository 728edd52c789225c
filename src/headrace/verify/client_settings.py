"""Settings of the clients that write histories: safe ones, with timeouts short enough to see the end of a fault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TRANSACTION_TIMEOUT_MS = 15_000
CALL_TIMEOUT_S = 12.0
RETURN_WITHIN_S = CALL_TIMEOUT_S + 3.0
PERSISTENT: Mapping[str, Any] = {
    "client.id": "headrace-verify",
    # A line that is logged while a fatal error is on its way up would turn it into a SystemError.
    "log_level": 0,
    "socket.timeout.ms": 5_000,
    "retry.backoff.ms": 50,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "topic.metadata.refresh.interval.ms": 5_000,
}
PRODUCING: Mapping[str, Any] = {**PERSISTENT, "linger.ms": 2, "message.timeout.ms": TRANSACTION_TIMEOUT_MS - 1_000}
TRANSACTIONAL: Mapping[str, Any] = {**PRODUCING, "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS}
READING: Mapping[str, Any] = {**PERSISTENT, "fetch.wait.max.ms": 50, "enable.auto.commit": False}
IN_GROUP: Mapping[str, Any] = {
    **READING,
    "session.timeout.ms": 6_000,
    "heartbeat.interval.ms": 500,
    "isolation.level": "read_committed",
}
