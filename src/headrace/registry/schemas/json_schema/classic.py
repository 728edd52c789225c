"""Drafts 4, 6 and 7: which nodes a schema object stands for.

As in the library that Confluent's registry uses, each sort of keyword gives a node of its own (enum, combinations, not, const, the type's own
keywords, then those of other types), and several of them are an `allOf`. Beside a `$ref` nothing counts.
"""

from __future__ import annotations

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.hashorder import set_of
from headrace.registry.schemas.json_schema import patterns
from headrace.registry.schemas.json_schema.documents import Documents, Place
from headrace.registry.schemas.json_schema.drafts import Draft
from headrace.registry.schemas.json_schema.nodes import (
    ABSENT,
    ALL_OF,
    ANY_OF,
    CONDITIONAL,
    ONE_OF,
    Array,
    Boolean,
    Combined,
    Conditional,
    Const,
    Empty,
    Enum,
    Node,
    Not,
    Null,
    Numeric,
    Object,
    Reference,
    String,
)
from headrace.registry.schemas.json_schema.reading import (
    Loader,
    Tree,
    array,
    boolean,
    integer,
    mapping,
    mistyped,
    number,
    text,
    texts,
)

_ARRAY = frozenset(("items", "additionalItems", "minItems", "maxItems", "uniqueItems"))
_OBJECT = frozenset(
    (
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "dependencies",
        "patternProperties",
        "additionalProperties",
    )
)
_NUMBER = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_STRING = frozenset(("minLength", "maxLength", "pattern", "format"))
_COMBINATIONS = tuple(set_of((ALL_OF, ANY_OF, ONE_OF)))


