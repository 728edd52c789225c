"""The compatibility levels: which versions a new schema is held against, in which direction, and what a refusal says.

Versions are checked from the newest to the oldest; the first one that does not fit ends the check, as in Confluent's registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from headrace.registry.schemas.model import ParsedSchema, Policy

_SCHEMA_CHARACTERS_IN_A_MESSAGE = 10 * 1024


class Level(StrEnum):
    """What `compatibilityLevel` of a config says."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def transitive(self) -> bool:
        return self.value.endswith("_TRANSITIVE")

    @property
    def new_reads_old(self) -> bool:
        return self.value.startswith(("BACKWARD", "FULL"))

    @property
    def old_reads_new(self) -> bool:
        return self.value.startswith(("FORWARD", "FULL"))


def check(
    new: ParsedSchema, previous: Sequence[ParsedSchema], level: Level, policy: Policy = Policy.STRICT
) -> list[str]:
    """The messages of a verbose answer: none means compatible. `previous` is newest first."""
    if level is Level.NONE:
        return []
    for old in previous if level.transitive else previous[:1]:
        messages = _check_one(new, old, level, policy)
        if messages:
            return messages
    return []


def _check_one(new: ParsedSchema, old: ParsedSchema, level: Level, policy: Policy) -> list[str]:
    if new.schema_type != old.schema_type:
        return ["Incompatible because of different schema type"]
    messages: list[str] = []
    if level.old_reads_new:
        messages += _breaking(old, new, policy, ("old", "new"))
    if level.new_reads_old:
        backward = _breaking(new, old, policy, ("new", "old"))
        if not backward and level.old_reads_new:
            # In both directions Confluent names the old schema only with what breaks new readers.
            return messages
        messages += backward
    return messages + _about(old) if messages else []


def _breaking(reader: ParsedSchema, writer: ParsedSchema, policy: Policy, words: tuple[str, str]) -> list[str]:
    return [found.text(*words) for found in reader.differences(writer, policy) if not found.compatible]


def _about(old: ParsedSchema) -> list[str]:
    lines = []
    if old.source.version is not None:
        lines.append(f"{{oldSchemaVersion: {old.source.version}}}")
    text = old.canonical()
    if len(text) > _SCHEMA_CHARACTERS_IN_A_MESSAGE:
        lines.append(f"{{oldSchema: <truncated> '{text[:_SCHEMA_CHARACTERS_IN_A_MESSAGE]}...'}}")
    else:
        lines.append(f"{{oldSchema: '{text}'}}")
    return lines
