"""Files that Protobuf schemas may import without a reference, and the installed module that has each."""

from __future__ import annotations

_WELL_KNOWN = [
    "any",
    "api",
    "descriptor",
    "duration",
    "empty",
    "field_mask",
    "source_context",
    "struct",
    "timestamp",
    "type",
    "wrappers",
]
_COMMON = [
    "calendar_period",
    "color",
    "date",
    "datetime",
    "dayofweek",
    "decimal",
    "expr",
    "fraction",
    "interval",
    "latlng",
    "money",
    "month",
    "phone_number",
    "postal_address",
    "quaternion",
    "timeofday",
]
MODULES = {f"google/protobuf/{name}.proto": f"google.protobuf.{name}_pb2" for name in _WELL_KNOWN}
MODULES |= {f"google/type/{name}.proto": f"google.type.{name}_pb2" for name in _COMMON}
