"""What went wrong, as people read it: one line that says what happened and one that says what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka import KafkaError


class Problem(Exception):
    """`message` says what is wrong, `next_step` what the user can do about it."""

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def line(self) -> str:
        first = " ".join(self.message.split()).rstrip(".")
        ended = first if first.endswith("?") else f"{first}."
        return f"{ended} {self.next_step}" if self.next_step else ended


class UsageMistake(Problem):
    """What the user wrote is wrong in itself."""


def near_misses(word: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The known words that a typing mistake may have turned into `word`."""
    folded = {name.lower(): name for name in known}
    return [folded[match] for match in get_close_matches(word.lower(), folded, n=limit, cutoff=0.6)]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ "Did you mean a or b?", or nothing when nothing is near."""
    matches = [f"'{match}'" for match in near_misses(word, known)]
    return f"Did you mean {' or '.join(matches)}?" if matches else ""


def unreachable(bootstrap_servers: str, source: str, reason: str) -> Problem:
    return Problem(
        f"No broker answers at {bootstrap_servers} ({source}): {reason}",
        "Start one with `headrace broker`, or name another with --bootstrap-server HOST:PORT",
    )


def unknown_topic(name: str, known: Iterable[str]) -> Problem:
    hint = did_you_mean(name, known)
    create = f"create it with `headrace topic create {name}`"
    return Problem(f"There is no topic '{name}'", f"{hint} Or {create}" if hint else create.capitalize())


def unknown_group(name: str, known: Iterable[str]) -> Problem:
    hint = did_you_mean(name, known)
    return Problem(f"There is no group '{name}'", hint or "See them with `headrace group list`")


def from_kafka(error: KafkaError, doing: str = "") -> Problem:
    """An error of the client library or the broker, with a next step where one is known."""
    from confluent_kafka import KafkaError as Codes

    steps = {
        Codes._TIMED_OUT: "Is the broker busy or the address wrong? Try again with a longer --timeout",
        Codes._ALL_BROKERS_DOWN: "Is it still running? Start one with `headrace broker`",
        Codes._TRANSPORT: "Is it still running? Start one with `headrace broker`",
        Codes.TOPIC_ALREADY_EXISTS: "Look at it with `headrace topic describe`, or pass --if-not-exists",
        Codes.NON_EMPTY_GROUP: "Stop its members first; `headrace group describe` shows them",
        Codes.GROUP_SUBSCRIBED_TO_TOPIC: "Stop its members first; `headrace group describe` shows them",
        Codes.GROUP_ID_NOT_FOUND: "See the groups with `headrace group list`",
        Codes.UNKNOWN_TOPIC_OR_PART: "See the topics with `headrace topic list`",
        Codes.INVALID_CONFIG: "See the settings with `headrace config describe --all`",
        Codes.INVALID_REPLICATION_FACTOR: "One broker can hold one replica: use --replication-factor 1",
        Codes.INVALID_RECORD: "A compacted topic takes only records with a key: give --key or --key-separator",
        Codes.MSG_SIZE_TOO_LARGE: "Raise the topic's max.message.bytes with `headrace config set`",
        Codes.TOPIC_AUTHORIZATION_FAILED: "Use a principal that may do this (-X sasl.username=...)",
        Codes.UNKNOWN_MEMBER_ID: "The group has active members: stop them first; `headrace group describe` shows them",
    }
    text = error.str().strip()
    return Problem(f"{doing}: {text}" if doing else text, steps.get(error.code(), ""))
