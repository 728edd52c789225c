"""JSON → Avro nodes, with Java's rules: names, namespaces, forward references, and what may be defined twice.

A `Reader` keeps the named types of all texts that it read, so that a schema may use those of its references.
"""

from __future__ import annotations

import re
from typing import Any

from headrace.registry.schemas import jsontext
from headrace.registry.schemas.avro import defaults
from headrace.registry.schemas.avro.equality import equal
from headrace.registry.schemas.avro.types import (
    PRIMITIVES,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Name,
    Named,
    Node,
    Primitive,
    Record,
    Union,
    Unresolved,
    type_name,
)
from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.limits import Budget

_STRICT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SCHEMA_RESERVED = frozenset(
    ("doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases")
)
_ENUM_RESERVED = _SCHEMA_RESERVED | {"default"}
_FIELD_RESERVED = frozenset(("default", "doc", "name", "order", "type", "aliases"))
_ORDERS = ("ascending", "descending", "ignore")
_LARGEST_INT = 2**31 - 1
_EXCERPT = 200


class Reader:
    """Reads texts one after the other; each may use the named types of those before it.

    `new` schemas get what Java checks for them only: ASCII names, valid namespaces, defaults that fit their type.
    """

    def __init__(self, *, new: bool) -> None:
        self._new = new
        self._types: dict[str, Named] = {}
        self._fields: list[Field] = []

    def read(self, text: str) -> Node:
        return self.read_tree(jsontext.read(text))

    def read_tree(self, tree: Any) -> Node:
        self._fields = []
        node = self._node(tree, None)
        node = self._resolved(node)
        self._link(node)
        if self._new:
            budget = Budget("checking its defaults")
            for field in self._fields:
                defaults.check(field, budget)
        return node

    def _node(self, tree: Any, space: str | None) -> Node:
        if isinstance(tree, str):
            return self._find(tree, space)
        if isinstance(tree, list):
            return Union([self._node(branch, space) for branch in tree])
        if not isinstance(tree, dict):
            raise InvalidSchema(f"Schema not yet supported: {_excerpt(tree)}")
        kind = _required_text(tree, "type", "No type")
        if kind in PRIMITIVES:
            return Primitive(kind, _properties(tree, _SCHEMA_RESERVED))
        if kind in ("record", "error"):
            return self._record(tree, space, is_error=kind == "error")
        if kind == "enum":
            return self._enum(tree, space)
        if kind == "array":
            return Array(
                self._part(tree, "items", "Array has no items type", space), _properties(tree, _SCHEMA_RESERVED)
            )
        if kind == "map":
            return Map(self._part(tree, "values", "Map has no values type", space), _properties(tree, _SCHEMA_RESERVED))
        if kind == "fixed":
            return self._fixed(tree, space)
        raise InvalidSchema(
            'A schema "type" MUST be a primitive type or one of "enum", "fixed", "record", "error", "array" or "map".'
            f" Found: {_excerpt(kind)}"
        )

    def _find(self, name: str, space: str | None) -> Node:
        if name in PRIMITIVES:
            return Primitive(name)
        full = f"{space}.{name}" if space is not None and "." not in name else name
        return self._types.get(full) or self._types.get(name) or Unresolved(full)  # type: ignore[return-value]

    def _part(self, tree: dict[str, Any], key: str, missing: str, space: str | None) -> Node:
        if key not in tree:
            raise InvalidSchema(f"{missing}: {_excerpt(tree)}")
        return self._node(tree[key], space)

    def _record(self, tree: dict[str, Any], space: str | None, *, is_error: bool) -> Record:
        record = Record(self._name(tree, space), _text(tree, "doc"), is_error=is_error)
        fields = tree.get("fields")
        if not isinstance(fields, list):
            raise InvalidSchema(f"Record has no fields: {_excerpt(tree)}")
        names: set[str] = set()
        for entry in fields:
            field = self._field(entry, record.name.space)
            if field.name in names:
                raise InvalidSchema(f"Duplicate field {field.name} in record {record.name.full}")
            names.add(field.name)
            record.fields.append(field)
        self._define(record, tree, _SCHEMA_RESERVED)
        return record

    def _field(self, tree: Any, space: str | None) -> Field:
        if not isinstance(tree, dict):
            raise InvalidSchema(f"No field name: {_excerpt(tree)}")
        name = self._checked(_required_text(tree, "name", "No field name"))
        if "type" not in tree:
            raise InvalidSchema(f"No field type: {_excerpt(tree)}")
        field = Field(name, self._node(tree["type"], space), _text(tree, "doc"))
        if "order" in tree:
            field.order = str(tree["order"]).lower()
            if field.order not in _ORDERS:
                raise InvalidSchema(f"Unknown order of field {name}: {_excerpt(tree['order'])}")
        if "default" in tree:
            field.has_default = True
            field.default = defaults.as_kept(field, tree["default"])
        field.props = _properties(tree, _FIELD_RESERVED)
        field.aliases = _aliases(tree)
        self._fields.append(field)
        return field

    def _enum(self, tree: dict[str, Any], space: str | None) -> Enum:
        symbols = tree.get("symbols")
        if not isinstance(symbols, list):
            raise InvalidSchema(f"Enum has no symbols: {_excerpt(tree)}")
        node = Enum(self._name(tree, space), _text(tree, "doc"))
        seen: set[str] = set()
        for symbol in symbols:
            if not isinstance(symbol, str):
                raise InvalidSchema(f"Null name: a symbol of enum {node.name.full} is no string")
            if self._checked(symbol) in seen:
                raise InvalidSchema(f"Duplicate enum symbol: {symbol}")
            seen.add(symbol)
        node.symbols = tuple(symbols)
        node.default = _text(tree, "default")
        if node.default is not None and node.default not in seen:
            known = ", ".join(symbols)
            raise InvalidSchema(f"The Enum Default: {node.default} is not in the enum symbol set: [{known}]")
        self._define(node, tree, _ENUM_RESERVED)
        return node

    def _fixed(self, tree: dict[str, Any], space: str | None) -> Fixed:
        size = tree.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or size > _LARGEST_INT:
            raise InvalidSchema(f"Invalid or no size: {_excerpt(tree)}")
        if size < 0:
            raise InvalidSchema(f"Malformed data. Length is negative: {size}")
        node = Fixed(self._name(tree, space), _text(tree, "doc"), size=size)
        self._define(node, tree, _SCHEMA_RESERVED)
        return node

    def _name(self, tree: dict[str, Any], space: str | None) -> Name:
        own_space = _text(tree, "namespace")
        name = Name.of(_required_text(tree, "name", "No name in schema"), space if own_space is None else own_space)
        self._checked(name.simple)
        if name.full in PRIMITIVES:
            raise InvalidSchema(f"Schemas may not be named after primitives: {name.full}")
        if self._new and name.space:
            for part in name.space.split("."):
                if not _STRICT_NAME.match(part):
                    raise InvalidSchema(f'Namespace part "{part}" is invalid: {_why_not_a_name(part)}')
        return name

    def _checked(self, name: str) -> str:
        valid = _STRICT_NAME.match(name) if self._new else _is_unicode_name(name)
        if not valid:
            raise InvalidSchema(_why_not_a_name(name))
        return name

    def _define(self, node: Named, tree: dict[str, Any], reserved: frozenset[str]) -> None:
        node.props = _properties(tree, reserved)
        # An alias without dots lies in the namespace of the type, one with a leading dot in none.
        names = [Name.of(alias, node.name.space) for alias in _aliases(tree)]
        node.aliases = tuple(dict.fromkeys(names))
        earlier = self._types.setdefault(node.name.full, node)
        if earlier is not node and not equal(earlier, node):
            raise InvalidSchema(f"Can't redefine: {node.name.full}")

    def _resolved(self, node: Node) -> Node:
        if not isinstance(node, Unresolved):
            return node
        found = self._types.get(node.full_name)
        if found is None:
            raise InvalidSchema(f"Undefined schema: {node.full_name}")
        return found  # type: ignore[return-value]

    def _link(self, root: Node) -> None:
        """Put the types in place of the names that stood before them, and check unions, which may hold such names."""
        waiting, seen = [root], {id(root)}
        while waiting:
            node = waiting.pop()
            for child in self._linked_children(node):
                if id(child) not in seen:
                    seen.add(id(child))
                    waiting.append(child)

    def _linked_children(self, node: Node) -> list[Node]:
        if isinstance(node, Record):
            for field in node.fields:
                field.type = self._resolved(field.type)
            return [field.type for field in node.fields]
        if isinstance(node, Array):
            node.items = self._resolved(node.items)
            return [node.items]
        if isinstance(node, Map):
            node.values = self._resolved(node.values)
            return [node.values]
        if isinstance(node, Union):
            node.branches = [self._resolved(branch) for branch in node.branches]
            _check_union(node)
            return node.branches
        return []


