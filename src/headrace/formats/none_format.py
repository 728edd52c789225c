"""No bytes at all: a key or value that is not there, or that nobody looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.formats.format import DecodeSql, Format, FormatError, Row
from headrace.plan.serdes import Serde


class NoneFormat(Format):
    name = "none"
    doc = "Nothing: bytes are not read, and NULL is written."
    options: Mapping[str, str] = {}

    def _check(self, serde: Serde, is_key: bool) -> None:
        if serde.columns.fields:
            raise FormatError(f"the format none holds no columns, these are {', '.join(serde.columns.names)}")
        if serde.window is not None:
            raise FormatError("the format none holds no window; windowed keys need another format")

    def _decode_sql(self, bytes_sql: str, serde: Serde) -> DecodeSql:
        return DecodeSql("CAST(NULL AS BINARY)", "CAST(NULL AS STRUCT<>)", None)

    def _encode_sql(self, struct_sql: str, serde: Serde) -> str:
        return "CAST(NULL AS BINARY)"

    def _decode(self, data: bytes, serde: Serde) -> Row | None:
        return None

    def _encode(self, row: Mapping[str, Any], serde: Serde) -> bytes | None:
        return None
