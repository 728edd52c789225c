"""Values described by JSON Schema: JSON as it is, checked before it is written."""

from __future__ import annotations

import json
from typing import Any

from headrace.serde.errors import BadSchema, Undecodable, Unfit
from headrace.serde.schemas import Schema


class JsonCodec:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._validator: Any = None

    def decode(self, payload: bytes) -> Any:
        try:
            return json.loads(payload)
        except (ValueError, RecursionError) as error:
            raise Undecodable(f"it is not JSON ({error})") from None

    def encode(self, value: Any) -> bytes:
        import jsonschema

        if self._validator is None:
            self._validator = _validator(self._schema)
        try:
            wrong = jsonschema.exceptions.best_match(self._validator.iter_errors(value))
        except Exception as error:  # of `referencing`, which is not asked for otherwise
            raise BadSchema(f"the schema cannot be used: {error}") from None
        if wrong is not None:
            raise Unfit(f"{wrong.json_path}: {wrong.message}")
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _validator(schema: Schema) -> Any:
    """Nothing is fetched: what a schema refers to is in it or among its references."""
    import jsonschema
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7

    try:
        described = json.loads(schema.text)
        contents = [(name, json.loads(reference.text)) for name, reference in schema.all_references()]
        resources = [(name, Resource.from_contents(each, default_specification=DRAFT7)) for name, each in contents]
        if isinstance(described, bool):
            described = {} if described else {"not": {}}
        kind = jsonschema.validators.validator_for(described, default=jsonschema.Draft7Validator)
        return kind(described, registry=Registry().with_resources(resources))
    except ValueError as error:
        raise BadSchema(f"the schema is not JSON ({error})") from None