def _check_union(union: Union) -> None:
    names: set[str] = set()
    for branch in union.branches:
        if isinstance(branch, Union):
            raise InvalidSchema("Nested union: a union may not hold another one directly")
        name = type_name(branch)
        if name in names:
            raise InvalidSchema(f"Duplicate in union:{name}")
        names.add(name)


def _properties(tree: dict[str, Any], reserved: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key not in reserved}


def _aliases(tree: dict[str, Any]) -> tuple[str, ...]:
    aliases = tree.get("aliases", [])
    if not isinstance(aliases, list):
        raise InvalidSchema(f"aliases not an array: {_excerpt(tree)}")
    for alias in aliases:
        if not isinstance(alias, str):
            raise InvalidSchema(f"alias not a string: {_excerpt(alias)}")
    return tuple(dict.fromkeys(aliases))


def _text(tree: dict[str, Any], key: str) -> str | None:
    value = tree.get(key)
    return value if isinstance(value, str) else None


def _required_text(tree: dict[str, Any], key: str, missing: str) -> str:
    value = _text(tree, key)
    if value is None:
        raise InvalidSchema(f"{missing}: {_excerpt(tree)}")
    return value


def _is_unicode_name(name: str) -> bool:
    return bool(name) and (name[0].isalpha() or name[0] == "_") and all(c.isalnum() or c == "_" for c in name)


def _why_not_a_name(name: str) -> str:
    if not name:
        return "Empty name"
    if not (name[0].isalpha() or name[0] == "_"):
        return f"Illegal initial character: {name}"
    return f"Illegal character in: {name}"


def _excerpt(tree: Any) -> str:
    text = jsontext.write(tree)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}..."
