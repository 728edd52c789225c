"""Functions of texts that hold JSON. What is no JSON is NULL."""

from __future__ import annotations

from headrace.functions.declaration import function

FUNCTIONS = (
    function(
        "json_extract",
        "What a path such as `$.a[0].b` leads to in a JSON text: a string without its quotes, else as JSON.",
        {"STRING, STRING -> STRING": "get_json_object({0}, {1})"},
    ),
    function(
        "json_array_length", "The number of items of a JSON array.", {"STRING -> INTEGER": "json_array_length({0})"}
    ),
    function("json_keys", "The names of a JSON object's fields.", {"STRING -> ARRAY<STRING>": "json_object_keys({0})"}),
    function(
        "to_json_text",
        "An array, a map or a struct as JSON; NULL fields are left out.",
        {
            "ARRAY<T> -> STRING": "to_json({0})",
            "MAP<K, V> -> STRING": "to_json({0})",
            "T -> STRING": "get_json_object(to_json(named_struct('v', {0})), '$.v')",
        },
    ),
)
