"""Avro schemas: parsed with Java's rules, printed as Java prints them.

No library on PyPI keeps both, so the nodes are our own (docs/decisions): `reading` builds them, `writing` prints them, `compatibility` holds two
against one another. Reading and writing of records is not the business of this package.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from headrace.registry.schemas import jsontext
from headrace.registry.schemas.avro import compatibility, writing
from headrace.registry.schemas.avro.fingerprint import rabin
from headrace.registry.schemas.avro.reading import Reader
from headrace.registry.schemas.avro.types import Array, Map, Named, Node, Record, Union, type_name
from headrace.registry.schemas.limits import check_size
from headrace.registry.schemas.model import Difference, Policy, Source, ordered_references


@dataclass(frozen=True)
class AvroSchema:
    """A parsed Avro schema; see `headrace.registry.schemas.model.ParsedSchema`."""

    source: Source
    root: Node
    reference_names: tuple[str, ...]
    new: bool = False
    schema_type: str = "AVRO"

    @property
    def name(self) -> str | None:
        return self.root.name.full if isinstance(self.root, Record) else None

    @cached_property
    def _canonical(self) -> str:
        return jsontext.write(writing.canonical_tree(self.root, self.reference_names))

    def canonical(self) -> str:
        return self._canonical

    def normalized(self) -> AvroSchema:
        tree = writing.normal_tree(self.root, self.reference_names)
        references = ordered_references(self.source.references)
        source = replace(self.source, text=jsontext.write(tree), references=references)
        return _parse(source, new=self.new)

    def format(self, name: str) -> str:
        if name == "resolved":
            return jsontext.write(writing.canonical_tree(self.root))
        return self.canonical()

    def differences(self, previous: AvroSchema, policy: Policy = Policy.STRICT) -> list[Difference]:
        return compatibility.differences(self.root, previous.root)

    def has_top_level_field(self, name: str) -> bool:
        return isinstance(self.root, Record) and self.root.field_named(name) is not None

    def tags(self) -> frozenset[str]:
        found: set[str] = set()
        waiting, seen = [self.root], {id(self.root)}
        while waiting:
            node = waiting.pop()
            found |= _tags(node.props)
            if isinstance(node, Record):
                found.update(*(_tags(field.props) for field in node.fields))
            for child in _children(node):
                if id(child) not in seen:
                    seen.add(id(child))
                    waiting.append(child)
        return frozenset(found)

    def with_source(self, source: Source) -> AvroSchema:
        return replace(self, source=source)

    def parsing_form(self) -> str:
        """Avro's parsing canonical form."""
        return writing.parsing_form(self.root)

    def rabin(self) -> int:
        """The CRC-64-AVRO fingerprint of the parsing canonical form."""
        return rabin(self.parsing_form().encode())


def _tags(props: dict[str, Any]) -> set[str]:
    tags = props.get("confluent:tags")
    return {tag for tag in tags if isinstance(tag, str)} if isinstance(tags, list) else set()


def _children(node: Node) -> list[Node]:
    if isinstance(node, Record):
        return [field.type for field in node.fields]
    if isinstance(node, Union):
        return node.branches
    if isinstance(node, Array):
        return [node.items]
    return [node.values] if isinstance(node, Map) else []


def _parse(source: Source, *, new: bool) -> AvroSchema:
    check_size(source.text, source.resolved)
    reader = Reader(new=new)
    references = [reader.read(text) for text in source.resolved.values()]
    names = tuple(type_name(node) for node in references if isinstance(node, Named))
    return AvroSchema(source, reader.read(source.text), names, new)


class AvroType:
    """AVRO."""

    name = "AVRO"
    formats = ("resolved",)

    def parse(self, source: Source, *, new: bool = False) -> AvroSchema:
        return _parse(source, new=new)
