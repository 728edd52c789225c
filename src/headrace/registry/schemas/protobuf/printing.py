"""Elements → the text that Confluent's registry stores: one form for every file, whatever its author's layout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

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
    Value,
    Word,
)

_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_ESCAPES |= {"\\": "\\\\", "'": "\\'", '"': '\\"'}
_ESCAPE_TABLE = str.maketrans(_ESCAPES)
_QUOTED_DEFAULTS = ("string", "bytes")
Lines = list[str]


def print_file(file: File) -> str:
    lines: Lines = []
    if file.edition:
        lines.append(f'edition = "{file.edition}";')
    if file.syntax:
        lines.append(f'syntax = "{file.syntax}";')
    if file.package:
        lines.append(f"package {file.package};")
    imports = [f'import "{name}";' for name in file.imports]
    imports += [f'import public "{name}";' for name in file.public_imports]
    imports += [f'import weak "{name}";' for name in file.weak_imports]
    imports += [f'import option "{name}";' for name in file.option_imports]
    sections = [imports, _statements(file.options), _types(file.types)]
    sections.append([line for extend in file.extends for line in _extend(extend)])
    sections.append([line for service in file.services for line in _service(service)])
    for section in sections:
        if section:
            lines += ["", *section]
    return "\n".join(lines) + "\n" if lines else ""


def without_extensions(file: File) -> File:
    """What `format=ignore_extensions` shows: no extensions, no custom options but Confluent's."""
    return replace(
        file,
        options=_standard(file.options),
        types=tuple(map(_plain_type, file.types)),
        extends=(),
        services=tuple(
            replace(
                service,
                options=_standard(service.options),
                rpcs=tuple(replace(rpc, options=_standard(rpc.options)) for rpc in service.rpcs),
            )
            for service in file.services
        ),
    )


def _plain_type(kind: Type) -> Type:
    if isinstance(kind, Enum):
        values = tuple(replace(value, options=_standard(value.options)) for value in kind.values)
        return replace(kind, options=_standard(kind.options), values=values)
    return replace(
        kind,
        options=_standard(kind.options),
        fields=tuple(map(_plain_field, kind.fields)),
        oneofs=tuple(
            replace(oneof, options=_standard(oneof.options), fields=tuple(map(_plain_field, oneof.fields)))
            for oneof in kind.oneofs
        ),
        types=tuple(map(_plain_type, kind.types)),
        extensions=(),
        extends=(),
    )


def _plain_field(field: Field) -> Field:
    return replace(field, options=_standard(field.options))


def _standard(options: Iterable[Option]) -> tuple[Option, ...]:
    return tuple(o for o in options if not o.custom or o.name.startswith("confluent."))


def _indented(lines: Iterable[str]) -> Lines:
    return [f"  {line}" for line in lines]


def _block(head: str, sections: Iterable[Lines]) -> Lines:
    """A head, sections with an empty line between them, and the closing brace."""
    lines: Lines = []
    for section in filter(None, sections):
        lines += ["", *_indented(section)]
    return [f"{head} {{", *lines[1:], "}"] if lines else [f"{head} {{}}"]


def _types(types: Iterable[Type]) -> Lines:
    types = list(types)
    lines = [line for kind in types if isinstance(kind, Message) for line in _message(kind)]
    return lines + [line for kind in types if isinstance(kind, Enum) for line in _enum(kind)]


def _message(message: Message) -> Lines:
    return _block(
        f"{_visibility(message)}message {message.name}",
        [
            [_reserved(reserved) for reserved in message.reserved],
            _statements(message.options),
            [line for field in message.fields for line in _field(field)],
            [line for oneof in message.oneofs for line in _oneof(oneof)],
            [line for group in message.groups for line in _group(group)],
            [line for extensions in message.extensions for line in _extensions(extensions)],
            [line for extend in message.extends for line in _extend(extend)],
            _types(message.types),
        ],
    )


def _enum(enum: Enum) -> Lines:
    lines = [_reserved(reserved) for reserved in enum.reserved] + _statements(enum.options)
    lines += [line for value in enum.values for line in _enum_value(value)]
    return _block(f"{_visibility(enum)}enum {enum.name}", [lines])


def _visibility(kind: Type) -> str:
    return f"{kind.visibility} " if kind.visibility else ""


