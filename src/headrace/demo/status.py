"""What the demo says of itself while it runs, as a topic, so that the page needs nobody but the broker: the scenario's time, how far behind things are, the score so far."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.demo.scenario import Incident, Scenario, is_night
from headrace.demo.scoring import Score

STATUS = "emergency-status"
KEY = "demo"
MOST_EVENTS = 20


@dataclass(frozen=True)
class Status:
    """One look at the demo. `events`: what was killed and came back, the newest last."""

    scenario: Scenario
    epoch_ms: int
    now_s: float
    posts: int
    behind_s: float | None
    score: Score
    events: Sequence[str] = ()
    over: bool = False

    def encode(self) -> bytes:
        document = {
            "seed": self.scenario.seed,
            "rate": self.scenario.rate,
            "speed": self.scenario.speed,
            "epoch_ms": self.epoch_ms,
            "now_s": round(self.now_s, 1),
            "night": is_night(self.now_s),
            "posts": self.posts,
            "behind_s": None if self.behind_s is None else round(self.behind_s, 2),
            "score": self.score.document(),
            "found": [
                {
                    "what": _what(one.incident),
                    "delay_s": None if one.delay_s is None else round(one.delay_s, 2),
                }
                for one in self.score.found
            ],
            "events": list(self.events)[-MOST_EVENTS:],
            "over": self.over,
        }
        return json.dumps(document, ensure_ascii=False).encode()


def _what(incident: Incident) -> str:
    return f"{incident.kind.value} near {incident.place.name}"


def decode(value: bytes | None) -> dict[str, Any]:
    found = json.loads(value or b"{}")
    return found if isinstance(found, dict) else {}
