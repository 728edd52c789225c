"""Where a `$ref` leads: documents by address, and the places inside them by JSON pointer, `$id` or `$anchor`.

A reference's name is an address relative to the schema's own `$id`. Nothing is ever fetched: what is not among the references is unknown, except
the meta-schemas, which stand for "any schema".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from headrace.registry.schemas import jsontext
from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.json_schema.drafts import META_SCHEMAS, Draft, draft_of

ROOT_ADDRESS = "mem://input"
_NOT_SCHEMAS = frozenset(("enum", "const", "default", "examples"))


@dataclass(frozen=True, slots=True)
class Place:
    """A schema inside a document: its JSON, the address that references in it are relative to, its document's draft."""

    tree: Any
    base: str
    draft: Draft
    key: str


class Documents:
    """The schema and its references."""

    def __init__(self, root: Any, resolved: Mapping[str, str]) -> None:
        self._texts = resolved
        self._trees: dict[str, Any] = {}
        self._places: dict[str, tuple[Any, str]] = {}
        own = root.get(draft_of(root).id_keyword) if isinstance(root, dict) else None
        self.base = join(ROOT_ADDRESS, own).partition("#")[0] if isinstance(own, str) else ROOT_ADDRESS
        self._add(self.base, root)
        self._names: dict[str, str] = {}
        for name in resolved:
            for base in (self.base, ROOT_ADDRESS):
                self._names.setdefault(join(base, name).partition("#")[0], name)
            self._names.setdefault(name, name)

    def root(self) -> Place:
        tree = self._trees[self.base]
        return Place(tree, self.base, draft_of(tree), self.base)

    def find(self, ref: str, base: str) -> Place | None:
        """Where a reference leads; None for a meta-schema. Raises when there is no such place."""
        address, _, fragment = join(base, ref).partition("#")
        if address in META_SCHEMAS and address not in self._names:
            return None
        key = f"{address}#{fragment}" if fragment else address
        tree, own_base = self._within(address, fragment, ref)
        return Place(tree, own_base, draft_of(self._trees.get(address, self._trees[self.base])), key)

    def _within(self, address: str, fragment: str, ref: str) -> tuple[Any, str]:
        if address not in self._trees and address not in self._places:
            self._load(address, ref)
        start, base = self._places.get(address) or (self._trees[address], address)
        if not fragment:
            return start, base
        if fragment.startswith("/"):
            return _pointed(start, fragment, ref), base
        found = self._places.get(f"{address}#{fragment}")
        if found is None:
            raise InvalidSchema(f"Unresolved $ref {ref!r}: no such anchor")
        return found

    def _load(self, address: str, ref: str) -> None:
        name = self._names.get(address)
        if name is None:
            raise InvalidSchema(f"Unresolved $ref {ref!r}: it is neither in the schema nor among its references")
        self._add(address, jsontext.read(self._texts[name], exact=True))

    def _add(self, address: str, tree: Any) -> None:
        tree = _with_defs(tree)
        self._trees[address] = tree
        for key, subtree, base in _identified(tree, address, draft_of(tree).id_keyword):
            self._places.setdefault(key, (subtree, base))


def _with_defs(tree: Any) -> Any:
    """`#/$defs/X` also finds what stands under `definitions`, as in Confluent's registry."""
    if not isinstance(tree, dict):
        return tree
    old, new = tree.get("definitions"), tree.get("$defs", {})
    if not isinstance(old, dict) or not old or not isinstance(new, dict):
        return tree
    return tree | {"$defs": old | new}


def _identified(tree: Any, base: str, id_keyword: str) -> Iterator[tuple[str, Any, str]]:
    """Every subschema with an id or an anchor, as (address, subschema, its base)."""
    waiting = [(tree, base)]
    while waiting:
        node, base = waiting.pop()
        if isinstance(node, dict):
            own = node.get(id_keyword)
            if isinstance(own, str):
                address = join(base, own)
                if not own.startswith("#"):
                    base = address.partition("#")[0]
                yield address.removesuffix("#"), node, base
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(node.get(keyword), str):
                    yield f"{base}#{node[keyword]}", node, base
            waiting += [(child, base) for key, child in node.items() if key not in _NOT_SCHEMAS]
        elif isinstance(node, list):
            waiting += [(child, base) for child in node]


def _pointed(tree: Any, pointer: str, ref: str) -> Any:
    for part in pointer.split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(tree, dict) and key in tree:
            tree = tree[key]
        elif isinstance(tree, list) and key.isdecimal() and int(key) < len(tree):
            tree = tree[int(key)]
        else:
            raise InvalidSchema(f"Unresolved $ref {ref!r}: failed to resolve JSON pointer, no {key!r} there")
    return tree


def join(base: str, ref: str) -> str:
    """An address relative to another (RFC 3986), for every scheme."""
    if ref.startswith("#"):
        return base.partition("#")[0] + ref
    try:
        scheme = urlsplit(base).scheme
        if urlsplit(ref).scheme or not scheme or base.startswith("urn:"):
            return ref
        joined = urljoin("http" + base[len(scheme) :], ref)
    except ValueError as error:
        raise InvalidSchema(f"Not an address: {ref[:200]!r}: {error}") from error
    return scheme + joined[4:]