class ClassicLoader(Loader):
    def __init__(self, documents: Documents) -> None:
        super().__init__(documents)
        self._references: list[Reference] = []

    def _object(self, tree: Tree, place: Place) -> Node:
        if "$ref" in tree:
            node: Node = self.reference(tree, "$ref", place)
            left = set(tree) - {"$ref"}
        else:
            pieces, left = self._pieces(tree, place)
            node = _together(pieces)
        node.raw = tree
        node.id = text(tree, place.draft.id_keyword)
        node.title = text(tree, "title")
        node.description = text(tree, "description")
        node.default = tree.get("default", ABSENT)
        node.extra = {key: tree[key] for key in left}
        if isinstance(node, Array):
            # No keywords of these drafts, and yet compared where a schema has them.
            node.max_contains, node.min_contains = (
                _loose_number(node.extra.get(k)) for k in ("maxContains", "minContains")
            )
        return node

    def _pieces(self, tree: Tree, place: Place) -> tuple[list[Node], set[str]]:
        left = set(tree)
        pieces: list[Node] = []
        if "enum" in tree:
            pieces.append(Enum(tree, values=array(tree, "enum") or []))
        pieces += [
            Combined(tree, criterion=criterion, parts=self.children(tree, criterion, place))
            for criterion in _COMBINATIONS
            if criterion in tree
        ]
        if "not" in tree:
            pieces.append(Not(tree, inner=self.node(tree["not"], place)))
        if "const" in tree and place.draft is not Draft.DRAFT_4:
            pieces.append(Const(tree, value=tree["const"]))
            left -= {"const"}
        left -= {"enum", "not", *_COMBINATIONS}
        if "type" in tree:
            pieces.append(self._typed(tree, place, left))
            left -= {"type"}
        return pieces + self._sniffed(tree, place, left), left

    def _typed(self, tree: Tree, place: Place, left: set[str]) -> Node:
        kind = tree["type"]
        if isinstance(kind, str):
            return self._of_type(kind, tree, place, left)
        if not isinstance(kind, list):
            raise mistyped("type", kind, "Array or String")
        before = frozenset(left)
        parts = []
        for entry in kind:
            if not isinstance(entry, str):
                raise mistyped("type", entry, "String")
            mine = set(before)
            parts.append(self._of_type(entry, tree, place, mine))
            parts[-1].raw = tree | {"type": entry}
            left &= mine
        return Combined(tree, criterion=ANY_OF, parts=parts)

    def _of_type(self, kind: str, tree: Tree, place: Place, left: set[str]) -> Node:
        if kind == "string":
            return _string(tree, left)
        if kind in ("integer", "number"):
            return _numeric(tree, place, left, integral=kind == "integer")
        if kind == "boolean":
            return Boolean(tree)
        if kind == "null":
            return Null(tree)
        if kind == "array":
            return self._array(tree, place, left)
        if kind == "object":
            return self._object_node(tree, place, left)
        raise InvalidSchema(f"Invalid JSON Schema: unknown type: [{kind[:80]}]")

    def _sniffed(self, tree: Tree, place: Place, left: set[str]) -> list[Node]:
        """Nodes for keywords that say their type themselves."""
        pieces: list[Node] = []
        if not left.isdisjoint(_ARRAY) or ("contains" in left and place.draft is not Draft.DRAFT_4):
            pieces.append(self._array(tree, place, left))
        if not left.isdisjoint(_OBJECT) or ("propertyNames" in left and place.draft is not Draft.DRAFT_4):
            pieces.append(self._object_node(tree, place, left))
        if not left.isdisjoint(_NUMBER):
            pieces.append(_numeric(tree, place, left, integral=False))
        if not left.isdisjoint(_STRING):
            pieces.append(_string(tree, left))
        if place.draft is Draft.DRAFT_7 and not left.isdisjoint(CONDITIONAL):
            branches: dict[str, Node] = {key: self.node(tree[key], place) for key in CONDITIONAL if key in tree}
            pieces.append(Conditional(tree, branches=branches))
            left -= {*CONDITIONAL}
        return pieces

    def _array(self, tree: Tree, place: Place, left: set[str]) -> Array:
        left -= _ARRAY
        node = Array(tree, min_items=integer(tree, "minItems"), max_items=integer(tree, "maxItems"))
        node.unique = boolean(tree, "uniqueItems") or False
        node.additional = self._additional(tree, "additionalItems", place)
        if isinstance(tree.get("items"), list):
            node.tuple_items = self.children(tree, "items", place)
        else:
            node.items = self.child(tree, "items", place)
            if node.items is not None and node.additional is False:
                # With one schema for all items there are no additional ones.
                node.additional = None
        if place.draft is not Draft.DRAFT_4:
            left -= {"contains"}
            node.contains = self.child(tree, "contains", place)
        return node

    def _additional(self, tree: Tree, key: str, place: Place) -> Node | bool | None:
        value = tree.get(key)
        if key not in tree or value is True:
            return None
        return False if value is False else self.node(value, place)

    def _object_node(self, tree: Tree, place: Place, left: set[str]) -> Object:
        left -= _OBJECT
        node = Object(
            tree, min_properties=integer(tree, "minProperties"), max_properties=integer(tree, "maxProperties")
        )
        id_keyword = place.draft.id_keyword
        for name, entry in (mapping(tree, "properties") or {}).items():
            if name != id_keyword or isinstance(entry, dict):
                node.properties[name] = self.node(entry, place)
        node.additional = self._additional(tree, "additionalProperties", place)
        node.required = texts(tree, "required") or []
        node.patterns = self.named_children(tree, "patternProperties", place)
        for pattern in node.patterns:
            patterns.check(pattern)
        self._dependencies(tree, node, place)
        if place.draft is not Draft.DRAFT_4:
            left -= {"propertyNames"}
            node.names = self.child(tree, "propertyNames", place)
        return node

    def _dependencies(self, tree: Tree, node: Object, place: Place) -> None:
        for name, entry in (mapping(tree, "dependencies") or {}).items():
            if not isinstance(entry, list):
                node.schemas_with[name] = self.node(entry, place)
            elif entry:
                node.required_with[name] = set(texts({name: entry}, name) or ())


def _string(tree: Tree, left: set[str]) -> String:
    left -= _STRING
    text(tree, "format")
    node = String(tree, min_length=integer(tree, "minLength"), max_length=integer(tree, "maxLength"))
    node.pattern = text(tree, "pattern")
    if node.pattern is not None:
        patterns.check(node.pattern)
    return node


def _numeric(tree: Tree, place: Place, left: set[str], *, integral: bool) -> Numeric:
    left -= _NUMBER
    node = Numeric(tree, minimum=number(tree, "minimum"), maximum=number(tree, "maximum"), integer=integral)
    node.multiple_of = number(tree, "multipleOf")
    if node.multiple_of == 0:
        raise InvalidSchema("Invalid JSON Schema: multipleOf should not be 0")
    if place.draft is Draft.DRAFT_4:
        # Here they say whether the limits themselves are allowed, which Confluent's comparison leaves out.
        boolean(tree, "exclusiveMinimum")
        boolean(tree, "exclusiveMaximum")
    else:
        node.exclusive_minimum = number(tree, "exclusiveMinimum")
        node.exclusive_maximum = number(tree, "exclusiveMaximum")
    return node


def _together(pieces: list[Node]) -> Node:
    if len(pieces) > 1:
        return Combined(criterion=ALL_OF, parts=pieces, generated=True)
    return pieces[0] if pieces else Empty()


def _loose_number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
