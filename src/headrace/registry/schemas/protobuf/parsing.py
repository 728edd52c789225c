"""Text → elements: proto2, proto3 and editions, by recursive descent.

Types are not looked up here. Nesting is bounded; everything else is linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.protobuf.elements import (
    LARGEST_TAG,
    Enum,
    EnumValue,
    Extend,
    Extensions,
    Field,
    File,
    Group,
    Message,
    OneOf,
    Option,
    Range,
    Reserved,
    Rpc,
    Service,
    Type,
    Word,
)
from headrace.registry.schemas.protobuf.options import OptionParser

MESSAGE_NESTING = 30
"""The compiler of Protocol Buffers refuses more than 32."""

_LABELS = ("optional", "required", "repeated")
_VISIBILITY = ("export", "local")
_IMPORTS = ("", "public", "weak", "option")


def parse_file(text: str) -> File:
    """Raises `InvalidSchema` with line and column."""
    return _Parser(text).file()


@dataclass
class _FileParts:
    """What was read of a file so far."""

    syntax: str = ""
    edition: str = ""
    package: str = ""
    imports: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in _IMPORTS})
    options: list[Option] = field(default_factory=list)
    types: list[Type] = field(default_factory=list)
    extends: list[Extend] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)

    def file(self) -> File:
        normal, public, weak, option = (tuple(self.imports[kind]) for kind in _IMPORTS)
        return File(
            self.syntax,
            self.edition,
            self.package,
            normal,
            public,
            weak,
            tuple(self.options),
            tuple(self.types),
            tuple(self.extends),
            tuple(self.services),
            option,
        )


@dataclass
class _MessageParts:
    """What was read of a message so far."""

    fields: list[Field] = field(default_factory=list)
    oneofs: list[OneOf] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    types: list[Type] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    reserved: list[Reserved] = field(default_factory=list)
    extensions: list[Extensions] = field(default_factory=list)
    extends: list[Extend] = field(default_factory=list)

    def message(self, name: str, visibility: str) -> Message:
        return Message(
            name,
            tuple(self.fields),
            tuple(self.oneofs),
            tuple(self.groups),
            tuple(self.types),
            tuple(self.options),
            tuple(self.reserved),
            tuple(self.extensions),
            tuple(self.extends),
            visibility,
        )


class _Parser(OptionParser):
    def file(self) -> File:
        parts = _FileParts()
        while self.token.kind != "end":
            if not self.accept(";"):
                self._declaration(parts)
        return parts.file()

    def _declaration(self, parts: _FileParts) -> None:
        visibility = self._visibility()
        keyword = self.word()
        if keyword == "message":
            parts.types.append(self._message(0, visibility))
        elif keyword == "enum":
            parts.types.append(self._enum(visibility))
        elif visibility:
            raise self.error(f"expected message or enum after {visibility}", back=True)
        elif keyword in ("syntax", "edition"):
            if parts.syntax or parts.edition:
                raise self.error("too many syntax or edition definitions", back=True)
            self.expect("=")
            setattr(parts, keyword, self._version(keyword))
            self.expect(";")
        elif keyword == "package":
            if parts.package:
                raise self.error("too many package names", back=True)
            parts.package = self.word()
            self.expect(";")
        elif keyword == "import":
            kind = self.word() if self.token.kind == "word" else ""
            if kind not in _IMPORTS:
                raise self.error(f"unexpected {kind}", back=True)
            parts.imports[kind].append(self.string())
            self.expect(";")
        elif keyword == "option":
            parts.options.append(self.option_statement())
        elif keyword == "extend":
            parts.extends.append(self._extend())
        elif keyword == "service":
            parts.services.append(self._service())
        else:
            raise self.error(f"unexpected label: {keyword}", back=True)

    def _version(self, keyword: str) -> str:
        version = self.string()
        if keyword == "syntax" and version not in ("proto2", "proto3"):
            raise self.error(f"unexpected syntax: {version}", back=True)
        return version

    def _visibility(self) -> str:
        follows = self.following()
        if self.token.text in _VISIBILITY and follows.kind == "word" and follows.text in ("message", "enum"):
            return self.word()
        return ""

    def _body(self, member: Callable[[], None]) -> None:
        """`{ members }`, with empty statements between them."""
        self.expect("{")
        while not self.accept("}"):
            if not self.accept(";"):
                member()

    def _message(self, depth: int, visibility: str = "") -> Message:
        if depth > MESSAGE_NESTING:
            raise InvalidSchema(f"Nested too deeply: more than {MESSAGE_NESTING} levels of messages")
        name = self.name()
        parts = _MessageParts()
        self._body(lambda: self._member(parts, depth))
        return parts.message(name, visibility)

    def _member(self, parts: _MessageParts, depth: int) -> None:
        if self._at_field():
            self._field_or_group(parts.fields, parts.groups)
            return
        visibility = self._visibility()
        keyword = self.word()
        if keyword == "message":
            parts.types.append(self._message(depth + 1, visibility))
        elif keyword == "enum":
            parts.types.append(self._enum(visibility))
        elif keyword == "extend":
            parts.extends.append(self._extend())
        elif keyword == "oneof":
            parts.oneofs.append(self._oneof())
        elif keyword == "option":
            parts.options.append(self.option_statement())
        elif keyword == "reserved":
            parts.reserved.append(self._reserved())
        elif keyword == "extensions":
            parts.extensions.append(self._extensions())
        elif keyword == "group":
            parts.groups.append(self._group(""))
        else:
            raise self.error(f"unexpected label: {keyword}", back=True)

    def _at_field(self) -> bool:
        """Whether a field starts here: words like `message` and `option` are keywords only where no field can be meant."""
        keyword, follows = self.token.text, self.following()
        if keyword in ("option", "group"):
            return False
        if keyword in _LABELS or (keyword == "map" and follows.text == "<"):
            return True
        return follows.kind == "word" and self.following(2).text == "="

    def _field_or_group(self, fields: list[Field], groups: list[Group] | None) -> None:
        label = self.word() if self.token.text in _LABELS and self.following().text != "=" else ""
        if self.token.text == "group" and self.following(2).text == "=" and self._opens_group():
            if groups is None:
                raise self.error("a group inside extend or another group is not supported; use a message")
            self.word()
            groups.append(self._group(label))
        else:
            fields.append(self._field(label))

    def _opens_group(self) -> bool:
        return self.following(4).text in ("{", "[") and self.following(1).text[:1].isupper()

    def _field(self, label: str) -> Field:
        kind = self._type()
        if kind.startswith("map<") and label:
            raise self.error(f"'map' type cannot have label {label}", back=True)
        name = self.name()
        self.expect("=")
        tag = self.integer()
        options = self.bracketed_options()
        self.expect(";")
        default = _plain(options, "default")
        json_name = _plain(options, "json_name")
        rest = tuple(option for option in options if option is not default and option is not json_name)
        return Field(name, kind, tag, label, _said(default), _said(json_name), rest)

    def _type(self) -> str:
        kind = self.word()
        if kind == "map" and self.accept("<"):
            key = self.word()
            self.expect(",")
            value = self.word()
            self.expect(">")
            return f"map<{key}, {value}>"
        return kind

    def _group(self, label: str) -> Group:
        name = self.name()
        self.expect("=")
        tag = self.integer()
        if self.token.text == "[":
            raise self.error("options of a group are not supported; use a message")
        fields: list[Field] = []
        self._body(lambda: self._field_or_group(fields, None))
        return Group(name, tag, label, tuple(fields))

    def _oneof(self) -> OneOf:
        name = self.name()
        fields: list[Field] = []
        groups: list[Group] = []
        options: list[Option] = []

        def member() -> None:
            if self.token.text == "option" and not (self.following().kind == "word" and self._is_number(3)):
                self.word()
                options.append(self.option_statement())
            elif self.token.text in _LABELS and self.following(2).text == "=" and self.following(3).text != ";":
                raise self.error(f"label {self.token.text} is not allowed in oneof")
            else:
                self._field_or_group(fields, groups)

        self._body(member)
        return OneOf(name, tuple(fields), tuple(groups), tuple(options))

    def _is_number(self, distance: int) -> bool:
        return self.following(distance).text[:1].isdigit() and self.following(2).text == "="

    def _enum(self, visibility: str = "") -> Enum:
        name = self.name()
        values: list[EnumValue] = []
        options: list[Option] = []
        reserved: list[Reserved] = []

        def member() -> None:
            if self.following().text == "=":
                value = self.name()
                self.expect("=")
                values.append(EnumValue(value, self.integer(), self.bracketed_options()))
                self.expect(";")
                return
            keyword = self.word()
            if keyword == "option":
                options.append(self.option_statement())
            elif keyword == "reserved":
                reserved.append(self._reserved())
            else:
                raise self.error(f"unexpected {keyword!r} in enum", back=True)

        self._body(member)
        return Enum(name, tuple(values), tuple(options), tuple(reserved), visibility)

    def _reserved(self) -> Reserved:
        values: list[int | Range | str] = []
        while True:
            if self.token.kind == "string":
                values.append(self.string())
            elif self.token.text[:1].isdigit() or self.token.text[:1] == "-":
                values.append(self._range())
            else:
                values.append(Word(self.name()))
            if self.accept(";"):
                return Reserved(tuple(values))
            self.expect(",")

    def _range(self) -> int | Range:
        first = self.integer()
        if self.token.text != "to":
            return first
        self.word()
        if self.token.text == "max":
            self.word()
            return first, LARGEST_TAG
        return first, self.integer()

    def _extensions(self) -> Extensions:
        values = [self._range()]
        while self.accept(","):
            values.append(self._range())
        options = self.bracketed_options()
        self.expect(";")
        return Extensions(tuple(values), options)

    def _extend(self) -> Extend:
        name = self.word()
        fields: list[Field] = []
        self._body(lambda: self._field_or_group(fields, None))
        return Extend(name, tuple(fields))

    def _service(self) -> Service:
        name = self.name()
        rpcs: list[Rpc] = []
        options: list[Option] = []

        def member() -> None:
            keyword = self.word()
            if keyword == "rpc":
                rpcs.append(self._rpc())
            elif keyword == "option":
                options.append(self.option_statement())
            else:
                raise self.error(f"unexpected label: {keyword}", back=True)

        self._body(member)
        return Service(name, tuple(rpcs), tuple(options))

    def _rpc(self) -> Rpc:
        name = self.name()
        request_streams, request = self._rpc_type()
        if self.word() != "returns":
            raise self.error("expected 'returns'", back=True)
        response_streams, response = self._rpc_type()
        options: list[Option] = []

        def member() -> None:
            if self.word() != "option":
                raise self.error("expected 'option'", back=True)
            options.append(self.option_statement())

        if self.token.text == "{":
            self._body(member)
        else:
            self.expect(";")
        return Rpc(name, request, response, request_streams, response_streams, tuple(options))

    def _rpc_type(self) -> tuple[bool, str]:
        self.expect("(")
        first = self.word()
        streams = first == "stream" and self.token.text != ")"
        kind = self.word() if streams else first
        self.expect(")")
        return streams, kind


def _plain(options: tuple[Option, ...], name: str) -> Option | None:
    return next((option for option in options if option.name == name and not option.custom), None)


def _said(option: Option | None) -> str | None:
    if option is None:
        return None
    if not isinstance(option.value, str):
        raise InvalidSchema(f"Option {option.name} is not a single value")
    return str(option.value)
