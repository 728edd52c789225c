"""Regular expressions in schemas: looked at, never run with an engine that can go astray.

Dialects differ (ECMA 262 in the specification, Java's in Confluent's registry), so only what no dialect takes is refused, and what is huge.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache

import re2  # type: ignore[import-untyped]

from headrace.registry.schemas.errors import InvalidSchema

LENGTH = 8_192
_REPEATS = 100_000
_COUNTS = re.compile(r"\{(\d{1,9})?(?:,(\d{1,9}))?\}")
_QUIET = re2.Options()
_QUIET.log_errors = False
_PLAINLY_WRONG = (
    "unterminated",
    "unbalanced",
    "missing )",
    "nothing to repeat",
    "bad character range",
    "bad escape (end",
)


def check(pattern: str) -> None:
    """Raise when the pattern is huge or no regular expression in any dialect."""
    if len(pattern) > LENGTH:
        raise InvalidSchema(f"Regular expression too long: {len(pattern)} characters, at most {LENGTH} are allowed")
    if _size(pattern) > _REPEATS:
        raise InvalidSchema(f"Regular expression too large: its repetitions multiply to more than {_REPEATS}")
    if _compiled(pattern) is not None:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        if isinstance(error, RecursionError) or str(error).startswith(_PLAINLY_WRONG):
            raise InvalidSchema(f"Invalid regular expression {pattern[:200]!r}: {error}") from error


def _size(pattern: str) -> int:
    size = 1
    for low, high in _COUNTS.findall(pattern):
        size = max(size, 1) * max(int(high or low or 1), 1) if size <= _REPEATS else size
    return size


def finds(pattern: str, text: str) -> bool:
    """Whether the pattern occurs in the text. One that needs backtracking never does: it could run for ever."""
    compiled = _compiled(pattern)
    return compiled is not None and compiled.search(text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str):  # type: ignore[no-untyped-def]
    try:
        return re2.compile(pattern, _QUIET)
    except re2.error:
        return None
