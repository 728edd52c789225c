"""When two Avro types are the same one: by name, parts and properties, whatever their documentation and aliases say."""

from __future__ import annotations

from headrace.registry.schemas import jsontext
from headrace.registry.schemas.avro.types import Array, Enum, Field, Fixed, Map, Named, Node, Record, Union, Unresolved
from headrace.registry.schemas.limits import Budget


def equal(left: Named, right: Named) -> bool:
    return _Comparison().equal(left, right)  # type: ignore[arg-type]


class _Comparison:
    def __init__(self) -> None:
        self._seen: set[tuple[int, int]] = set()
        self._budget = Budget("comparing two definitions of a type")

    def equal(self, left: Node, right: Node) -> bool:
        self._budget.spend()
        if left is right or (id(left), id(right)) in self._seen:
            return True
        if left.kind != right.kind or not _same_values(left.props, right.props):
            return False
        self._seen.add((id(left), id(right)))
        if isinstance(left, Named) and isinstance(right, Named) and left.name != right.name:
            return False
        return self._same_parts(left, right)

    def _same_parts(self, left: Node, right: Node) -> bool:
        match left, right:
            case Record(), Record():
                return len(left.fields) == len(right.fields) and all(map(self._same_field, left.fields, right.fields))
            case Enum(), Enum():
                return left.symbols == right.symbols
            case Fixed(), Fixed():
                return left.size == right.size
            case Array(), Array():
                return self.equal(left.items, right.items)
            case Map(), Map():
                return self.equal(left.values, right.values)
            case Union(), Union():
                return len(left.branches) == len(right.branches) and all(map(self.equal, left.branches, right.branches))
            case Unresolved(), Unresolved():
                return left.full_name == right.full_name
        return True

    def _same_field(self, left: Field, right: Field) -> bool:
        return (
            left.name == right.name
            and left.order == right.order
            and left.has_default == right.has_default
            and _same_values(left.default, right.default)
            and _same_values(left.props, right.props)
            and self.equal(left.type, right.type)
        )


def _same_values(left: object, right: object) -> bool:
    # Python takes 1, 1.0 and True for equal; JSON does not.
    return left == right and jsontext.write(left) == jsontext.write(right)
