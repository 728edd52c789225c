"""`/schemas`: schemas by their id or GUID, whatever subject they are under."""

from __future__ import annotations

from typing import Any

from headrace.registry import subjects
from headrace.registry.api.call import Call, whole
from headrace.registry.api.endpoint import DELETED, FORMAT, LIMIT, OFFSET, Endpoint, Parameter, Plain
from headrace.registry.api.entities import association_entity, formatted, schema_by_id, schema_entity
from headrace.registry.documents import has_rule_type
from headrace.registry.errors import schema_not_found
from headrace.registry.lookup import names_with_prefix
from headrace.registry.lookup import schema_by_id as find_by_id
from headrace.registry.model import StoredSchema
from headrace.registry.schemas import TYPES
from headrace.registry.state import State


def _sought(call: Call, *, named: bool = True) -> StoredSchema:
    id_ = whole(call.path["id"])
    schema = find_by_id(call.registry.state, id_, call.sought_subject())
    if schema is None:
        raise schema_not_found(id_ if named else None)
    return schema


def show_by_id(call: Call) -> Any:
    schema, registry = _sought(call), call.registry
    text = formatted(registry.state, registry.parser, schema, call.text("format"))
    entity = schema_by_id(
        schema, text, named=bool(call.text("subject")), qualified=call.text("referenceFormat") == "qualified"
    )
    if call.flag("fetchMaxId"):
        entity["maxId"] = registry.state.max_id(subjects.context_of(schema.subject))
    return entity


def show_text_by_id(call: Call) -> Any:
    schema, registry = _sought(call), call.registry
    return Plain(formatted(registry.state, registry.parser, schema, call.text("format")) or schema.text)


def _uses(call: Call) -> list[StoredSchema]:
    schema, state = _sought(call, named=False), call.registry.state
    uses = state.uses_of_id(schema.id, subjects.context_of(schema.subject))
    name, deleted = call.text("subject"), call.flag("deleted")
    only = None if not name or subjects.is_context(call.sought_subject()) else schema.subject
    return [each for each in uses if (deleted or not each.deleted) and only in (None, each.subject)]


def list_subjects_of_id(call: Call) -> Any:
    return call.page(list(dict.fromkeys(each.subject for each in _uses(call))))


def list_versions_of_id(call: Call) -> Any:
    return call.page([{"subject": each.subject, "version": each.version} for each in _uses(call)])


def _by_guid(state: State, guid: str) -> list[tuple[str, int]]:
    """Context and id of every schema with this GUID."""
    bare = guid.replace("-", "")
    try:
        digest = bytes.fromhex(bare)
    except ValueError:
        return []
    found = ((context, state.id_of(digest, context)) for context in state.contexts())
    return [(context, id_) for context, id_ in found if id_ is not None]


def show_by_guid(call: Call) -> Any:
    registry, guid = call.registry, call.path["guid"]
    found = _by_guid(registry.state, guid)
    schema = registry.state.by_id(found[0][1], found[0][0]) if found else None
    if schema is None:
        raise schema_not_found(guid)
    return schema_by_id(schema, formatted(registry.state, registry.parser, schema, call.text("format")))


def list_ids_of_guid(call: Call) -> Any:
    return [{"context": context, "id": id_} for context, id_ in _by_guid(call.registry.state, call.path["guid"])]


def list_types(call: Call) -> Any:
    return list(TYPES)


def list_schemas(call: Call) -> Any:
    state, settings = call.registry.state, call.registry.settings
    aliases = state.aliases() if call.flag("aliases") else {}
    prefix = call.prefix("")
    names = set(names_with_prefix(state, prefix))
    names |= {subject for subject, others in aliases.items() if any(each.startswith(prefix) for each in others)}
    found: list[dict[str, Any]] = []
    for name in sorted(names):
        found += [{**entity, **_aliases(aliases, name)} for entity in _entities(call, name)]
    return call.page(found, settings["schema.search.default.limit"], settings["schema.search.max.limit"])


