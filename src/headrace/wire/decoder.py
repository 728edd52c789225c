"""Compiles the decoder of one message class at one version into a flat Python function.

Nested structs and arrays are inlined into that function, neighbouring fields of fixed size are read by one `struct` call,
and the first byte of a varint rides along with the fixed fields before it. Every length is checked against the bytes that
are left, and an array's count against the smallest size its elements can have, so a hostile length costs nothing.
"""

from __future__ import annotations

import struct as struct_module
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.wire.errors import WireError
from headrace.wire.fields import Field
from headrace.wire.varint import continue_uvarint, read_uvarint, skip_tags

if TYPE_CHECKING:
    from headrace.wire.schema import Message, Struct

FIXED = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
# Kafka refuses longer strings in flexible versions too, where the format would allow them; a longer one could not be
# written back in an older version.
MAX_STRING = 32767
# Arrays of up to this many numbers (replicas of a partition, mostly) have a layout made in advance.
FEW = 9

Decoder = Callable[[Any, int], tuple[Any, int]]


def smallest_size(field: Field, version: int, flexible: bool) -> int:
    """The fewest bytes that a field can take, by which the counts of arrays are bounded."""
    if field.kind in FIXED:
        return FIXED[field.kind][1]
    if field.kind == "struct":
        assert field.struct is not None
        if version in field.nullable:
            return 1
        inner = field.struct.FIELDS.values()
        present = (f for f in inner if version in f.versions and not f.tagged_in(version))
        return sum(smallest_size(f, version, flexible) for f in present) + flexible
    if flexible:
        return 1
    return 2 if field.kind == "string" else 4


def contains_records(cls: type[Struct]) -> bool:
    """Whether the message has a field of records at any depth."""
    for field in cls.FIELDS.values():
        inner = field.element or field
        if inner.kind == "records" or (inner.struct is not None and contains_records(inner.struct)):
            return True
    return False


