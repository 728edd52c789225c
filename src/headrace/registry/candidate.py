"""A schema that was sent, on its way to be compared: filled in from the config and the version before, parsed, in canonical form. Pure but for the parser's cache."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.registry import subjects
from headrace.registry.documents import merged_metadata, merged_rule_sets, version_in, with_version, without_version
from headrace.registry.errors import invalid_schema
from headrace.registry.model import AVRO, JsonObject, StoredSchema
from headrace.registry.parsing import Parser, resolve
from headrace.registry.requests import LATEST, SchemaRequest
from headrace.registry.schemas import InvalidSchema, ParsedSchema, Reference, fingerprint
from headrace.registry.state import State


@dataclass(frozen=True)
class Candidate:
    """A parsed schema under a subject, with the digest by which it equals others."""

    subject: str
    request: SchemaRequest
    parsed: ParsedSchema

    @property
    def text(self) -> str:
        return self.parsed.canonical()

    @property
    def digest(self) -> bytes:
        request = self.request
        return fingerprint(self.text, request.references, request.metadata, request.rule_set)

    def stored(self, version: int, id_: int) -> StoredSchema:
        request = self.request
        return StoredSchema(
            subject=self.subject,
            version=version,
            id=id_,
            schema_type=self.parsed.schema_type,
            text=self.text,
            references=request.references,
            metadata=request.metadata,
            rule_set=request.rule_set,
            deleted=False,
            digest=self.digest,
        )


def candidate(
    state: State, parser: Parser, subject: str, request: SchemaRequest, *, normalize: bool, new: bool
) -> Candidate:
    """The request parsed; 42201 when it is no schema. `normalize` has no effect in import mode, where schemas are taken as they are."""
    if not request.text.strip():
        raise invalid_schema("Empty schema")
    parsed = parser.parse(
        request.schema_type,
        request.text,
        request.references,
        resolve(state, subject, request.references),
        metadata=request.metadata,
        rule_set=request.rule_set,
        new=new,
    )
    if normalize and not state.mode_in_scope(subject).is_import:
        try:
            parsed = parsed.normalized()
        except InvalidSchema as error:
            raise invalid_schema(f"Invalid schema of type {request.schema_type}, details: {error}") from None
    return Candidate(subject, request, parsed)


def filled_in(
    config: JsonObject, request: SchemaRequest, previous: StoredSchema | None, new_version: int | None
) -> SchemaRequest:
    """The request with what it leaves out: schema, metadata and rules of the version before, and the config's defaults and overrides."""
    if not request.text.strip() and previous is not None:
        request = replace(request, text=previous.text, schema_type=previous.schema_type, references=previous.references)
    metadata, rule_set = request.metadata, request.rule_set
    if previous is not None:
        metadata = previous.metadata if metadata is None else metadata
        rule_set = previous.rule_set if rule_set is None else rule_set
    metadata = merged_metadata(merged_metadata(config.get("defaultMetadata"), metadata), config.get("overrideMetadata"))
    rule_set = merged_rule_sets(merged_rule_sets(config.get("defaultRuleSet"), rule_set), config.get("overrideRuleSet"))
    if new_version is not None and (request.version != 0 or version_in(metadata) is not None):
        metadata = with_version(metadata, new_version)
    return replace(request, metadata=metadata, rule_set=rule_set)


def same(state: State, parser: Parser, sought: Candidate, kept: StoredSchema) -> bool:
    """Whether a schema that was sent in another form means the kept one: with references resolved, with `-1` for their latest version, or
    without the version number in its metadata."""
    request = sought.request
    if not _same_documents(request, kept) or kept.schema_type != sought.parsed.schema_type:
        return False
    subject = sought.subject
    if request.references or not kept.references:
        if _numbered(state, subject, request.references) != _numbered(state, subject, kept.references):
            return False
        return sought.text == kept.text or _equal(sought.parsed, parser.stored(state, kept))
    # Java's Avro serializer sends schemas with all references resolved.
    return kept.schema_type == AVRO and sought.parsed.format("resolved") == parser.stored(state, kept).format(
        "resolved"
    )


def _equal(one: ParsedSchema, other: ParsedSchema) -> bool:
    """Schemas kept by an older registry may be written otherwise than we write them."""
    return one.canonical() == other.canonical()


def _same_documents(request: SchemaRequest, kept: StoredSchema) -> bool:
    if request.rule_set != kept.rule_set:
        return False
    ours, theirs = version_in(request.metadata), version_in(kept.metadata)
    if (ours is None) == (theirs is None):
        return request.metadata == kept.metadata
    if ours is not None and ours != str(kept.version):
        return False
    return (without_version(request.metadata) or {}) == (without_version(kept.metadata) or {})


def _numbered(state: State, subject: str, references: tuple[Reference, ...]) -> list[Reference]:
    found = []
    for each in references:
        latest = state.latest(subjects.beside(subject, each.subject)) if each.version == LATEST else None
        found.append(replace(each, version=latest.version) if latest else each)
    return found