def _entities(call: Call, subject: str) -> list[dict[str, Any]]:
    versions = call.registry.state.versions(subject, deleted=call.flag("deleted"))
    rule_type = call.text("ruleType")
    wanted = versions[-1:] if call.flag("latestOnly") else versions
    kept = [each for each in wanted if not rule_type or has_rule_type(each.rule_set, rule_type)]
    extra = _associations(call, subject)
    return [] if extra is None else [{**schema_entity(each), **extra} for each in kept]


def _associations(call: Call, subject: str) -> dict[str, Any] | None:
    """The associations of a subject, where the call asks for some; None when it has none of those."""
    kinds, lifecycles = call.texts("associationType"), [each.upper() for each in call.texts("lifecycle")]
    resource_type = call.text("resourceType")
    if not (kinds or lifecycles or resource_type):
        return {}
    found = [
        each
        for each in call.registry.state.associations()
        if each.key.subject == subject
        and (not kinds or each.key.association_type in kinds)
        and (not resource_type or each.key.resource_type == resource_type)
    ]
    if not found:
        return {} if "NONE" in lifecycles else None
    wanted = [each for each in found if not lifecycles or each.lifecycle in lifecycles]
    return {"associations": [association_entity(each) for each in wanted]} if wanted else None


def _aliases(aliases: dict[str, list[str]], subject: str) -> dict[str, Any]:
    return {"aliases": aliases[subject]} if subject in aliases else {}


_SUBJECT = Parameter("subject", "The subject or context (`:.c:`) whose ids are meant.")
ENDPOINTS = (
    Endpoint(
        "GET",
        "/schemas/ids/{id}",
        "The schema with an id.",
        show_by_id,
        parameters=(
            _SUBJECT,
            FORMAT,
            Parameter("referenceFormat", "`qualified` names references with their context."),
            Parameter("findTags", "Taken and not used: tags are not sought.", many=True),
            Parameter("fetchMaxId", "Also say the highest id there is.", "boolean"),
        ),
        answer="SchemaById",
        errors=(40403,),
    ),
    Endpoint(
        "GET",
        "/schemas/ids/{id}/schema",
        "The text of the schema with an id, and nothing else.",
        show_text_by_id,
        parameters=(_SUBJECT, FORMAT),
        answer="Text",
        errors=(40403,),
    ),
    Endpoint(
        "GET",
        "/schemas/ids/{id}/subjects",
        "The subjects that have a schema with this id.",
        list_subjects_of_id,
        parameters=(_SUBJECT, DELETED, OFFSET, LIMIT),
        answer="Texts",
        errors=(40403,),
    ),
    Endpoint(
        "GET",
        "/schemas/ids/{id}/versions",
        "The subjects and versions that have this id.",
        list_versions_of_id,
        parameters=(_SUBJECT, DELETED, OFFSET, LIMIT),
        answer="SubjectVersions",
        errors=(40403,),
    ),
    Endpoint(
        "GET",
        "/schemas/guids/{guid}",
        "The schema with a GUID, in whatever context.",
        show_by_guid,
        parameters=(FORMAT,),
        answer="SchemaById",
        errors=(40403,),
    ),
    Endpoint(
        "GET", "/schemas/guids/{guid}/ids", "The ids of a GUID in each context.", list_ids_of_guid, answer="ContextIds"
    ),
    Endpoint("GET", "/schemas/types", "The types of schemas.", list_types, answer="Texts"),
    Endpoint(
        "GET",
        "/schemas",
        "Versions of many subjects.",
        list_schemas,
        parameters=(
            Parameter("subjectPrefix", "Only subjects that begin so; `:*:` in any context."),
            Parameter("aliases", "Also subjects whose alias begins so.", "boolean"),
            DELETED,
            Parameter("latestOnly", "Only the newest version of each subject.", "boolean"),
            Parameter("ruleType", "Only schemas with a rule of this type."),
            Parameter("resourceType", "Only subjects associated with a resource of this type."),
            Parameter("associationType", "Only subjects with such an association.", many=True),
            Parameter("lifecycle", "Only subjects with STRONG, WEAK or (NONE) no associations.", many=True),
            OFFSET,
            LIMIT,
        ),
        answer="Schemas",
    ),
)
