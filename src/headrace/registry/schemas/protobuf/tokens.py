"""The text of a .proto file as a row of tokens (Protocol Buffers language specification, "Lexical Elements")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from headrace.registry.schemas.errors import InvalidSchema

_TOKEN = re.compile(
    r"""(?P<skip>[\s\ufeff]+|//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<word>[A-Za-z0-9_.+-]+)
      | (?P<mark>[{}()\[\]<>=;:,/])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\([abfnrtv\\'\"?]|x[0-9A-Fa-f]{1,2}|X[0-9A-Fa-f]{1,2}|[0-7]{1,3}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


TOKENS = 100_000
"""Of one file; reading as many takes less than a second."""


class Token(NamedTuple):
    """`kind` is string, word, mark or end; `text` of a string is what it says."""

    kind: str
    text: str
    position: int


def tokens(text: str) -> Iterator[Token]:
    """One by one, so that what is wrong early ends the work; the last is an end, again and again."""
    position = count = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InvalidSchema(
                f"Syntax error in {where(text, position)}: unexpected {text[position : position + 1]!r}"
            )
        if match.lastgroup != "skip":
            is_string = match.lastgroup == "string"
            said = _unescaped(match[0][1:-1], text, position) if is_string else match[0]
            yield Token(match.lastgroup or "", said, position)
            count += 1
            if count > TOKENS:
                raise InvalidSchema(
                    f"Schema too complex: more than {TOKENS} words and signs; split it into several files"
                )
        position = match.end()
    while True:
        yield Token("end", "", len(text))


def where(text: str, position: int) -> str:
    """Line and column, as Wire names them."""
    before = text[:position]
    return f":{before.count(chr(10)) + 1}:{position - before.rfind(chr(10))}"


def _unescaped(text: str, whole: str, position: int) -> str:
    if "\\" not in text:
        return text

    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xXuU" and len(code) > 1:
            number = int(code[1:], 16)
        elif code[0].isdigit():
            number = int(code, 8)
        else:
            return _SIMPLE.get(code, code)
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            raise InvalidSchema(f"Syntax error in {where(whole, position)}: no such character: \\{code}")
        return chr(number)

    return _ESCAPE.sub(one, text)
