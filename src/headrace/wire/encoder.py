"""Compiles the encoder of one message class at one version into a flat Python function.

The function appends to a bytearray that its caller made (and may have put a frame header into), with one `struct` call
per run of fixed fields. Large records are not copied: the bytearray is closed before them, they become a part of their
own, and a new bytearray goes on behind them. A value that does not fit its field is our own bug and raises whatever
`struct` or the attribute access raises.
"""

from __future__ import annotations

import struct as struct_module
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.wire.decoder import FEW, FIXED
from headrace.wire.fields import Buffer, Field
from headrace.wire.varint import uvarint

if TYPE_CHECKING:
    from headrace.wire.schema import Message, Struct

# Below this size one more copy is cheaper than one more part in a vectored write.
COPY_BELOW = 1024

Encoder = Callable[[Any, bytearray], list[Buffer]]


def total_size(buffers: list[Buffer]) -> int:
    return sum(map(len, buffers))


class EncoderSource:
    """Writes the source of one encoder, field after field."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.cls = cls
        self.version = version
        self.flexible = version >= cls.FLEXIBLE_FROM
        self.lines: list[str] = []
        self.indent = 1
        self.names: dict[str, Any] = {"uvarint": uvarint, "total_size": total_size, "COPY_BELOW": COPY_BELOW}
        self.fixed: list[tuple[str, str]] = []
        self.counter = 0
        self.buffer = "buf"

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

    def write_fixed(self, code: str, value: str) -> None:
        """Queues a field of fixed size; the queue becomes one `struct` call. Code "x" is a zero byte."""
        self.fixed.append((code, value))

    def packed(self) -> str:
        """An expression for the queued fixed fields, which are no longer queued then."""
        codes = "".join(code for code, _ in self.fixed)
        values = ", ".join(value for code, value in self.fixed if code != "x")
        self.fixed.clear()
        if not values:
            return repr(bytes(len(codes)))
        pack = f"pack_{codes.replace('?', 'o')}"
        self.names[pack] = struct_module.Struct(">" + codes).pack
        return f"{pack}({values})"

    def flush(self) -> None:
        if self.fixed:
            self.emit(f"{self.buffer} += {self.packed()}")

    def write_uvarint(self, value: str) -> None:
        """Emits a varint: up to 127 it shares the `struct` call of the fixed fields before it."""
        queued = list(self.fixed)
        self.emit(f"if {value} < 128:")
        if queued:
            self.write_fixed("B", value)
            self.emit(f"    {self.buffer} += {self.packed()}")
        else:
            self.emit(f"    {self.buffer}.append({value})")
        self.emit("else:")
        self.fixed = queued
        before = f"{self.packed()} + " if queued else ""
        self.emit(f"    {self.buffer} += {before}uvarint({value})")

    def write_length(self, length: str, wide: bool) -> None:
        if self.flexible:
            plus_one = self.local("n")
            self.emit(f"{plus_one} = {length} + 1")
            self.write_uvarint(plus_one)
        else:
            self.write_fixed("i" if wide else "h", length)
            self.flush()

    def begin_nullable(self, field: Field, value: str, wide: bool) -> None:
        """Emits the null of a nullable field and leaves the indent inside the branch for values."""
        if self.version not in field.nullable:
            return
        queued = list(self.fixed)
        self.emit(f"if {value} is None:")
        self.indent += 1
        if self.flexible:
            self.write_fixed("x", "")
        else:
            self.write_fixed("i" if wide else "h", "-1")
        self.flush()
        self.indent -= 1
        self.emit("else:")
        self.indent += 1
        self.fixed = queued

    def end_nullable(self, field: Field) -> None:
        if self.version in field.nullable:
            self.indent -= 1

    def write_sized(self, field: Field, source: str) -> None:
        value = self.local("v")
        self.emit(f"{value} = {source}")
        self.begin_nullable(field, value, field.kind == "bytes")
        if field.kind == "string":
            self.emit(f"{value} = {value}.encode()")
        self.write_length(f"len({value})", field.kind == "bytes")
        self.emit(f"{self.buffer} += {value}")
        self.end_nullable(field)

    def write_records(self, field: Field, source: str) -> None:
        assert self.buffer == "buf", "records cannot stand inside a tagged field"
        value, length, several = self.local("v"), self.local("n"), self.local("l")
        self.emit(f"{value} = {source}")
        self.begin_nullable(field, value, True)
        self.emit(f"{several} = {value}.__class__ is list")
        self.emit(f"{length} = total_size({value}) if {several} else len({value})")
        self.write_length(length, True)
        self.emit(f"if {length} < COPY_BELOW:")
        self.emit(f"    buf += b''.join({value}) if {several} else {value}")
        self.emit("else:")
        self.emit("    parts.append(buf)")
        self.emit(f"    if {several}:")
        self.emit(f"        parts += {value}")
        self.emit("    else:")
        self.emit(f"        parts.append({value})")
        self.emit("    buf = bytearray()")
        self.end_nullable(field)

    def write_array(self, field: Field, source: str) -> None:
        element = field.element
        assert element is not None
        value, item = self.local("v"), self.local("o")
        self.emit(f"{value} = {source}")
        self.begin_nullable(field, value, True)
        self.write_length(f"len({value})", True)
        if element.kind in FIXED and element.kind not in ("bool", "uuid"):
            self.names["pack"] = struct_module.pack
            code, count = FIXED[element.kind][0], self.local("n")
            self.names[f"pack_few_{code}"] = tuple(struct_module.Struct(f">{n}{code}").pack for n in range(FEW))
            self.emit(f"{count} = len({value})")
            few, many = f"pack_few_{code}[{count}](*{value})", f'pack(f">{{{count}}}{code}", *{value})'
            self.emit(f"{self.buffer} += {few} if {count} < {FEW} else {many}")
        else:
            self.emit(f"for {item} in {value}:")
            self.indent += 1
            self.write(element, item)
            self.flush()
            self.indent -= 1
        self.end_nullable(field)

    def write_struct(self, cls: type[Struct], source: str) -> None:
        """Emits the fields of one struct, then its tagged fields."""
        tagged: list[tuple[str, Field]] = []
        for name, field in cls.FIELDS.items():
            if field.tagged_in(self.version):
                tagged.append((name, field))
            elif self.version in field.versions:
                self.write(field, f"{source}.{name}")
        if not self.flexible:
            return
        if tagged:
            self.write_tags(cls, tagged, source)
        else:
            self.write_fixed("x", "")

    def is_default(self, cls: type[Struct], name: str, field: Field, value: str) -> str:
        default = cls.default_of(name)
        if isinstance(default, list):
            return f"({value} is not None and not {value})"
        if default is None:
            return f"{value} is None"
        if field.kind == "struct":
            constant = self.constant("D", default)
            return f"({value} is {constant} or {value} == {constant})"
        return f"{value} == {default!r}"

    def write_tags(self, cls: type[Struct], tagged: list[tuple[str, Field]], source: str) -> None:
        """Emits the tagged fields whose values are not the defaults, in the order of their tags (KIP-482)."""
        tagged.sort(key=lambda pair: pair[1].tag or 0)
        self.flush()
        checks = [self.is_default(cls, name, field, f"{source}.{name}") for name, field in tagged]
        self.emit(f"if {' and '.join(checks)}:")
        self.emit(f"    {self.buffer}.append(0)")
        self.emit("else:")
        self.indent += 1
        outer, count, body, value = self.buffer, self.local("t"), self.local("b"), self.local("b")
        self.emit(f"{count} = 0")
        self.emit(f"{body} = bytearray()")
        for (name, field), check in zip(tagged, checks):
            self.emit(f"if not ({check}):")
            self.indent += 1
            self.emit(f"{count} += 1")
            self.emit(f"{value} = bytearray()")
            self.buffer = value
            self.write(field, f"{source}.{name}")
            self.flush()
            self.emit(f"{body} += uvarint({field.tag}) + uvarint(len({value})) + {value}")
            self.indent -= 1
        self.buffer = outer
        self.emit(f"{outer} += uvarint({count}) + {body}")
        self.indent -= 1

    def write(self, field: Field, source: str) -> None:
        """Emits the writing of one field; fixed fields may stay queued."""
        if field.kind in FIXED:
            self.write_fixed(FIXED[field.kind][0], source)
        elif field.kind == "array":
            self.write_array(field, source)
        elif field.kind == "records":
            self.write_records(field, source)
        elif field.kind == "struct":
            assert field.struct is not None
            value = source
            if not source.isidentifier():
                value = self.local("v")
                self.emit(f"{value} = {source}")
            self.begin_nullable_struct(field, value)
            self.write_struct(field.struct, value)
            if self.version in field.nullable:
                self.flush()
            self.end_nullable(field)
        else:
            self.write_sized(field, source)

    def begin_nullable_struct(self, field: Field, value: str) -> None:
        if self.version not in field.nullable:
            return
        self.flush()
        self.emit(f"if {value} is None:")
        self.emit(f"    {self.buffer}.append(255)")
        self.emit("else:")
        self.indent += 1
        self.write_fixed("b", "1")

    def source(self) -> str:
        self.write_struct(self.cls, "m")
        self.flush()
        head = ["def encode(m, buf):", "    parts = []"]
        tail = ["    parts.append(buf)", "    return parts"]
        return "\n".join(head + self.lines + tail)


def compile_encoder(cls: type[Message], version: int) -> Encoder:
    """The function `encode(message, buffer) -> parts` of this class at this version."""
    writer = EncoderSource(cls, version)
    code = compile(writer.source(), f"<encoder of {cls.__name__} v{version}>", "exec")
    exec(code, writer.names)  # noqa: S102 - the source comes from our own declarations, never from a peer
    encode: Encoder = writer.names["encode"]
    return encode
