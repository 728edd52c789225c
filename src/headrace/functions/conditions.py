"""Functions that choose between values."""

from __future__ import annotations

from headrace.functions.declaration import function

FUNCTIONS = (
    function(
        "if", "The second argument when the first is true, else the third.", {"BOOLEAN, T, T -> T": "if({0}, {1}, {2})"}
    ),
    function("coalesce", "The first argument that is not NULL.", {"T... -> T": "coalesce({*})"}),
    function("if_null", "The first argument, or the second when it is NULL.", {"T, T -> T": "coalesce({0}, {1})"}),
    function("null_if", "NULL when both are equal, else the first.", {"C, C -> C": "nullif({0}, {1})"}),
    function("greatest", "The greatest argument that is not NULL.", {"C, C... -> C": "greatest({*})"}),
    function("least", "The least argument that is not NULL.", {"C, C... -> C": "least({*})"}),
)
