"""The registry's interface as an OpenAPI document and as a page, made from the table of endpoints. Served at `/openapi.json` and `/openapi`."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from headrace import __version__
from headrace.registry.api.endpoint import Endpoint, Parameter

JsonObject = dict[str, Any]
_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_TEXT: JsonObject = {"type": "string"}
_WHOLE: JsonObject = {"type": "integer"}
_ANY_OBJECT: JsonObject = {"type": "object"}


def _list_of(items: JsonObject) -> JsonObject:
    return {"type": "array", "items": items}


def _form(required: str = "", **properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, **({"required": required.split()} if required else {})}


def _see(name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{name}"}


_CONTENT: dict[str, JsonObject] = {
    "guid": _TEXT,
    "schemaType": {"type": "string", "enum": ["AVRO", "JSON", "PROTOBUF"]},
    "schema": _TEXT,
    "references": _list_of(_see("Reference")),
    "metadata": _see("Metadata"),
    "ruleSet": _see("RuleSet"),
    "ts": _WHOLE,
    "deleted": {"type": "boolean"},
}
_REQUEST = {name: _CONTENT[name] for name in ("schemaType", "schema", "references", "metadata", "ruleSet")}
_LEVELS = ["NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"]
_MODES = ["READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD"]

FORMS: dict[str, JsonObject] = {
    "Anything": {},
    "Object": _ANY_OBJECT,
    "Text": _TEXT,
    "Texts": _list_of(_TEXT),
    "Number": _WHOLE,
    "Numbers": _list_of(_WHOLE),
    "Nothing": {},
    "Error": _form("error_code message", error_code=_WHOLE, message=_TEXT),
    "Reference": _form("name subject version", name=_TEXT, subject=_TEXT, version=_WHOLE),
    "Metadata": _form(
        tags={"type": "object", "additionalProperties": _list_of(_TEXT)},
        properties={"type": "object", "additionalProperties": _TEXT},
        sensitive=_list_of(_TEXT),
    ),
    "Rule": _form(
        "name",
        name=_TEXT,
        doc=_TEXT,
        kind={"type": "string", "enum": ["TRANSFORM", "CONDITION"]},
        mode={"type": "string", "enum": ["UPGRADE", "DOWNGRADE", "UPDOWN", "WRITE", "READ", "WRITEREAD"]},
        type=_TEXT,
        tags=_list_of(_TEXT),
        params={"type": "object", "additionalProperties": _TEXT},
        expr=_TEXT,
        onSuccess=_TEXT,
        onFailure=_TEXT,
        disabled={"type": "boolean"},
    ),
    "RuleSet": _form(
        migrationRules=_list_of(_see("Rule")),
        domainRules=_list_of(_see("Rule")),
        encodingRules=_list_of(_see("Rule")),
        enableAt=_TEXT,
    ),
    "SchemaRequest": _form("schema", **_REQUEST, version=_WHOLE, id=_WHOLE),
    "TagRequest": _form(
        newVersion=_WHOLE,
        metadata=_see("Metadata"),
        ruleSet=_see("RuleSet"),
        rulesToMerge=_see("RuleSet"),
        rulesToRemove=_list_of(_TEXT),
    ),
    "Schema": _form("subject version id schema", subject=_TEXT, version=_WHOLE, id=_WHOLE, **_CONTENT),
    "Schemas": _list_of(_see("Schema")),
    "SchemaById": _form("schema", subject=_TEXT, version=_WHOLE, maxId=_WHOLE, **_CONTENT),
    "Registered": _form("id", id=_WHOLE, version=_WHOLE, **_CONTENT),
    "SubjectVersions": _list_of(_form("subject version", subject=_TEXT, version=_WHOLE)),
    "ContextIds": _list_of(_form("context id", context=_TEXT, id=_WHOLE)),
    "Compatible": _form("is_compatible", is_compatible={"type": "boolean"}, messages=_list_of(_TEXT)),
    "Config": _form(
        compatibility={"type": "string", "enum": _LEVELS},
        compatibilityLevel={"type": "string", "enum": _LEVELS},
        compatibilityPolicy={"type": "string", "enum": ["STRICT", "LENIENT", "LOGICAL"]},
        compatibilityGroup=_TEXT,
        alias=_TEXT,
        normalize={"type": "boolean"},
        validateFields={"type": "boolean"},
        validateNewSchemas={"type": "boolean"},
        validateRules={"type": "boolean"},
        defaultMetadata=_see("Metadata"),
        overrideMetadata=_see("Metadata"),
        defaultRuleSet=_see("RuleSet"),
        overrideRuleSet=_see("RuleSet"),
    ),
    "Mode": _form(mode={"type": "string", "enum": _MODES}),
    "Associations": _list_of(_ANY_OBJECT),
    "AssociationRequest": _form(
        resourceName=_TEXT,
        resourceNamespace=_TEXT,
        resourceId=_TEXT,
        resourceType=_TEXT,
        associations=_list_of(_ANY_OBJECT),
    ),
    "AssociationResponse": _ANY_OBJECT,
}
"""What bodies and answers look like, by the names that endpoints use. Properties that are not named here are left alone."""


def document(endpoints: Iterable[Endpoint]) -> JsonObject:
    """The OpenAPI document of these endpoints."""
    paths: dict[str, JsonObject] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headrace schema registry",
            "version": __version__,
            "description": "Confluent's interface. All but a few paths are there under `/contexts/{context}` as well.",
        },
        "paths": paths,
        "components": {
            "schemas": FORMS,
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
    }


def _operation(endpoint: Endpoint) -> JsonObject:
    status = "204" if endpoint.answer == "Nothing" else "200"
    operation: JsonObject = {
        "summary": endpoint.summary,
        "operationId": _operation_id(endpoint),
        "parameters": [*(_in_path(name) for name in endpoint.path_names), *map(_in_query, endpoint.parameters)],
        "responses": {status: _answer(endpoint), "default": _content("An error.", "Error")},
    }
    for code in sorted({_status(error) for error in endpoint.errors}):
        codes = ", ".join(str(error) for error in endpoint.errors if _status(error) == code)
        operation["responses"][str(code)] = _content(f"Error code {codes}.", "Error")
    if endpoint.body:
        operation["requestBody"] = {"required": True, "content": {_MEDIA_TYPE: {"schema": _see(endpoint.body)}}}
    return operation


def _operation_id(endpoint: Endpoint) -> str:
    parts = [part.strip("{}").replace("-", "") for part in endpoint.path.split("/") if part]
    return "".join([endpoint.method.lower(), *(part[:1].upper() + part[1:] for part in parts)]) or "root"


def _status(code: int) -> int:
    return code if code < 1000 else code // 100


def _in_path(name: str) -> JsonObject:
    return {"name": name, "in": "path", "required": True, "schema": _TEXT}


def _in_query(parameter: Parameter) -> JsonObject:
    kind: JsonObject = {"type": parameter.kind}
    schema = _list_of(kind) if parameter.many else kind
    return {"name": parameter.name, "in": "query", "description": parameter.doc, "schema": schema}


def _answer(endpoint: Endpoint) -> JsonObject:
    if endpoint.answer == "Nothing":
        return {"description": "Done."}
    if endpoint.answer == "Text":
        # The text of a schema is JSON where the schema is.
        return {"description": "A text.", "content": {"*/*": {"schema": {}}}}
    return _content("The answer.", endpoint.answer)


def _content(description: str, form: str) -> JsonObject:
    return {"description": description, "content": {_MEDIA_TYPE: {"schema": _see(form)}}}


def page(endpoints: Iterable[Endpoint]) -> str:
    """The same for people, as HTML that needs nothing from elsewhere."""
    rows = "\n".join(
        f"<tr><td><code>{endpoint.method}</code></td><td><code>{html.escape(endpoint.path)}</code></td>"
        f"<td>{html.escape(endpoint.summary)}{_html_parameters(endpoint)}</td>"
        f"<td>{html.escape(endpoint.body) or '-'}</td><td>{html.escape(endpoint.answer)}</td>"
        f"<td>{', '.join(map(str, endpoint.errors)) or '-'}</td></tr>"
        for endpoint in endpoints
    )
    return _PAGE.replace("ROWS", rows)


def _html_parameters(endpoint: Endpoint) -> str:
    items = "".join(f"<li><code>{each.name}</code> {html.escape(each.doc)}</li>" for each in endpoint.parameters)
    return f"<ul>{items}</ul>" if items else ""


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Headrace schema registry</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { border-bottom: 1px solid #8884; padding: .4rem .6rem; text-align: left; vertical-align: top; }
ul { margin: .2rem 0 0; padding-left: 1.2rem; color: #666; } @media (prefers-color-scheme: dark) { body { background: #14191f; color: #dde; } ul { color: #9ab; } }
</style></head><body>
<h1>Headrace schema registry</h1>
<p>Confluent's interface; <a href="openapi.json">openapi.json</a> is the same for programs.</p>
<table><thead><tr><th>Method</th><th>Path</th><th>Does</th><th>Body</th><th>Answer</th><th>Errors</th></tr></thead><tbody>
ROWS
</tbody></table></body></html>
"""


def markdown(endpoints: Iterable[Endpoint]) -> str:
    """The page of the documentation."""
    parts = []
    for endpoint in endpoints:
        lines = [f"### `{endpoint.method} {endpoint.path}`", "", endpoint.summary, ""]
        if endpoint.parameters:
            lines += [f"- `{each.name}`: {each.doc}" for each in endpoint.parameters] + [""]
        facts = [f"**Answer** {endpoint.answer}"]
        if endpoint.body:
            facts.insert(0, f"**Body** {endpoint.body}")
        if endpoint.errors:
            facts.append(f"**Error codes** {', '.join(map(str, endpoint.errors))}")
        parts.append("\n".join([*lines, "  ·  ".join(facts)]))
    forms = [
        f"| `{name}` | {', '.join(f'`{each}`' for each in form['properties'])} |"
        for name, form in FORMS.items()
        if form.get("properties")
    ]
    return "\n\n".join(parts) + "\n\n## Forms\n\n| form | properties |\n|---|---|\n" + "\n".join(forms) + "\n"
