"""`python -m tests.oracle.record [PROFILE ...]`: ask Apache Kafka anew and keep its answers in `golden/`.

Asks twice, of two new brokers, and refuses to keep what changes from one time to the other.
"""

from __future__ import annotations

import sys

from conformance.apache_kafka import apache_kafka
from tests.oracle.play import PROFILES, compare, play, write_golden
from tests.oracle.script import Exchange


def ask_kafka(profile: str) -> dict[str, list[Exchange]]:
    with apache_kafka(PROFILES[profile].settings) as kafka:
        return play(profile, kafka.port)


def main() -> None:
    for profile in sys.argv[1:] or PROFILES:
        first, second = ask_kafka(profile), ask_kafka(profile)
        changing = [found for script in first for found in compare(script, first[script], second[script])]
        if changing:
            sys.exit("not the same twice:\n" + "\n".join(map(str, changing)))
        for script, exchanges in first.items():
            write_golden(script, exchanges)
        print(f"{profile}: {sum(map(len, first.values()))} answers in {len(first)} scripts")


if __name__ == "__main__":
    main()
