"""Types and names as Spark writes them. A TIME is an INT in Spark: milliseconds of the day."""

from __future__ import annotations

from headrace.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
)

_NAMES: dict[DataType, str] = {
    BOOLEAN: "BOOLEAN",
    INTEGER: "INT",
    BIGINT: "BIGINT",
    DOUBLE: "DOUBLE",
    STRING: "STRING",
    BYTES: "BINARY",
    DATE: "DATE",
    TIME: "INT",
    TIMESTAMP: "TIMESTAMP",
}


class SqlTextError(ValueError):
    """Something of a plan that must not or cannot stand in SQL."""


def spark_type(type_: DataType) -> str:
    """The type in Spark's DDL."""
    match type_:
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case Array(item):
            return f"ARRAY<{spark_type(item)}>"
        case Map(key, value):
            return f"MAP<{spark_type(key)}, {spark_type(value)}>"
        case Struct(fields):
            return f"STRUCT<{', '.join(f'{quote(one.name)}: {spark_type(one.type)}' for one in fields)}>"
    return _NAMES[type_]


def quote(name: str) -> str:
    """A name in back-quotes. Spark replaces `${…}` in a statement's text before it reads it, so such a name is refused."""
    if not name or "${" in name or "\0" in name:
        raise SqlTextError(
            f"{name[:80]!r} cannot be the name of a column: it is empty or holds '${{' or a zero character"
        )
    return "`" + name.replace("`", "``") + "`"