class DecoderSource:
    """Writes the source of one decoder, field after field."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.cls = cls
        self.version = version
        self.flexible = version >= cls.FLEXIBLE_FROM
        self.lines: list[str] = []
        self.indent = 2
        self.names: dict[str, Any] = {
            "WireError": WireError,
            "more": continue_uvarint,
            "read_uvarint": read_uvarint,
            "skip_tags": skip_tags,
            "new": object.__new__,
            "unpack_from": struct_module.unpack_from,
            "EXPECTED": (struct_module.error, IndexError, UnicodeDecodeError),
        }
        self.fixed: list[tuple[str, int, str]] = []
        self.counter = 0
        self.zero_copy = contains_records(cls)

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def local(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def constant(self, prefix: str, value: Any) -> str:
        for name, known in self.names.items():
            if known is value and name.startswith(prefix):
                return name
        name = self.local(prefix)
        self.names[name] = value
        return name

    def read_fixed(self, code: str, size: int, target: str) -> None:
        """Queues a field of fixed size; the queue becomes one `struct` call."""
        self.fixed.append((code, size, target))

    def flush(self) -> None:
        """Emits the queued fixed fields; needed before anything else looks at `p`."""
        if not self.fixed:
            return
        codes = "".join(code for code, _, _ in self.fixed)
        targets = ", ".join(target for _, _, target in self.fixed)
        size = sum(size for _, size, _ in self.fixed)
        if codes == "B":
            self.emit(f"{targets} = data[p]")
        else:
            unpack = f"unpack_{codes.replace('?', 'o')}"
            self.names[unpack] = struct_module.Struct(">" + codes).unpack_from
            self.emit(f"({targets},) = {unpack}(data, p)")
        self.emit(f"p += {size}")
        self.fixed.clear()

    def read_uvarint(self, target: str, usually_long: bool = False) -> None:
        """Emits the reading of a varint. Up to two more bytes are read without a call where that is the usual case."""
        self.read_fixed("B", 1, target)
        self.flush()
        self.emit(f"if {target} > 127:")
        if not usually_long:
            self.emit(f"    {target}, p = more(data, p, {target})")
            return
        second, third = self.local("b"), self.local("b")
        self.indent += 1
        self.emit(f"{second} = data[p]")
        self.emit(f"{third} = data[p + 1] if {second} > 127 else 0")
        self.emit(f"if {third} > 127:")
        self.emit(f"    {target}, p = more(data, p, {target})")
        self.emit(f"elif {second} > 127:")
        self.emit(f"    {target} = {target} & 127 | ({second} & 127) << 7 | {third} << 14")
        self.emit("    p += 2")
        self.emit("else:")
        self.emit(f"    {target} = {target} & 127 | {second} << 7")
        self.emit("    p += 1")
        self.indent -= 1

    def refuse(self, condition: str, path: str, why: str) -> None:
        self.emit(f"if {condition}:")
        self.emit(f"    raise WireError({f'{self.cls.__name__} v{self.version}: {path} {why}'!r})")

    def read_length(self, field: Field, wide: bool, path: str, target: str) -> str:
        """Emits the length and the null check, leaves the indent inside the branch for values; returns the local."""
        length = self.local("n")
        nullable = self.version in field.nullable
        if self.flexible:
            self.read_uvarint(length, usually_long=field.kind == "records")
        else:
            self.read_fixed(*(("i", 4) if wide else ("h", 2)), length)
            self.flush()
        null = f"not {length}" if self.flexible else f"{length} < 0"
        if nullable:
            self.emit(f"if {null}:")
            self.emit(f"    {target} = None")
            self.emit("else:")
            self.indent += 1
        else:
            self.refuse(null, path, "is null")
        if self.flexible:
            self.emit(f"{length} -= 1")
        return length

    def read_sized(self, field: Field, path: str, target: str) -> None:
        length = self.read_length(field, field.kind != "string", path, target)
        if field.kind == "records":
            self.read_slice(field, path, target, length, "data[p:{end}]")
        elif field.kind == "bytes":
            self.read_slice(field, path, target, length, "bytes(data[p:{end}])")
        else:
            # Empty strings are frequent (no rack, no member id), and a slice costs more than this question.
            self.emit(f"if {length}:")
            self.indent += 1
            copied = ".tobytes()" if self.zero_copy else ""
            self.read_slice(field, path, target, length, f"data[p:{{end}}]{copied}.decode()")
            self.indent -= 1
            self.emit("else:")
            self.emit(f"    {target} = ''")
        self.end_nullable(field)

    def read_slice(self, field: Field, path: str, target: str, length: str, value: str) -> None:
        end = self.local("e")
        self.emit(f"{end} = p + {length}")
        too_long = f" or {length} > {MAX_STRING}" if field.kind == "string" and self.flexible else ""
        self.refuse(f"{end} > size{too_long}", path, "runs past the end")
        self.emit(f"{target} = {value.format(end=end)}")
        self.emit(f"p = {end}")

    def end_nullable(self, field: Field) -> None:
        if self.version in field.nullable:
            self.indent -= 1

    def read_array(self, field: Field, path: str, target: str) -> None:
        element = field.element
        assert element is not None
        count = self.read_length(field, True, path, target)
        smallest = smallest_size(element, self.version, self.flexible)
        assert smallest > 0, f"{path}: elements without bytes cannot be bounded"
        times = f"{count} * {smallest}" if smallest > 1 else count
        self.refuse(f"{times} > size - p", path, "has more elements than bytes are left")
        if element.kind in FIXED and element.kind not in ("bool", "uuid"):
            code, size = FIXED[element.kind]
            self.names[f"unpack_few_{code}"] = tuple(
                struct_module.Struct(f">{n}{code}").unpack_from for n in range(FEW)
            )
            few, many = f"unpack_few_{code}[{count}](data, p)", f'unpack_from(f">{{{count}}}{code}", data, p)'
            self.emit(f"{target} = list({few} if {count} < {FEW} else {many})")
            self.emit(f"p += {f'{count} * {size}' if size > 1 else count}")
        else:
            items = self.local("a")
            self.emit(f"{target} = {items} = []")
            # Most arrays hold no or one element, for which a range costs more than this.
            self.emit(f"while {count}:")
            self.indent += 1
            self.emit(f"{count} -= 1")
            item = self.local("v")
            self.read(element, path, item)
            self.flush()
            self.emit(f"{items}.append({item})")
            self.indent -= 1
        self.end_nullable(field)

    def read_struct(self, cls: type[Struct], path: str, target: str) -> None:
        """Emits the creation of one struct and the reading of its fields, then of its tagged fields."""
        name = target if target.isidentifier() else self.local("o")
        self.flush()
        self.emit(f"{name} = new({self.constant('C', cls)})")
        tagged: list[tuple[str, Field]] = []
        for field_name, field in cls.FIELDS.items():
            if self.version not in field.versions or field.tagged_in(self.version):
                self.emit_default(cls, field_name, field, f"{name}.{field_name}")
                if field.tagged_in(self.version):
                    tagged.append((field_name, field))
            else:
                self.read(field, f"{path}.{field_name}".lstrip("."), f"{name}.{field_name}")
        if self.flexible:
            self.read_tags(tagged, path, name)
        if name != target:
            self.emit(f"{target} = {name}")

    def emit_default(self, cls: type[Struct], field_name: str, field: Field, target: str) -> None:
        default = cls.default_of(field_name)
        if isinstance(default, list):
            text = "[]"
        elif field.kind == "struct" and default is not None:
            text = self.constant("D", default)
        else:
            text = repr(default)
        self.emit(f"{target} = {text}")

    def read_tags(self, tagged: list[tuple[str, Field]], path: str, name: str) -> None:
        count = self.local("t")
        self.read_fixed("B", 1, count)
        self.flush()
        self.emit(f"if {count}:")
        self.indent += 1
        self.emit(f"if {count} > 127:")
        self.emit(f"    {count}, p = more(data, p, {count})")
        if tagged:
            self.read_known_tags(tagged, path, name, count)
        else:
            self.emit(f"p = skip_tags(data, p, {count}, size)")
        self.indent -= 1

    def read_known_tags(self, tagged: list[tuple[str, Field]], path: str, name: str, count: str) -> None:
        tag, end = self.local("k"), self.local("z")
        self.emit(f"for _ in range({count}):")
        self.indent += 1
        self.emit(f"{tag}, p = read_uvarint(data, p)")
        self.emit(f"{end}, p = read_uvarint(data, p)")
        self.emit(f"{end} += p")
        self.refuse(f"{end} > size", path, "has a tagged field that runs past the end")
        word = "if"
        for field_name, field in tagged:
            self.emit(f"{word} {tag} == {field.tag}:")
            self.indent += 1
            self.read(field, f"{path}.{field_name}".lstrip("."), f"{name}.{field_name}")
            self.flush()
            self.indent -= 1
            word = "elif"
        self.emit("else:")
        self.emit(f"    p = {end}")
        self.refuse(f"p != {end}", path, "has a tagged field of the wrong size")
        self.indent -= 1

    def read(self, field: Field, path: str, target: str) -> None:
        """Emits the reading of one field into `target`; fixed fields may stay queued."""
        if field.kind in FIXED:
            self.read_fixed(*FIXED[field.kind], target)
        elif field.kind == "array":
            self.read_array(field, path, target)
        elif field.kind == "struct":
            assert field.struct is not None
            if self.version in field.nullable:
                present = self.local("n")
                self.read_fixed("b", 1, present)
                self.flush()
                self.emit(f"if {present} < 0:")
                self.emit(f"    {target} = None")
                self.emit("else:")
                self.indent += 1
            self.read_struct(field.struct, path, target)
            self.flush()
            self.end_nullable(field)
        else:
            self.read_sized(field, path, target)

    def source(self) -> str:
        self.read_struct(self.cls, "", "m")
        self.flush()
        head = ["def decode(data, p):"]
        # Messages without records are small, and slices of bytes are cheaper than those of a memoryview.
        wanted = "memoryview" if self.zero_copy else "bytes"
        head += [f"    if data.__class__ is not {wanted}:", f"        data = {wanted}(data)"]
        head += ["    size = len(data)", "    try:"]
        tail = [
            "    except EXPECTED as error:",
            f"        raise WireError({f'{self.cls.__name__} v{self.version}: '!r} + str(error)) from None",
            "    return m, p",
        ]
        return "\n".join(head + self.lines + tail)


def compile_decoder(cls: type[Message], version: int) -> Decoder:
    """The function `decode(data, position) -> (message, end)` of this class at this version."""
    writer = DecoderSource(cls, version)
    code = compile(writer.source(), f"<decoder of {cls.__name__} v{version}>", "exec")
    exec(code, writer.names)  # noqa: S102 - the source comes from our own declarations, never from a peer
    decode: Decoder = writer.names["decode"]
    return decode
