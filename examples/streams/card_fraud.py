"""Card fraud: payments that come too fast or sum up to too much raise an alarm.

    headrace run examples/streams/card_fraud.py

Terminals send a payment again when the line is bad, so repetitions are dropped first. Two rules look at each card: more than three payments within a
minute, and more than 1,000 within a minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.streams import App, agg, minutes, tumbling, when

SECOND = 1_000


@dataclass
class Payment:
    id: str
    amount: float
    country: str


@dataclass
class Minute:
    payments: int
    total: float


@dataclass
class Alarm:
    card: str
    rule: str
    payments: int
    total: float


def build() -> App:
    app = App("card-fraud")
    payments = app.stream("payments", key=str, value=Payment)
    once = payments.deduplicate(minutes(10), by=lambda payment: payment.id)

    per_minute = (
        once.group_by_key()
        .windowed_by(tumbling(minutes=1))
        .summarize(lambda payment: Minute(payments=agg.count(), total=agg.sum(payment.amount)), store="per-minute")
    )
    suspicious = per_minute.to_stream().filter(lambda minute: (minute.payments > 3) | (minute.total > 1000))
    suspicious.map(
        lambda window, minute: (
            window.key,
            Alarm(
                card=window.key,
                rule=when(minute.total > 1000).then("too much").otherwise("too fast"),
                payments=minute.payments,
                total=minute.total,
            ),
        )
    ).to("alarms")
    return app


RECORDS: list[tuple[str, Any, Any, int]] = [
    ("payments", "card-1", Payment("p1", 20.0, "DE"), 1 * SECOND),
    ("payments", "card-1", Payment("p1", 20.0, "DE"), 2 * SECOND),  # sent again
    ("payments", "card-2", Payment("p2", 900.0, "FR"), 3 * SECOND),
    ("payments", "card-1", Payment("p3", 5.0, "DE"), 4 * SECOND),
    ("payments", "card-2", Payment("p4", 400.0, "FR"), 5 * SECOND),
    ("payments", "card-1", Payment("p5", 5.0, "DE"), 6 * SECOND),
    ("payments", "card-1", Payment("p6", 5.0, "DE"), 7 * SECOND),
    ("payments", "card-1", Payment("p7", 5.0, "DE"), 70 * SECOND),
]

app = build()

if __name__ == "__main__":
    app.run()
