"""Avro schemas for tests, by the fields they have."""

from __future__ import annotations

import json
from typing import Any


def record(*fields: str, name: str = "Order") -> str:
    """A record with integer fields; one that ends in `?` has a default, so that it may come and go."""
    return json.dumps(
        {"type": "record", "name": name, "fields": [_field(field) for field in fields]}, separators=(",", ":")
    )


def _field(text: str) -> dict[str, Any]:
    name, _colon, kind = text.rstrip("?").partition(":")
    return {"name": name, "type": kind or "int", **({"default": 0} if text.endswith("?") else {})}


def body(*fields: str, **more: Any) -> dict[str, Any]:
    """A request's body with such a schema."""
    return {"schema": record(*fields), **more}
