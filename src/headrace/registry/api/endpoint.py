"""How an endpoint is declared: method and path, what it takes, who answers it. Routing, permissions, OpenAPI and the reference page derive from it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.registry.api.call import Call
from headrace.registry.writer import Change


class Way(enum.Enum):
    """Where an answer comes from."""

    MEMORY = "memory"
    """At once, on the event loop."""
    THREAD = "thread"
    """After work such as parsing a schema, in a thread."""
    LEADER = "leader"
    """The handler gives a `Write`, which the leader carries out."""


@dataclass(frozen=True)
class Parameter:
    """A query parameter. `kind` is a JSON type."""

    name: str
    doc: str
    kind: str = "string"
    many: bool = False


@dataclass(frozen=True)
class Write:
    """A change for the leader, and how its outcome is told. `repeatable`: done twice it is the same as once, so that it may be sent again."""

    change: Change
    answer: Callable[[Any], Any] = field(default=lambda outcome: outcome)
    repeatable: bool = False


@dataclass(frozen=True)
class Plain:
    """An answer that is not JSON, or whose status is not 200."""

    body: Any = None
    status: int = 200
    media_type: str | None = None


@dataclass(frozen=True)
class Endpoint:
    method: str
    path: str
    summary: str
    handler: Callable[[Call], Any]
    way: Way = Way.MEMORY
    parameters: tuple[Parameter, ...] = ()
    body: str = ""
    """The name of the body's form in `openapi.FORMS`; empty when there is none."""
    answer: str = "Anything"
    errors: tuple[int, ...] = ()
    writes: bool = False
    """Whether a user who may only read is refused."""
    in_contexts: bool = True
    """Whether it is there under `/contexts/<context>` too."""
    shortcut: Callable[[Call], Any] | None = None
    """Tried first, on the event loop, for what usually needs no work; None as its answer says nothing."""
    public: bool = False
    """Whether it answers without a name and password, for probes."""

    @property
    def path_names(self) -> list[str]:
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


DELETED = Parameter("deleted", "Also what is soft deleted.", "boolean")
OFFSET = Parameter("offset", "How many to leave out first (0).", "integer")
LIMIT = Parameter("limit", "How many at most; -1 for the default.", "integer")
NORMALIZE = Parameter("normalize", "Bring what has no fixed order into one before comparing and storing.", "boolean")
FORMAT = Parameter(
    "format", "Another form of the text: `resolved` (Avro, JSON), `serialized` or `ignore_extensions` (Protobuf)."
)
