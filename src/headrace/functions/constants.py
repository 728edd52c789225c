"""Checks of arguments that must be constants, made before a pipeline starts, because Spark would throw at its first record."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Sequence
from functools import cache

MAX_PATTERN = 10_000
_TIME_LETTERS = "GyMLdQqEDFaHhKkmsSVzOXxZ"
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?(?:[+-](?:0?\d|1[0-7]):?(?:[0-5]\d)?)?|Z|[+-]18(?::?00)?")


def regular_expression(value: object) -> str | None:
    """Java's expressions are Java's to judge; what is wrong in every dialect is found here."""
    text = str(value)
    if len(text) > MAX_PATTERN:
        return f"a pattern may have {MAX_PATTERN} characters"
    depth, position, in_class = 0, 0, False
    while position < len(text):
        one = text[position]
        if one == "\\":
            if position == len(text) - 1:
                return "it ends with a lone backslash"
            position += 1
        elif in_class:
            in_class = one != "]"
        elif one == "[":
            in_class = True
        elif one in "()":
            depth += 1 if one == "(" else -1
            if depth < 0:
                break
        position += 1
    if in_class:
        return "a '[' is not closed"
    return "its parentheses do not match" if depth else None


def group(value: object) -> str | None:
    return None if isinstance(value, int) and 0 <= value <= 100 else "a group is 0 to 100"


def replacement(value: object) -> str | None:
    """`$1` and `\\` have a meaning in it."""
    if re.fullmatch(r"(?:[^$\\]|\\.|\$\d)*", str(value), re.DOTALL):
        return None
    return "a '$' is followed by a group's digit and a backslash by a character; write \\\\$ for a dollar sign"


def group_exists(values: Sequence[object]) -> str | None:
    """The third argument of an extraction is a group of the second."""
    if len(values) < 3 or values[2] is None or values[1] is None:
        return None
    count = groups(str(values[1]))
    return None if int(str(values[2])) <= count else f"the pattern has {count} groups, there is no group {values[2]}"


def replacement_groups_exist(values: Sequence[object]) -> str | None:
    if values[1] is None or values[2] is None:
        return None
    count = groups(str(values[1]))
    named = [int(one) for one in re.findall(r"(?<!\\)\$(\d)", str(values[2]))]
    return None if max(named, default=0) <= count else f"the pattern has {count} groups, there is no ${max(named)}"


def groups(pattern: str) -> int:
    """The number of groups of a regular expression: parentheses that are not escaped, not in a class and capture."""
    plain = re.sub(r"\\.", "", pattern, flags=re.DOTALL)
    plain = re.sub(r"\[[^\]]*\]", "", plain)
    return len(re.findall(r"\((?!\?)|\(\?<(?![=!])", plain))


def like_pattern(value: object) -> str | None:
    if re.fullmatch(r"(?:[^\\]|\\[%_\\])*", str(value), re.DOTALL):
        return None
    return "a backslash stands before %, _ or another backslash only"


def time_pattern(value: object) -> str | None:
    """A pattern of Spark's: letters of a set, quotes closed."""
    text = str(value)
    if text.count("'") % 2:
        return "a quote is not closed"
    outside = re.sub(r"'[^']*'", "", text)
    wrong = sorted({one for one in outside if one.isascii() and one.isalpha() and one not in _TIME_LETTERS})
    if wrong:
        return f"{', '.join(wrong)} mean nothing in a pattern; put text into quotes"
    for run in re.finditer(r"([A-Za-z])\1*", outside):
        if len(run[0]) > _MOST.get(run[1], 2):
            return f"{run[0]} has too many letters"
    return "{ } and # are reserved" if re.search(r"[{}#]", outside) else None


_MOST = {
    "y": 6,
    "M": 4,
    "L": 4,
    "E": 4,
    "Q": 4,
    "q": 4,
    "G": 4,
    "D": 3,
    "F": 1,
    "a": 1,
    "S": 9,
    "z": 4,
    "V": 2,
    "O": 4,
    "X": 5,
    "x": 5,
    "Z": 5,
}


def zone(value: object) -> str | None:
    text = str(value)
    if text in _zones() or _OFFSET.fullmatch(text):
        return None
    return "no such time zone; write one as Europe/Berlin or +01:00"


@cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())