def _enum_value(value: EnumValue) -> Lines:
    return _with_options(f"{value.name} = {value.tag}", value.options)


def _oneof(oneof: OneOf) -> Lines:
    fields = [line for field in oneof.fields for line in _field(field)]
    groups = [line for group in oneof.groups for line in _group(group)]
    return _block(f"oneof {oneof.name}", [_statements(oneof.options), fields, groups])


def _group(group: Group) -> Lines:
    label = f"{group.label} " if group.label else ""
    fields = [line for field in group.fields for line in _field(field)]
    return _block(f"{label}group {group.name} = {group.tag}", [fields])


def _extend(extend: Extend) -> Lines:
    return _block(f"extend {extend.name}", [[line for field in extend.fields for line in _field(field)]])


def _field(field: Field) -> Lines:
    label = f"{field.label} " if field.label else ""
    options = list(field.options)
    if field.default is not None:
        quoted = field.type in _QUOTED_DEFAULTS
        options.append(Option("default", field.default if quoted else Word(field.default)))
    if field.json_name is not None:
        options.append(Option("json_name", field.json_name))
    return _with_options(f"{label}{field.type} {field.name} = {field.tag}", options)


def _reserved(reserved: Reserved) -> str:
    return f"reserved {', '.join(map(_reserved_value, reserved.values))};"


def _reserved_value(value: int | Range | str) -> str:
    if isinstance(value, Word):
        return str(value)
    return f'"{value}"' if isinstance(value, str) else _range(value)


def _range(value: int | Range) -> str:
    if isinstance(value, int):
        return str(value)
    first, last = value
    return f"{first} to {'max' if last >= LARGEST_TAG else last}"


def _extensions(extensions: Extensions) -> Lines:
    return _with_options(f"extensions {', '.join(map(_range, extensions.values))}", extensions.options)


def _service(service: Service) -> Lines:
    rpcs = [line for rpc in service.rpcs for line in _rpc(rpc)]
    return _block(f"service {service.name}", [_statements(service.options), rpcs])


def _rpc(rpc: Rpc) -> Lines:
    request = f"stream {rpc.request}" if rpc.request_streams else rpc.request
    response = f"stream {rpc.response}" if rpc.response_streams else rpc.response
    head = f"rpc {rpc.name} ({request}) returns ({response})"
    if not rpc.options:
        return [f"{head};"]
    return [f"{head} {{", *_indented(_statements(rpc.options)), "};"]


def _statements(options: Iterable[Option]) -> Lines:
    return [line for option in options for line in _around("option ", _option(option), ";")]


def _with_options(head: str, options: Sequence[Option]) -> Lines:
    return _around(f"{head} ", _several(list(options)), ";") if options else [f"{head};"]


def _around(before: str, lines: Lines, after: str) -> Lines:
    first, *rest = lines
    lines = [before + first, *rest]
    return [*lines[:-1], lines[-1] + after]


def _several(values: Sequence[Value]) -> Lines:
    if len(values) == 1:
        return _around("[", _value(values[0]), "]")
    lines = ["["]
    for index, value in enumerate(values):
        lines += _indented(_around("", _value(value), "," if index < len(values) - 1 else ""))
    return [*lines, "]"]


def _option(option: Option) -> Lines:
    name = f"({option.name})" if option.custom else option.name
    value = option.value
    if isinstance(value, Option):
        return _around(f"{name}.", _option(value), "")
    if isinstance(value, list):
        return _around(f"{name} = ", _several(value), "")
    return _around(f"{name} = ", _value(value), "")


def _value(value: Value) -> Lines:
    if isinstance(value, Word):
        return [str(value)]
    if isinstance(value, str):
        return [f'"{value.translate(_ESCAPE_TABLE)}"']
    if isinstance(value, Option):
        return _option(value)
    if isinstance(value, list):
        return _enclosed("[", [_value(entry) for entry in value], "]")
    return _enclosed("{", [_around(f"{key}: ", _value(entry), "") for key, entry in value.items()], "}")


def _enclosed(start: str, entries: list[Lines], end: str) -> Lines:
    lines = [start]
    for index, entry in enumerate(entries):
        lines += _indented(_around("", entry, "," if index < len(entries) - 1 else ""))
    return [*lines, end]
