"""The drafts of JSON Schema that are known, by `$schema`; without one, or with one that is unknown, it is draft 7."""

from __future__ import annotations

from enum import Enum
from typing import Any


class Draft(Enum):
    DRAFT_4 = "draft-04"
    DRAFT_6 = "draft-06"
    DRAFT_7 = "draft-07"
    DRAFT_2019_09 = "draft/2019-09"
    DRAFT_2020_12 = "draft/2020-12"

    @property
    def modern(self) -> bool:
        """Whether keywords beside `$ref` count and each keyword stands on its own."""
        return self in (Draft.DRAFT_2019_09, Draft.DRAFT_2020_12)

    @property
    def id_keyword(self) -> str:
        return "id" if self is Draft.DRAFT_4 else "$id"


_BY_ADDRESS = {
    f"{scheme}://json-schema.org/{draft.value}/schema": draft for draft in Draft for scheme in ("http", "https")
} | {f"{scheme}://json-schema.org/schema": Draft.DRAFT_4 for scheme in ("http", "https")}

META_SCHEMAS = frozenset(_BY_ADDRESS)
"""Addresses that a schema may refer to without bringing the text along."""


def draft_of(tree: Any) -> Draft:
    address = tree.get("$schema") if isinstance(tree, dict) else None
    return _BY_ADDRESS.get(address.removesuffix("#"), Draft.DRAFT_7) if isinstance(address, str) else Draft.DRAFT_7
