"""JSON Schemas, draft 4 to 2020-12: loaded into nodes, printed as they came, compared as Confluent's registry does.

`documents` finds what references lead to, `classic` and `modern` build nodes, `comparison` and the rules in `values` and `contents` hold two
schemas against one another. Data is not validated here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from headrace.registry.schemas import jsontext
from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.json_schema import contents, values  # noqa: F401  (they add their rules)
from headrace.registry.schemas.json_schema.classic import ClassicLoader
from headrace.registry.schemas.json_schema.comparison import differences
from headrace.registry.schemas.json_schema.documents import Documents
from headrace.registry.schemas.json_schema.drafts import draft_of
from headrace.registry.schemas.json_schema.modern import ModernLoader
from headrace.registry.schemas.json_schema.nodes import Node
from headrace.registry.schemas.limits import check_size
from headrace.registry.schemas.model import Difference, Policy, Source, ordered_references


@dataclass(frozen=True)
class JsonSchema:
    """A loaded JSON Schema; see `headrace.registry.schemas.model.ParsedSchema`."""

    source: Source
    tree: Any
    root: Node
    schema_type: str = "JSON"

    @property
    def name(self) -> str | None:
        title = self.tree.get("title") if isinstance(self.tree, dict) else None
        return title if isinstance(title, str) else None

    @cached_property
    def _canonical(self) -> str:
        return jsontext.write(self.tree)

    def canonical(self) -> str:
        return self._canonical

    def normalized(self) -> JsonSchema:
        tree = jsontext.in_order(self.tree)
        source = replace(self.source, text=jsontext.write(tree), references=ordered_references(self.source.references))
        return _load(source, tree)

    def format(self, name: str) -> str:
        return self.canonical()

    def differences(self, previous: JsonSchema, policy: Policy = Policy.STRICT) -> list[Difference]:
        return differences(previous.root, self.root, policy)

    def has_top_level_field(self, name: str) -> bool:
        properties = self.tree.get("properties") if isinstance(self.tree, dict) else None
        return isinstance(properties, dict) and name in properties

    def tags(self) -> frozenset[str]:
        found: set[str] = set()
        waiting = [self.tree]
        while waiting:
            tree = waiting.pop()
            if isinstance(tree, dict):
                tags = tree.get("confluent:tags")
                found.update(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else None
                waiting += tree.values()
            elif isinstance(tree, list):
                waiting += tree
        return frozenset(found)

    def with_source(self, source: Source) -> JsonSchema:
        return replace(self, source=source)


def _load(source: Source, tree: Any) -> JsonSchema:
    if not isinstance(tree, (dict, bool)):
        found = jsontext.write(tree)[:80]
        raise InvalidSchema(f"Invalid JSON schema: expected an object or boolean at the root, found {found}")
    documents = Documents(tree, source.resolved)
    loader = ModernLoader(documents) if draft_of(tree).modern else ClassicLoader(documents)
    return JsonSchema(source, tree, loader.load())


class JsonSchemaType:
    """JSON."""

    name = "JSON"
    formats = ()

    def parse(self, source: Source, *, new: bool = False) -> JsonSchema:
        check_size(source.text, source.resolved)
        return _load(source, jsontext.read(source.text, exact=True))
