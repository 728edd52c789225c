"""One request as handlers see it: parameters read as Confluent's registry reads them, subjects in the context they came under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.registry import subjects
from headrace.registry.errors import RegistryError, invalid_subject, invalid_version
from headrace.registry.model import MAX_INT
from headrace.registry.requests import LATEST

if TYPE_CHECKING:
    from headrace.registry.service import Registry


@dataclass
class Call:
    """What came in. `context` is that of a path under `/contexts/<context>/`."""

    registry: Registry
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    body: Any = None
    context: str = subjects.DEFAULT_CONTEXT

    def text(self, name: str) -> str:
        values = self.query.get(name)
        return values[0] if values else ""

    def texts(self, name: str) -> list[str]:
        return list(self.query.get(name, ()))

    def flag(self, name: str) -> bool:
        return self.text(name).lower() == "true"

    def number(self, name: str, default: int) -> int:
        text = self.text(name)
        return default if text == "" else whole(text)

    def subject(self, *, new: bool = False) -> str:
        """The subject in the path, with aliases followed; with `new` it must be one that may be written."""
        given = self.path["subject"]
        subject = subjects.normalize(subjects.in_context(given, self.context))
        if new and not subjects.is_valid(subject):
            raise invalid_subject(given)
        return self.without_alias(subject)

    def without_alias(self, subject: str) -> str:
        config = self.registry.state.config(subject) or {}
        alias = config.get("alias")
        return subjects.normalize(subjects.beside(subject, alias)) if alias else subject

    def scope(self) -> str | None:
        """What a setting is for: a subject, a context, or (None) everything."""
        given = self.path.get("subject")
        text = subjects.join(self.context, "") if given is None else subjects.in_context(given, self.context)
        return None if subjects.is_default_context(text) else subjects.normalize(text)

    def sought_subject(self) -> str | None:
        """`?subject=`, under which an id is sought; a context counts as one."""
        given = self.text("subject")
        if not given:
            return subjects.join(self.context, "") or None
        return self.without_alias(subjects.normalize(subjects.in_context(given, self.context)))

    def prefix(self, default: str) -> str:
        """`?subjectPrefix=`, in the context of the path."""
        values = self.query.get("subjectPrefix")
        if self.context != subjects.DEFAULT_CONTEXT:
            return subjects.in_context(values[0] if values else "", self.context)
        return values[0] if values else default

    def version(self) -> int:
        """The version in the path; -1 for the latest."""
        text = self.path["version"].strip()
        if text.lower() == "latest":
            return LATEST
        bare = text.removeprefix("+")
        if not bare.removeprefix("-").isascii() or not bare.removeprefix("-").isdigit() or len(bare) > 11:
            raise invalid_version(self.path["version"])
        number = int(bare)
        if number != LATEST and not 1 <= number <= MAX_INT:
            raise invalid_version(self.path["version"])
        return number

    def page(self, found: Sequence[Any], default: int = MAX_INT, most: int = MAX_INT) -> list[Any]:
        """`?offset=` and `?limit=` of a list; a limit out of range means the default one."""
        offset, limit = max(self.number("offset", 0), 0), self.number("limit", -1)
        return list(found[offset : offset + (limit if 0 < limit <= most else default)])


def whole(text: str) -> int:
    """A 32-bit number; what is none gets 404, as from Confluent's registry."""
    bare = text.strip()
    if bare.removeprefix("-").isascii() and bare.removeprefix("-").isdigit() and len(bare) <= 11:
        number = int(bare)
        if -MAX_INT <= number <= MAX_INT:
            return number
    raise RegistryError(404, "HTTP 404 Not Found")
