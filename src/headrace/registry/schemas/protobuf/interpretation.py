"""Options as written → options of descriptors.

Values go through the text format of Protocol Buffers, so that the runtime's own rules decide what fits. An option that nothing declares is left out,
as in Confluent's registry: many files import options of tools that never reach a registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from google.protobuf import text_encoding, text_format
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.protobuf.elements import Option, Value, Word
from headrace.registry.schemas.protobuf.names import Names, Scope


class Interpreter:
    """Fills in options that the runtime declares itself, and remembers whether there are others."""

    def __init__(self) -> None:
        self.custom = False

    def into(self, target: Message, options: Iterable[Option], scope: Scope) -> None:
        for option in options:
            if option.custom:
                self.custom = True
            elif "(" not in option.name:
                _merge(option, _entry(option.name, option.value, _unchanged), target, None)


class CustomInterpreter(Interpreter):
    """Fills in all options whose extension is known in the pool."""

    def __init__(self, names: Names, pool: DescriptorPool) -> None:
        super().__init__()
        self._names = names
        self._pool = pool

    def into(self, target: Message, options: Iterable[Option], scope: Scope) -> None:
        options = list(options)
        super().into(target, options, scope)
        for option in options:
            if option.custom:
                self._custom(option, target, scope)

    def _custom(self, option: Option, target: Message, scope: Scope) -> None:
        name = self._names.extension(option.name, scope)
        if name is None or not self._known(name):
            return

        def key(text: str) -> str:
            return f"[{self._names.extension(text[1:-1], scope) or text[1:-1]}]" if text[:1] in "[(" else text

        dynamic = GetMessageClass(self._pool.FindMessageTypeByName(target.DESCRIPTOR.full_name))()
        _merge(option, _entry(f"[{name}]", option.value, key), dynamic, self._pool)
        target.MergeFromString(dynamic.SerializeToString())

    def _known(self, name: str) -> bool:
        try:
            self._pool.FindExtensionByName(name)
        except KeyError:
            return False
        return True


def _unchanged(key: str) -> str:
    return key


def _merge(option: Option, text: str, target: Message, pool: DescriptorPool | None) -> None:
    try:
        text_format.Merge(text, target, allow_unknown_extension=True, allow_unknown_field=True, descriptor_pool=pool)
    except (text_format.ParseError, ValueError, TypeError, RecursionError) as error:
        raise InvalidSchema(f"Invalid value of option {option.name}: {error}") from None


def _entry(name: str, value: Value, key: Callable[[str], str]) -> str:
    """`name: value` in text format; a dotted name is a path into messages."""
    if name[:1] not in ("[", "(") and "." in name:
        first, _, rest = name.partition(".")
        return f"{first} {{ {_entry(rest, value, key)} }}"
    if isinstance(value, Option):
        return f"{key(name)} {{ {_entry(value.name, value.value, key)} }}"
    if isinstance(value, dict):
        inner = " ".join(_entry(part, entry, key) for part, entry in value.items())
        return f"{key(name)} {{ {inner} }}"
    return f"{key(name)}: {_literal(value, key)}"


def _literal(value: Value, key: Callable[[str], str]) -> str:
    if isinstance(value, Word):
        return str(value)
    if isinstance(value, str):
        return f'"{text_encoding.CEscape(value.encode(), as_utf8=False)}"'
    if isinstance(value, list):
        return f"[{', '.join(_literal(entry, key) for entry in value)}]"
    if isinstance(value, dict):
        return f"{{ {' '.join(_entry(part, entry, key) for part, entry in value.items())} }}"
    return f"{{ {_entry(value.name, value.value, key)} }}"
