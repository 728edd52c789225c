"""How a key or a value lies in a record's bytes: a format by name, its options, and the columns it holds.

What formats exist, their options and their codecs is declared in `headrace.formats`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headrace.plan.types import Struct


@dataclass(frozen=True)
class Option:
    name: str
    value: str


class KeyWindow(StrEnum):
    """Kafka Streams' two forms of a windowed key: the key's bytes and then the window's start, or its end and start."""

    TIME = "time"
    SESSION = "session"


@dataclass(frozen=True)
class Serde:
    """A format and the columns that it carries. `wrapped`: a single column is a record with one field, not the bare value."""

    format: str
    columns: Struct
    options: tuple[Option, ...] = ()
    wrapped: bool = True
    window: KeyWindow | None = None
    window_size_ms: int | None = None  # of time windows: the bytes hold the start only

    def option(self, name: str, default: str) -> str:
        return next((option.value for option in self.options if option.name == name), default)
