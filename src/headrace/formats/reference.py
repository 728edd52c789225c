"""The reference page of formats, made from their declarations and their modules' own words."""

from __future__ import annotations

import inspect

from headrace.formats import FORMATS

_INTRODUCTION = """# Formats

How the columns of a key or a value lie in a record's bytes. NULL bytes are no row (a tombstone), never an error. Bytes that are not what the format says leave the pipeline for the
processing log, with the reason. Keys of windowed tables have Kafka Streams' form: the key's bytes and then the window's start, or of sessions its end and its start,
eight bytes each.
"""


def page() -> str:
    parts = [_INTRODUCTION]
    for format_ in FORMATS.values():
        module = inspect.getmodule(type(format_))
        words = inspect.cleandoc((module.__doc__ if module else "") or "")
        options = "".join(f"- `{name}`: {meaning}\n" for name, meaning in format_.options.items())
        parts.append(f"## `{format_.name}`\n\n{words}\n" + (f"\nOptions:\n\n{options}" if options else ""))
    return "\n".join(parts)
