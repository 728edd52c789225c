"""`/subjects`: what is registered under which name."""

from __future__ import annotations

from typing import Any

from headrace.registry import subjects
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import (
    DELETED,
    FORMAT,
    LIMIT,
    NORMALIZE,
    OFFSET,
    Endpoint,
    Parameter,
    Plain,
    Way,
    Write,
)
from headrace.registry.api.entities import formatted, registered, schema_entity
from headrace.registry.deletion import on_delete_subject, on_delete_version
from headrace.registry.errors import schema_not_found, subject_not_found, version_not_found
from headrace.registry.lookup import in_any_context, known_version, look_up, names_with_prefix
from headrace.registry.model import StoredSchema
from headrace.registry.registration import on_register, on_tag
from headrace.registry.requests import SchemaRequest, schema_request, tag_request
from headrace.registry.service import Registry


def list_subjects(call: Call) -> Any:
    only_deleted, deleted = call.flag("deletedOnly"), call.flag("deleted")
    state, found = call.registry.state, []
    for name in names_with_prefix(state, call.prefix(subjects.ANY_CONTEXT)):
        active = state.latest(name) is not None
        if not active if only_deleted else active or deleted:
            found.append(name)
    settings = call.registry.settings
    return call.page(found, settings["subject.search.default.limit"], settings["subject.search.max.limit"])


def list_versions(call: Call) -> Any:
    subject, state = call.subject(), call.registry.state
    deleted, only_deleted, negative = call.flag("deleted"), call.flag("deletedOnly"), call.flag("deletedAsNegative")
    if not state.has_subjects(subject, deleted=deleted or only_deleted):
        raise subject_not_found(subject)
    found = []
    for schema in state.versions(subject):
        if negative:
            found.append(-schema.version if schema.deleted else schema.version)
        elif schema.deleted if only_deleted else deleted or not schema.deleted:
            found.append(schema.version)
    return call.page(found)


def sought(call: Call, *, deleted: bool) -> StoredSchema:
    """The version in the path, in any context when the subject names none."""
    subject, version, state = call.subject(), call.version(), call.registry.state
    schema = in_any_context(state, subject, lambda name: state.version(name, version, deleted=deleted))
    if schema is None:
        if state.has_subjects(subject, deleted=deleted):
            raise version_not_found(version)
        raise subject_not_found(subject)
    return schema


def show_version(call: Call) -> Any:
    schema = sought(call, deleted=call.flag("deleted"))
    text = formatted(call.registry.state, call.registry.parser, schema, call.text("format"))
    entity = schema_entity(schema, text, qualified=call.text("referenceFormat") == "qualified")
    if call.texts("findTags"):
        entity["schemaTags"] = []
    return entity


def show_text(call: Call) -> Any:
    schema = sought(call, deleted=call.flag("deleted"))
    return Plain(formatted(call.registry.state, call.registry.parser, schema, call.text("format")) or schema.text)


def list_referrers(call: Call) -> Any:
    schema = sought(call, deleted=True)
    uses = call.registry.state.referrers(schema.subject, schema.version, deleted=call.flag("deleted"))
    return call.page(sorted({each.id for each in uses}))


def find_schema(call: Call) -> Any:
    request = schema_request(call.body)
    return found_schema(
        call, look_up(call.registry, call.subject(), request, call.flag("normalize"), call.flag("deleted"))
    )


def find_known(call: Call) -> Any:
    request, deleted = schema_request(call.body), call.flag("deleted")
    known = known_version(call.registry, call.subject(), request, normalize=call.flag("normalize"), deleted=deleted)
    return None if known is None else schema_entity(known)


def found_schema(call: Call, schema: StoredSchema | None) -> Any:
    subject, registry = call.subject(), call.registry
    if schema is None:
        if registry.state.has_subjects(subject, deleted=call.flag("deleted")):
            raise schema_not_found()
        raise subject_not_found(subject)
    return schema_entity(schema, formatted(registry.state, registry.parser, schema, call.text("format")))


def find_by_metadata(call: Call) -> Any:
    wanted = dict(zip(call.texts("key"), call.texts("value")))
    state, deleted = call.registry.state, call.flag("deleted")
    for schema in reversed(state.versions(call.subject(), deleted=deleted)):
        properties = (schema.metadata or {}).get("properties", {})
        if schema.metadata is not None and all(properties.get(key) == value for key, value in wanted.items()):
            return found_schema(call, schema)
    return found_schema(call, None)


def register(call: Call) -> Any:
    registry, request = call.registry, schema_request(call.body)
    subject = call.subject(new=True)
    normalize, force, form = call.flag("normalize"), call.flag("force"), call.text("format")
    # What is no schema is refused here, before it takes the leader's time.
    known = look_up(registry, subject, request, normalize, deleted=False, new=True)
    if known is not None and _is_meant(registry, request, known):
        return registered(known, formatted(registry.state, registry.parser, known, form), sent=request.text)

    def change(state: Any) -> Any:
        return on_register(
            state, registry.parser, registry.defaults, subject, request, normalize=normalize, force=force
        )

    def answer(schema: StoredSchema) -> Any:
        return registered(schema, formatted(registry.state, registry.parser, schema, form), sent=request.text)

    return Write(change, answer, repeatable=True)


def registered_before(call: Call) -> Any:
    request, registry = schema_request(call.body), call.registry
    subject, normalize = call.subject(new=True), call.flag("normalize")
    known = known_version(registry, subject, request, normalize=normalize, deleted=False, new=True)
    return registered(known, sent=request.text) if known is not None and _is_meant(registry, request, known) else None


