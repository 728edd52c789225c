"""Subjects and contexts as texts: `orders-value` is in the default context, `:.east:orders-value` in the context `.east`. Pure.

Inside the registry a subject is always a normalised text, so that equal subjects are equal texts. A text with a context and no name, `:.east:`,
means the context itself, for settings; `:.__GLOBAL:` means all contexts; `:*:` matches any context in a search.
"""

from __future__ import annotations

DEFAULT_CONTEXT = "."
GLOBAL_CONTEXT = ".__GLOBAL"
ANY_CONTEXT = ":*:"
_PREFIX = ":."
_RESERVED = ("__GLOBAL", "__EMPTY")
MAX_SUBJECT = 1_024


def split(text: str) -> tuple[str, str]:
    """The context and the name of a subject."""
    if text.startswith(_PREFIX):
        context, _, name = text[1:].partition(":")
        return context, name
    if text.startswith(ANY_CONTEXT):
        return "*", text[len(ANY_CONTEXT) :]
    return DEFAULT_CONTEXT, text


def join(context: str, name: str) -> str:
    return name if context == DEFAULT_CONTEXT else f":{context}:{name}"


def normalize(text: str) -> str:
    """`:.:orders` is `orders`, and `:.east` is `:.east:`."""
    return join(*split(text))


def context_of(subject: str) -> str:
    return split(subject)[0]


def context_prefix(subject: str) -> str:
    """The subject's context as texts in messages and prefixes have it: empty for the default one, else `:.east:`."""
    return join(context_of(subject), "")


def is_default_context(text: str) -> bool:
    """Whether this names no subject but the default context, whose settings are the top ones."""
    return split(text) == (DEFAULT_CONTEXT, "")


def is_context(text: str | None) -> bool:
    return text is None or split(text)[1] == ""


def is_global_context(text: str | None) -> bool:
    return text is not None and split(text) == (GLOBAL_CONTEXT, "")


def is_valid(text: str, *, for_settings: bool = False) -> bool:
    """Whether a schema, or with `for_settings` a level or a mode, may be kept under this subject."""
    if len(text) > MAX_SUBJECT or any(ord(char) < 32 or 127 <= ord(char) < 160 for char in text):
        return False
    context, name = split(text)
    return name not in _RESERVED and (for_settings or context != GLOBAL_CONTEXT)


def named_context(text: str) -> str:
    """A context as a path or a record names it (`east`, `.east`, `:.east:`) in its one form: `.east`. `ValueError` when it is none."""
    bare = text.removeprefix(":").removesuffix(":")
    if ":" in bare:
        raise ValueError(f"Context name '{bare}' cannot contain a colon")
    return bare if bare.startswith(".") else f".{bare}"


def in_context(text: str, context: str) -> str:
    """A subject that came under `/contexts/<context>/`; one that names a context itself keeps it."""
    return text if text.startswith((_PREFIX, ANY_CONTEXT)) else join(context, text)


def beside(parent: str, text: str) -> str:
    """A subject as another one means it, in a reference or an alias: without a context it is in the other's."""
    context, name = split(text)
    return join(context_of(parent), name) if context == DEFAULT_CONTEXT else join(context, name)


def covers(scope: str | None, subject: str) -> bool:
    """Whether a scope, which is a subject, a context or (None) everything, holds this subject."""
    if scope is None or scope == subject:
        return True
    context, name = split(scope)
    return name == "" and context in (GLOBAL_CONTEXT, context_of(subject))
