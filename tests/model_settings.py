"""How long the state machines run: the same short histories in every `make test`, new and more ones when asked for.

    HEADRACE_EXAMPLES=20 pytest tests/coordinator/test_group_model.py      20 times as many, at random

Hypothesis prints the steps of a failing history; `--hypothesis-seed=N` makes a random run repeatable.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

FACTOR = int(os.environ.get("HEADRACE_EXAMPLES", "0"))


def machine_settings(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples * max(FACTOR, 1),
        stateful_step_count=steps,
        deadline=None,
        derandomize=FACTOR == 0,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