def _is_meant(registry: Registry, request: SchemaRequest, known: StoredSchema) -> bool:
    """Whether a version that is kept already is all that a registration asks for."""
    if registry.defaults.fills_in(registry.state, known.subject) or request.version > 0:
        return False
    newest = registry.state.latest(known.subject)
    return request.id in (None, known.id) and (request.version == 0 or known == newest)


def tag(call: Call) -> Any:
    schema, request, registry = sought(call, deleted=False), tag_request(call.body), call.registry

    def change(state: Any) -> Any:
        return on_tag(state, registry.parser, registry.defaults, schema.subject, schema.version, request)

    return Write(change, registered)


def delete_version(call: Call) -> Any:
    subject, version, permanent = call.subject(), call.version(), call.flag("permanent")
    return Write(lambda state: on_delete_version(state, subject, version, permanent=permanent))


def delete_subject(call: Call) -> Any:
    subject, permanent = call.subject(), call.flag("permanent")
    return Write(lambda state: on_delete_subject(state, subject, permanent=permanent))


_PERMANENT = Parameter("permanent", "Delete for good what was soft deleted before.", "boolean")
_DELETED_ONLY = Parameter("deletedOnly", "Only what is soft deleted.", "boolean")
_REFERENCE_FORMAT = Parameter("referenceFormat", "`qualified` names references with their context.")
_FIND_TAGS = Parameter("findTags", "Taken and not used: tags are not sought.", many=True)

ENDPOINTS = (
    Endpoint(
        "POST",
        "/subjects/{subject}/versions",
        "Register a schema. One that is there already keeps its id and version.",
        register,
        Way.THREAD,
        (NORMALIZE, FORMAT, Parameter("force", "Without a check of compatibility.", "boolean")),
        "SchemaRequest",
        "Registered",
        (40901, 42201, 42205, 42208, 42209, 42210),
        writes=True,
        shortcut=registered_before,
    ),
    Endpoint(
        "POST",
        "/subjects/{subject}",
        "Look up a schema under a subject: is it registered, and as which version?",
        find_schema,
        Way.THREAD,
        (NORMALIZE, DELETED, FORMAT),
        "SchemaRequest",
        "Schema",
        (40401, 40403, 42201),
        shortcut=find_known,
    ),
    Endpoint(
        "GET",
        "/subjects/{subject}/versions/{version}",
        "A version of a subject; `latest` or -1 for the newest.",
        show_version,
        Way.MEMORY,
        (DELETED, FORMAT, _REFERENCE_FORMAT, _FIND_TAGS),
        answer="Schema",
        errors=(40401, 40402, 42202),
    ),
    Endpoint(
        "GET",
        "/subjects",
        "The subjects, sorted.",
        list_subjects,
        Way.MEMORY,
        (
            Parameter("subjectPrefix", "Only subjects that begin so; `:*:` in any context."),
            DELETED,
            _DELETED_ONLY,
            OFFSET,
            LIMIT,
        ),
        answer="Texts",
    ),
    Endpoint(
        "GET",
        "/subjects/{subject}/versions",
        "The versions of a subject.",
        list_versions,
        Way.MEMORY,
        (
            DELETED,
            _DELETED_ONLY,
            Parameter("deletedAsNegative", "All, the soft deleted ones as negative numbers.", "boolean"),
            OFFSET,
            LIMIT,
        ),
        answer="Numbers",
        errors=(40401,),
    ),
    Endpoint(
        "GET",
        "/subjects/{subject}/versions/{version}/schema",
        "The text of a version, and nothing else.",
        show_text,
        Way.MEMORY,
        (DELETED, FORMAT),
        answer="Text",
        errors=(40401, 40402, 42202),
    ),
    Endpoint(
        "GET",
        "/subjects/{subject}/versions/{version}/referencedby",
        "The ids of the schemas that refer to this version.",
        list_referrers,
        Way.MEMORY,
        (DELETED, OFFSET, LIMIT),
        answer="Numbers",
        errors=(40401, 40402, 42202),
    ),
    Endpoint(
        "POST",
        "/subjects/{subject}/versions/{version}/tags",
        "Register a version anew with other metadata and rules.",
        tag,
        Way.THREAD,
        body="TagRequest",
        answer="Registered",
        errors=(40401, 40402, 40901, 42201, 42202, 42205, 42210),
        writes=True,
    ),
    Endpoint(
        "GET",
        "/subjects/{subject}/metadata",
        "The newest version whose metadata have these properties.",
        find_by_metadata,
        Way.MEMORY,
        (
            Parameter("key", "A property's name.", many=True),
            Parameter("value", "Its value, in the order of the names.", many=True),
            DELETED,
            FORMAT,
        ),
        answer="Schema",
        errors=(40401, 40403),
    ),
    Endpoint(
        "DELETE",
        "/subjects/{subject}",
        "Soft delete a subject: its versions are hidden, their ids stay readable.",
        delete_subject,
        Way.LEADER,
        (_PERMANENT,),
        answer="Numbers",
        errors=(40401, 40404, 40405, 40904, 42205, 42206),
        writes=True,
    ),
    Endpoint(
        "DELETE",
        "/subjects/{subject}/versions/{version}",
        "Soft delete a version.",
        delete_version,
        Way.LEADER,
        (_PERMANENT,),
        answer="Number",
        errors=(40401, 40402, 40406, 40407, 40907, 42202, 42205, 42206),
        writes=True,
    ),
)
