"""A function in a module of its own, which Python workers must find by its name."""

from __future__ import annotations


def shout(word: str) -> str:
    return f"{word.upper()}!"
