"""Rules for objects and arrays: what may be in them, and whether what came or went was allowed before.

A content model is open when anything else is allowed, partially open when the rest must match a schema, else closed. Adding to an open one breaks
readers: data with that name may exist already, in another shape.
"""

from __future__ import annotations

from headrace.registry.schemas.hashorder import copied_map, set_of
from headrace.registry.schemas.json_schema import patterns
from headrace.registry.schemas.json_schema.comparison import RULES, Compatible, Found, Pair, Rule, under
from headrace.registry.schemas.json_schema.nodes import ABSENT, Array, Empty, FalseNode, Node, Object
from headrace.registry.schemas.json_schema.values import bound


def _object(old: Object, new: Object, compatible: Compatible) -> Rule:
    found = _required(old, new)
    for name in set_of(copied_map(old.properties), copied_map(new.properties)):
        found += under(f"properties/{name}", (yield from _property(name, old, new, compatible)))
    found += yield from _dependencies(old, new)
    found += under("additionalProperties", (yield from _additional(old, new, "ADDITIONAL_PROPERTIES")))
    found += under("unevaluatedProperties", (yield from _unevaluated(old, new, "UNEVALUATED_PROPERTIES")))
    found += bound("maxProperties", "MAX_PROPERTIES", old.max_properties, new.max_properties)
    found += bound("minProperties", "MIN_PROPERTIES", old.min_properties, new.min_properties)
    return found


def _required(old: Object, new: Object) -> Found:
    found: Found = []
    before, after = set(old.required), set(new.required)
    for name in copied_map(old.properties):
        if name not in new.properties or (name in before) == (name in after):
            continue
        if name in before:
            change = "REMOVED"
        else:
            change = "ADDED" if new.properties[name].default is ABSENT else "WITH_DEFAULT_ADDED"
        found.append((f"REQUIRED_ATTRIBUTE_{change}", f"required/{name}"))
    return found


def _property(name: str, old: Object, new: Object, compatible: Compatible) -> Rule:
    before, after = old.properties.get(name), new.properties.get(name)
    if before is not None and after is not None:
        return (yield Pair(before, after))
    if before is not None:
        return (yield from _removed("PROPERTY", before, _is_open(new), _rest_of_object(new, name), compatible))
    assert after is not None
    required = "OPTIONAL" if name not in new.required else "REQUIRED"
    if required == "REQUIRED" and after.default is not ABSENT:
        required = "REQUIRED_PROPERTY_WITH_DEFAULT"
    word = required if required.endswith("DEFAULT") else f"{required}_PROPERTY"
    if _is_open(old):
        kind = "PROPERTY_WITH_EMPTY_SCHEMA" if isinstance(after, Empty) else word
        return [(f"{kind}_ADDED_TO_OPEN_CONTENT_MODEL", "")]
    found = yield from _added_to_rest("PROPERTY", after, _rest_of_object(old, name), compatible)
    return [*found, (f"{word}_ADDED_TO_UNOPEN_CONTENT_MODEL", "")]


def _removed(word: str, before: Node, is_open: bool, rest: Node | None, compatible: Compatible) -> Rule:
    if is_open:
        return [(f"{word}_REMOVED_FROM_OPEN_CONTENT_MODEL", "")]
    if rest is None:
        kind = f"{word}_WITH_FALSE" if isinstance(before, FalseNode) else word
        return [(f"{kind}_REMOVED_FROM_CLOSED_CONTENT_MODEL", "")]
    found = yield Pair(before, rest)
    covered = "IS_COVERED" if compatible(found) else "NOT_COVERED"
    return [*found, (f"{word}_REMOVED_{covered}_BY_PARTIALLY_OPEN_CONTENT_MODEL", "")]


def _added_to_rest(word: str, after: Node, rest: Node | None, compatible: Compatible) -> Rule:
    if rest is None:
        return []
    found = yield Pair(rest, after)
    covered = "IS_COVERED" if compatible(found) else "NOT_COVERED"
    return [*found, (f"{word}_ADDED_{covered}_BY_PARTIALLY_OPEN_CONTENT_MODEL", "")]


def _is_open(node: Object | Array) -> bool:
    if isinstance(node, Object) and node.patterns:
        return False
    return node.additional is None and (node.unevaluated is None or isinstance(node.unevaluated, Empty))


def _rest_of_object(node: Object, name: str) -> Node | None:
    """What a property must match that is not listed."""
    by_pattern = next((schema for pattern, schema in node.patterns.items() if patterns.finds(pattern, name)), None)
    return by_pattern if by_pattern is not None else _rest(node)


