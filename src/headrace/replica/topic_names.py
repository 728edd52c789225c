"""What a topic may be called, and which topics are the broker's own."""

from __future__ import annotations

import re

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
CLUSTER_METADATA = "__cluster_metadata"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})

MAX_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def topic_name_problem(name: str) -> str | None:
    """Why `name` cannot be a topic's name; None if it can."""
    if not name:
        return "A topic name must not be empty."
    if name in (".", ".."):
        return f"A topic cannot be called {name!r}."
    if len(name) > MAX_LENGTH:
        return f"A topic name has at most {MAX_LENGTH} characters, this one has {len(name)}."
    if not _LEGAL.fullmatch(name):
        return f"The topic name {name!r} has characters other than letters, digits, '.', '_' and '-'."
    return None


def is_internal(name: str) -> bool:
    return name in INTERNAL_TOPICS
