"""What is wrong with a schema, in words for whoever sent it. The server answers it with 422 and error code 42201."""

from __future__ import annotations


class InvalidSchema(Exception):
    """A schema that is refused: `reason` starts with what is wrong. Nothing else is raised for input from outside."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnknownSchemaType(InvalidSchema):
    """A schema type that is none of AVRO, JSON and PROTOBUF."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid schema type {name}")


class UnknownFormat(InvalidSchema):
    """A `format=` that the type of the schema does not have."""

    def __init__(self, schema_type: str, name: str) -> None:
        super().__init__(f"Format not supported: {name} for a schema of type {schema_type}")
