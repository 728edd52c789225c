"""The tokens of a .proto file under a cursor, and options: `option a = 1;`, `[a = 1, (b).c = "x"]`, `{ key: value }`."""

from __future__ import annotations

import re
from collections import deque

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.protobuf.elements import Option, Value, Word
from headrace.registry.schemas.protobuf.tokens import Token, tokens, where

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})\Z")
_OPTION_NESTING = 50
_MESSAGE_CHARACTERS = 200


class OptionParser:
    """A cursor over tokens that knows options; the rest of the language is built on it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._source = tokens(text)
        self._ahead: deque[Token] = deque()
        self._last = self.token = next(self._source)

    def _advance(self) -> None:
        self._last = self.token
        self.token = self._ahead.popleft() if self._ahead else next(self._source)

    def following(self, distance: int = 1) -> Token:
        while len(self._ahead) < distance:
            self._ahead.append(next(self._source))
        return self._ahead[distance - 1]

    def error(self, what: str, *, back: bool = False) -> InvalidSchema:
        token = self._last if back else self.token
        return InvalidSchema(f"Syntax error in {where(self._text, token.position)}: {what[:_MESSAGE_CHARACTERS]}")

    def _take(self, kind: str, wanted: str) -> str:
        token = self.token
        if token.kind != kind:
            found = "end of file" if token.kind == "end" else repr(token.text)
            raise self.error(f"expected {wanted}, found {found}")
        self._advance()
        return token.text

    def word(self) -> str:
        return self._take("word", "a word")

    def name(self) -> str:
        name = self.word()
        if not _NAME.match(name):
            raise self.error(f"not a name: {name!r}", back=True)
        return name

    def string(self) -> str:
        text = self._take("string", "a string")
        while self.token.kind == "string":
            text += self._take("string", "a string")
        return text

    def integer(self) -> int:
        word = self.word()
        if not _INTEGER.match(word):
            raise self.error(f"expected an integer but was {word}", back=True)
        digits = word.lstrip("-")
        if len(digits) > 1 and digits.isdigit() and digits.startswith("0"):
            # A leading zero makes a number octal, as in C.
            if set(digits) & {"8", "9"}:
                raise self.error(f"expected an integer but was {word}", back=True)
            return int(word, 8)
        return int(word, 16 if "x" in word.lower() else 10)

    def accept(self, mark: str) -> bool:
        token = self.token
        if token.kind == "mark" and token.text == mark:
            self._advance()
            return True
        return False

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            found = "end of file" if self.token.kind == "end" else repr(self.token.text)
            raise self.error(f"expected {mark!r}, found {found}")

    def option_statement(self) -> Option:
        """What follows the word `option`."""
        option = self._option("=", 0)
        self.expect(";")
        return option

    def bracketed_options(self) -> tuple[Option, ...]:
        if not self.accept("["):
            return ()
        found = [self._option("=", 0)]
        while not self.accept("]"):
            self.expect(",")
            found.append(self._option("=", 0))
        return tuple(found)

    def _option(self, separator: str, depth: int) -> Option:
        if depth > _OPTION_NESTING:
            raise InvalidSchema(f"Nested too deeply: more than {_OPTION_NESTING} levels in an option")
        if self.accept("["):
            name, path, custom = self._extension_key(), [], False
        else:
            name, path, custom = self._option_name()
        if not (separator == ":" and self.token.text in ("{", "[", "<") and self.token.kind == "mark"):
            self.expect(separator)
        value = self._value(depth)
        for part in reversed(path):
            value = Option(part, value)
        return Option(name, value, custom)

    def _extension_key(self) -> str:
        """`[package.extension]` or `[host/package.Type]` in a message literal."""
        name = self.word()
        while self.accept("/"):
            name += f"/{self.word()}"
        self.expect("]")
        return f"[{name}]"

    def _option_name(self) -> tuple[str, list[str], bool]:
        """`name.of.it`, or `(name)` and what follows it; `features.(pb.go).x` stays one name."""
        if not self.accept("("):
            name = self.word()
            if self.token.text == "(":
                name += ".".join(self._path())
            return name, [], False
        name = self.word()
        self.expect(")")
        follows = self.token.kind == "word" and self.token.text.startswith(".")
        return name, self._path() if follows else [], True

    def _path(self) -> list[str]:
        """`.a.b` or `.(other).c` after a name in parentheses."""
        parts: list[str] = []
        while True:
            if self.token.kind == "word":
                parts += [part for part in self.word().split(".") if part]
            elif self.accept("("):
                parts.append(f"({self.word()})")
                self.expect(")")
            else:
                return parts

    def _value(self, depth: int) -> Value:
        if self.token.kind == "string":
            return self.string()
        if self.accept("{"):
            return self._map("}", depth + 1)
        if self.accept("<"):
            return self._map(">", depth + 1)
        if self.accept("["):
            return self._list(depth + 1)
        return Word(self.word())

    def _list(self, depth: int) -> list[Value]:
        if depth > _OPTION_NESTING:
            raise InvalidSchema(f"Nested too deeply: more than {_OPTION_NESTING} levels in an option")
        found: list[Value] = []
        while not self.accept("]"):
            found.append(self._value(depth))
            if not self.accept(",") and self.token.text != "]":
                raise self.error("expected ',' or ']'")
        return found

    def _map(self, end: str, depth: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while not self.accept(end):
            entry = self._option(":", depth)
            earlier = found.get(entry.name)
            if earlier is None:
                found[entry.name] = entry.value
            else:
                # A key that is given again adds to a list.
                several = earlier if isinstance(earlier, list) else [earlier]
                found[entry.name] = [*several, *(entry.value if isinstance(entry.value, list) else [entry.value])]
            if not self.accept(","):
                self.accept(";")
        return found