def _rest(node: Object | Array) -> Node | None:
    if isinstance(node.additional, Node):
        return node.additional
    if node.additional is None and not isinstance(node.unevaluated, (FalseNode, Empty)):
        return node.unevaluated
    return None


def _dependencies(old: Object, new: Object) -> Rule:
    found: Found = []
    for name in set_of(copied_map(old.required_with), copied_map(new.required_with)):
        before, after = old.required_with.get(name), new.required_with.get(name)
        if before == after:
            continue
        if before is None or after is None:
            change = "ADDED" if before is None else "REMOVED"
        else:
            change = "EXTENDED" if after > before else "NARROWED" if after < before else "CHANGED"
        found.append((f"DEPENDENCY_ARRAY_{change}", f"dependencies/{name}"))
    for name in set_of(copied_map(old.schemas_with), copied_map(new.schemas_with)):
        path = f"dependencies/{name}"
        if name not in old.schemas_with or name not in new.schemas_with:
            found.append((f"DEPENDENCY_SCHEMA_{'REMOVED' if name in old.schemas_with else 'ADDED'}", path))
        else:
            found += under(path, (yield Pair(old.schemas_with[name], new.schemas_with[name])))
    return found


def _additional(old: Object | Array, new: Object | Array, word: str) -> Rule:
    """What else may be there: it may widen, not narrow."""
    before, after = old.additional, new.additional
    if (before is False) != (after is False):
        return [(f"{word}_{'ADDED' if before is False else 'REMOVED'}", "")]
    if isinstance(before, Node) and isinstance(after, Node):
        return (yield Pair(before, after))
    if isinstance(before, Node) or isinstance(after, Node):
        return [(f"{word}_{'EXTENDED' if isinstance(before, Node) else 'NARROWED'}", "")]
    return []


def _unevaluated(old: Object | Array, new: Object | Array, word: str) -> Rule:
    before, after = old.unevaluated, new.unevaluated
    if before is None and after is None:
        return []
    if isinstance(before, FalseNode) != isinstance(after, FalseNode):
        return [(f"{word}_{'ADDED' if isinstance(before, FalseNode) else 'REMOVED'}", "")]
    if before is None or (isinstance(before, Empty) and not isinstance(after, (Empty, type(None)))):
        return [(f"{word}_NARROWED", "")]
    if after is None or (isinstance(after, Empty) and not isinstance(before, Empty)):
        return [(f"{word}_EXTENDED", "")]
    return (yield Pair(before, after))


def _array(old: Array, new: Array, compatible: Compatible) -> Rule:
    found = under("items", (yield Pair(old.items, new.items)))
    for index in range(max(len(old.tuple_items), len(new.tuple_items))):
        found += under(f"items/{index}", (yield from _item(index, old, new, compatible)))
    found += under("additionalItems", (yield from _additional(old, new, "ADDITIONAL_ITEMS")))
    found += under("unevaluatedItems", (yield from _unevaluated(old, new, "UNEVALUATED_ITEMS")))
    found += bound("maxItems", "MAX_ITEMS", old.max_items, new.max_items)
    found += bound("minItems", "MIN_ITEMS", old.min_items, new.min_items)
    if old.unique != new.unique:
        found.append((f"UNIQUE_ITEMS_{'REMOVED' if old.unique else 'ADDED'}", "uniqueItems"))
    found += bound("maxContains", "MAX_CONTAINS", old.max_contains, new.max_contains)
    found += bound("minContains", "MIN_CONTAINS", old.min_contains, new.min_contains)
    return found


def _item(index: int, old: Array, new: Array, compatible: Compatible) -> Rule:
    if index >= len(new.tuple_items):
        return (yield from _removed("ITEM", old.tuple_items[index], _is_open(new), _rest(new), compatible))
    after = new.tuple_items[index]
    if index < len(old.tuple_items):
        return (yield Pair(old.tuple_items[index], after))
    if _is_open(old):
        kind = "ITEM_WITH_EMPTY_SCHEMA" if isinstance(after, Empty) else "ITEM"
        return [(f"{kind}_ADDED_TO_OPEN_CONTENT_MODEL", "")]
    if _rest(old) is None:
        return [("ITEM_ADDED_TO_CLOSED_CONTENT_MODEL", "")]
    return (yield from _added_to_rest("ITEM", after, _rest(old), compatible))


RULES[Object] = _object
RULES[Array] = _array
