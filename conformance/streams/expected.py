"""What Kafka Streams answered, on file: so that a slice of the suite needs no Java of others. `python -m conformance.streams --record` asks again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from conformance.results import EXPECTED
from conformance.streams import oracle
from conformance.streams.case import Case

PATH = EXPECTED / "streams.json"


def read() -> dict[str, dict[str, Any]]:
    """By the case's name: its outputs by topic."""
    return dict(json.loads(PATH.read_text()))


def record(cases: Iterable[Case]) -> int:
    """Ask Kafka Streams about all cases and keep its answers; how many there are."""
    asked = list(cases)
    outputs: dict[str, Any] = {}
    for case, answer in zip(asked, oracle.answers(case.question() for case in asked)):
        if "error" in answer:
            raise oracle.OracleError(f"{case.name}: {answer['error']}")
        outputs[case.name] = answer["outputs"]
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(each, ensure_ascii=False)}" for name, each in outputs.items())
    PATH.write_text(f"{{\n{lines}\n}}\n")
    return len(outputs)
