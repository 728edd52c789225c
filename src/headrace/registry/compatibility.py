"""Whether a schema may follow those before it, under the level that counts for its subject. Pure but for the parser's cache."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.registry.candidate import Candidate, candidate
from headrace.registry.defaults import Defaults
from headrace.registry.documents import reserved_fields
from headrace.registry.errors import invalid_schema
from headrace.registry.model import JsonObject, StoredSchema
from headrace.registry.parsing import Parser
from headrace.registry.requests import SchemaRequest
from headrace.registry.schemas import InvalidSchema, Level, Policy, check
from headrace.registry.state import State


def differences(
    state: State, parser: Parser, defaults: Defaults, sought: Candidate, previous: Sequence[StoredSchema]
) -> list[str]:
    """Why the schema may not follow `previous` (ascending); nothing means it may."""
    config = defaults.config(state, sought.subject)
    level, policy = Level(config["compatibilityLevel"]), Policy(config.get("compatibilityPolicy", Policy.STRICT))
    messages: list[str] = []
    if defaults.flag(config, "validateFields"):
        messages += _reserved(sought, previous[-1] if previous else None)
    group = config.get("compatibilityGroup")
    if group is not None:
        own = _property(sought.request.metadata, group)
        previous = [each for each in previous if _property(each.metadata, group) == own]
    if level is not Level.NONE:
        newest_first = reversed(previous if level.transitive else previous[-1:])
        earlier = [parser.stored(state, each) for each in newest_first]
        try:
            messages += check(sought.parsed, earlier, level, policy)
        except InvalidSchema as error:
            # Two schemas that are fine by themselves may take for ever to compare.
            raise invalid_schema(str(error)) from None
    if messages:
        flag = "true" if defaults.flag(config, "validateFields") else "false"
        messages.append(f"{{validateFields: '{flag}', compatibility: '{level}'}}")
    return messages


def on_check(
    state: State,
    parser: Parser,
    defaults: Defaults,
    subject: str,
    request: SchemaRequest,
    previous: Sequence[StoredSchema],
    *,
    normalize: bool,
) -> list[str]:
    """The messages for a schema that somebody thinks of registering."""
    config = defaults.config(state, subject)
    sought = candidate(
        state,
        parser,
        subject,
        request,
        normalize=normalize or defaults.flag(config, "normalize"),
        new=defaults.flag(config, "validateNewSchemas"),
    )
    return differences(state, parser, defaults, sought, previous)


def _reserved(sought: Candidate, before: StoredSchema | None) -> list[str]:
    """Reserved fields stay reserved, and nothing has their names."""
    reserved = reserved_fields(sought.request.metadata)
    gone = reserved_fields(before.metadata) - reserved if before else frozenset()
    lost = [
        f"The new schema has reserved field {name} removed from its metadata which is present in the old schema's metadata."
        for name in sorted(gone)
    ]
    used = [name for name in sorted(reserved) if sought.parsed.has_top_level_field(name)]
    return lost + [f"The new schema has field that conflicts with the reserved field {name}." for name in used]


def _property(metadata: JsonObject | None, name: str) -> str | None:
    found = (metadata or {}).get("properties", {}).get(name)
    return found if isinstance(found, str) else None
