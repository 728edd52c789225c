"""Reading keywords with their types checked, and what the loaders of all drafts share: references are filled in at the end.

Loading never follows a `$ref` on the spot, so its depth is that of the text; each place is loaded once, however often it is referred to.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

from headrace.registry.schemas import jsontext
from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.json_schema.documents import Documents, Place
from headrace.registry.schemas.json_schema.nodes import FalseNode, Node, Number, Reference, TrueNode

Tree = dict[str, Any]
T = TypeVar("T")
_EXCERPT = 80
_JSON_NAMES = {dict: "Object", list: "Array", str: "String", bool: "Boolean", int: "Number", Decimal: "Number"}


def text(tree: Tree, key: str) -> str | None:
    return _typed(tree, key, str)


def boolean(tree: Tree, key: str) -> bool | None:
    return _typed(tree, key, bool)


def array(tree: Tree, key: str) -> list[Any] | None:
    return _typed(tree, key, list)


def mapping(tree: Tree, key: str) -> Tree | None:
    return _typed(tree, key, dict)


def number(tree: Tree, key: str) -> Number | None:
    value = tree.get(key)
    if key not in tree or (isinstance(value, (int, Decimal)) and not isinstance(value, bool)):
        return value
    raise mistyped(key, value, "Number")


def integer(tree: Tree, key: str) -> int | None:
    value = number(tree, key)
    if value is None or isinstance(value, int):
        return value
    if value != value.to_integral_value():
        raise mistyped(key, value, "Integer")
    return int(value)


def texts(tree: Tree, key: str) -> list[str] | None:
    values = array(tree, key)
    for value in values or ():
        if not isinstance(value, str):
            raise mistyped(key, value, "String")
    return values


def _typed(tree: Tree, key: str, kind: type[T]) -> T | None:
    if key not in tree:
        return None
    value = tree[key]
    if not isinstance(value, kind):
        raise mistyped(key, value, _JSON_NAMES[kind])
    return value


def mistyped(key: str, value: Any, expected: str) -> InvalidSchema:
    found = jsontext.write(value)
    return InvalidSchema(f"Invalid JSON Schema: {key!r}: expected type: {expected}, found: {found[:_EXCERPT]}")


class Loader:
    """Builds the nodes of a schema and of all that it refers to; the drafts differ in `_object`."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._loaded: dict[str, Node] = {}
        self._waiting: list[tuple[Reference, Place | None]] = []

    def load(self) -> Node:
        root = self._at(self._documents.root())
        while self._waiting:
            reference, place = self._waiting.pop()
            reference.target = TrueNode() if place is None else self._at(place)
        for reference in self._references:
            _check_end(reference)
        return root

    _references: list[Reference]

    def _at(self, place: Place) -> Node:
        if place.key not in self._loaded:
            self._loaded[place.key] = self.node(place.tree, place)
        return self._loaded[place.key]

    def node(self, tree: Any, place: Place) -> Node:
        """The node of a subschema; `place` is where references in it start from."""
        if isinstance(tree, bool):
            return TrueNode(tree) if tree else FalseNode(tree)
        if not isinstance(tree, dict):
            raise InvalidSchema(
                f"Invalid JSON Schema: expected an object or a boolean, found {jsontext.write(tree)[:_EXCERPT]}"
            )
        return self._object(tree, self._scoped(tree, place))

    def _scoped(self, tree: Tree, place: Place) -> Place:
        own = tree.get(place.draft.id_keyword)
        if not isinstance(own, str) or own.startswith("#") or tree is place.tree:
            return place
        from headrace.registry.schemas.json_schema.documents import join

        return Place(tree, join(place.base, own).partition("#")[0], place.draft, place.key)

    def _object(self, tree: Tree, place: Place) -> Node:
        raise NotImplementedError

    def reference(self, tree: Tree, keyword: str, place: Place) -> Reference:
        ref = text(tree, keyword)
        assert ref is not None
        node = Reference(tree, ref=ref)
        self._waiting.append((node, self._documents.find(ref, place.base)))
        self._references.append(node)
        return node

    def child(self, tree: Tree, key: str, place: Place) -> Node | None:
        return self.node(tree[key], place) if key in tree else None

    def children(self, tree: Tree, key: str, place: Place) -> list[Node]:
        return [self.node(entry, place) for entry in array(tree, key) or ()]

    def named_children(self, tree: Tree, key: str, place: Place) -> dict[str, Node]:
        return {name: self.node(entry, place) for name, entry in (mapping(tree, key) or {}).items()}


def _check_end(reference: Reference) -> None:
    seen = {id(reference)}
    node = reference.target
    while isinstance(node, Reference):
        if id(node) in seen:
            raise InvalidSchema(f"Reference cycle: $ref {reference.ref!r} leads back to itself")
        seen.add(id(node))
        node = node.target


Piece = Callable[..., Node]
