"""Which scripts there are, the brokers they want, and how they are played, kept and compared.

A script is a function of a `Script`. Those of one profile share a broker, one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.oracle.differences import DIFFERENCES, Difference
from tests.oracle.script import Exchange, Script
from tests.oracle.scripts import (
    admin,
    features,
    fetching,
    frames,
    groups,
    producing,
    reassignments,
    topics,
    transactions,
)

GOLDEN = Path(__file__).parent / "golden"
STANDARD = {
    "node.id": "1",
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",
    "num.partitions": "2",
}
Play = Callable[[Script], None]


class Profile(NamedTuple):
    """Scripts that can share a broker with these settings."""

    settings: Mapping[str, str]
    scripts: tuple[Play, ...]
    prepare: Play = lambda s: None


PROFILES = {
    "standard": Profile(
        STANDARD,
        (
            *producing.SCRIPTS,
            *fetching.SCRIPTS,
            *topics.SCRIPTS,
            *admin.SCRIPTS,
            *reassignments.SCRIPTS,
            *frames.SCRIPTS,
        ),
        producing.prepare,
    ),
    "auto-creation": Profile({**STANDARD, "auto.create.topics.enable": "true"}, topics.AUTO_CREATION_SCRIPTS),
    "log-dirs": Profile({**STANDARD, **reassignments.TWO_LOG_DIRS}, reassignments.TWO_LOG_DIRS_SCRIPTS),
    "features": Profile(STANDARD, features.SCRIPTS),
    "groups": Profile({**STANDARD, **groups.SETTINGS}, groups.SCRIPTS, groups.prepare),
    "transactions": Profile({**STANDARD, **transactions.SETTINGS}, transactions.SCRIPTS, transactions.prepare),
}


class Found(NamedTuple):
    """One exchange that did not go as it did with Kafka."""

    script: str
    label: str
    kafka: Any
    headrace: Any

    def __str__(self) -> str:
        return f"{self.script}: {self.label}\n  kafka    {self.kafka}\n  headrace {self.headrace}"


def play(profile: str, port: int) -> dict[str, list[Exchange]]:
    """All scripts of a profile against one broker."""
    with Script(port) as s:
        PROFILES[profile].prepare(s)
    answers = {}
    for script in PROFILES[profile].scripts:
        with Script(port) as s:
            script(s)
        # As they come back from a file.
        answers[script.__name__] = [(label, json.loads(json.dumps(answer))) for label, answer in s.exchanges]
    return answers


def scripts(profile: str) -> list[str]:
    return [script.__name__ for script in PROFILES[profile].scripts]


def read_golden(script: str) -> list[Exchange]:
    lines = (GOLDEN / f"{script}.jsonl").read_text().splitlines()
    return [(label, answer) for label, answer in map(json.loads, lines)]


def write_golden(script: str, exchanges: list[Exchange]) -> None:
    (GOLDEN / f"{script}.jsonl").write_text("".join(json.dumps(each, sort_keys=True) + "\n" for each in exchanges))


def compare(script: str, kafka: list[Exchange], headrace: list[Exchange]) -> list[Found]:
    """Exchanges with different answers, and those that only one side has."""
    expected, actual = dict(kafka), dict(headrace)
    labels = [*expected, *(label for label in actual if label not in expected)]
    both = [(label, expected.get(label, "not asked"), actual.get(label, "not asked")) for label in labels]
    return [Found(script, label, theirs, ours) for label, theirs, ours in both if theirs != ours]


def explained(found: Found) -> Difference | None:
    """The deliberate difference that this is."""
    return next((each for each in DIFFERENCES if each.explains(*found)), None)


def unexplained(found: Iterable[Found]) -> list[Found]:
    return [each for each in found if explained(each) is None]
