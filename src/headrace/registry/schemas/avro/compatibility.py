"""Whether one Avro schema reads what another wrote: Avro's schema resolution, as Java's SchemaCompatibility words and orders it.

Only what breaks is a difference here; Avro has no words for the rest. Paths are JSON pointers into the reader's schema.
"""

from __future__ import annotations

from headrace.registry.schemas.avro.types import Array, Enum, Field, Fixed, Map, Named, Node, Record, Union
from headrace.registry.schemas.limits import Budget
from headrace.registry.schemas.model import Difference

_READS_ALSO = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}
_DESCRIPTIONS = {
    "FIXED_SIZE_MISMATCH": "The size of FIXED type field at path '{path}' in the {{reader}} schema does not match with the {{writer}} schema",
    "TYPE_MISMATCH": "The type (path '{path}') of a field in the {{reader}} schema does not match with the {{writer}} schema",
    "NAME_MISMATCH": "The name of the schema has changed (path '{path}')",
    "MISSING_ENUM_SYMBOLS": "The {{reader}} schema is missing enum symbols '{info}' at path '{path}' in the {{writer}} schema",
    "MISSING_UNION_BRANCH": "The {{reader}} schema is missing a type inside a union field at path '{path}' in the {{writer}} schema",
    "READER_FIELD_MISSING_DEFAULT_VALUE": "The field '{info}' at path '{path}' in the {{reader}} schema has no default value"
    " and is missing in the {{writer}} schema",
}

Path = tuple[str, ...]
Found = list[Difference]


class AmbiguousField(Exception):
    """A reader's field that stands for several of the writer's, by its name and its aliases."""


def differences(reader: Node, writer: Node) -> Found:
    try:
        return _Check().pair(reader, writer, ())
    except AmbiguousField as error:
        message = f"Unexpected exception during compatibility check: {error}"
        return [Difference("AMBIGUOUS_FIELD", "/", compatible=False, message=message)]


class _Check:
    """One question. Pairs are judged once, which also ends recursion: a pair that is being judged counts as fitting."""

    def __init__(self) -> None:
        self._judged: dict[tuple[int, int], Found] = {}
        self._budget = Budget("comparing it with another version")

    def pair(self, reader: Node, writer: Node, path: Path) -> Found:
        self._budget.spend()
        key = (id(reader), id(writer))
        if key in self._judged:
            self._budget.spend(len(self._judged[key]))
            return self._judged[key]
        self._judged[key] = []
        found = (
            self._same_kind(reader, writer, path) if reader.kind == writer.kind else self._other(reader, writer, path)
        )
        self._judged[key] = found
        return found

    def _same_kind(self, reader: Node, writer: Node, path: Path) -> Found:
        match reader, writer:
            case Array(), Array():
                return self.pair(reader.items, writer.items, (*path, "items"))
            case Map(), Map():
                return self.pair(reader.values, writer.values, (*path, "values"))
            case Fixed(), Fixed():
                return _names(reader, writer, path) + _sizes(reader, writer, path)
            case Enum(), Enum():
                return _names(reader, writer, path) + _symbols(reader, writer, path)
            case Record(), Record():
                return _names(reader, writer, path) + self._fields(reader, writer, path)
            case Union(), Union():
                return self._unions(reader, writer, path)
        return []

    def _unions(self, reader: Union, writer: Union, path: Path) -> Found:
        found: Found = []
        for index, branch in enumerate(writer.branches):
            # A new question of its own: only whether it fits counts, and paths start anew.
            if self.pair(reader, branch, ()):
                found.append(_lacking(branch, (*path, str(index))))
        return found

    def _other(self, reader: Node, writer: Node, path: Path) -> Found:
        if isinstance(writer, Union):
            found: Found = []
            for index, branch in enumerate(writer.branches):
                found += self.pair(reader, branch, (*path, str(index)))
            return found
        if isinstance(reader, Union):
            fits = any(not self.pair(branch, writer, ()) for branch in reader.branches)
            return [] if fits else [_lacking(writer, path)]
        if writer.kind in _READS_ALSO.get(reader.kind, ()):
            return []
        info = f"reader type: {reader.kind.upper()} not compatible with writer type: {writer.kind.upper()}"
        return [_difference("TYPE_MISMATCH", path, info)]

    def _fields(self, reader: Record, writer: Record, path: Path) -> Found:
        found: Found = []
        fields = {field.name: field for field in writer.fields}
        for position, field in enumerate(reader.fields):
            here = (*path, "fields", str(position))
            written = _written_field(field, fields)
            if written is not None:
                found += self.pair(field.type, written.type, (*here, "type"))
            elif not field.has_default:
                if isinstance(field.type, Enum) and field.type.default is not None:
                    # Java holds the enum against the whole record here, which is never the same kind.
                    found += self.pair(field.type, writer, (*here, "type"))
                else:
                    found.append(_difference("READER_FIELD_MISSING_DEFAULT_VALUE", here, field.name))
        return found


def _written_field(field: Field, written: dict[str, Field]) -> Field | None:
    found = [written[name] for name in (field.name, *field.aliases) if name in written]
    if len(found) > 1:
        raise AmbiguousField(f"Reader record field {field.name} matches multiple fields in writer record schema")
    return found[0] if found else None


def _names(reader: Named, writer: Named, path: Path) -> Found:
    # Only the simple names count, as in Java: moving a type to another namespace breaks no one.
    if reader.name.simple == writer.name.simple or writer.name.full in reader.alias_names():
        return []
    return [_difference("NAME_MISMATCH", (*path, "name"), f"expected: {writer.name.full}")]


def _sizes(reader: Fixed, writer: Fixed, path: Path) -> Found:
    if reader.size == writer.size:
        return []
    return [_difference("FIXED_SIZE_MISMATCH", (*path, "size"), f"expected: {writer.size}, found: {reader.size}")]


def _symbols(reader: Enum, writer: Enum, path: Path) -> Found:
    missing = sorted(set(writer.symbols) - set(reader.symbols))
    if not missing or reader.default is not None:
        return []
    return [_difference("MISSING_ENUM_SYMBOLS", (*path, "symbols"), f"[{', '.join(missing)}]")]


def _lacking(branch: Node, path: Path) -> Difference:
    return _difference("MISSING_UNION_BRANCH", path, f"reader union lacking writer type: {branch.kind.upper()}")


def _difference(kind: str, path: Path, info: str) -> Difference:
    pointer = "/" + "/".join(path)
    description = _DESCRIPTIONS[kind].format(path=pointer, info=info)
    message = f"{{errorType:'{kind}', description:'{description}', additionalInfo:'{info}'}}"
    return Difference(kind, pointer, compatible=False, message=message)
