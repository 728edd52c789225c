"""Functions of texts and bytes. Positions count from 1, in characters."""

from __future__ import annotations

from headrace.functions.constants import (
    group,
    group_exists,
    regular_expression,
    replacement,
    replacement_groups_exist,
)
from headrace.functions.declaration import function

# What a function may make of a number in a record: a text that no record could carry helps nobody.
MAX_TEXT = 1_000_000

# A delimiter is text, not a pattern: \Q…\E, with an \E inside it written as \E\\E\Q.
_LITERAL = r"concat('\\Q', replace({1}, '\\E', '\\E\\\\E\\Q'), '\\E')"

FUNCTIONS = (
    function("upper", "In upper case.", {"STRING -> STRING": "upper({0})"}),
    function("lower", "In lower case.", {"STRING -> STRING": "lower({0})"}),
    function("initcap", "Each word with a capital first letter.", {"STRING -> STRING": "initcap({0})"}),
    function(
        "length",
        "The number of characters, or of bytes.",
        {"STRING -> INTEGER": "length({0})", "BYTES -> INTEGER": "length({0})"},
    ),
    function(
        "substring",
        "The part from a position on (negative: from the end), of a length if one is given.",
        {
            "STRING, INTEGER -> STRING": "substring({0}, {1})",
            "STRING, INTEGER, INTEGER -> STRING": "substring({0}, {1}, {2})",
            "BYTES, INTEGER -> BYTES": "substring({0}, {1})",
            "BYTES, INTEGER, INTEGER -> BYTES": "substring({0}, {1}, {2})",
        },
    ),
    function("left", "The first characters.", {"STRING, INTEGER -> STRING": "left({0}, {1})"}),
    function("right", "The last characters.", {"STRING, INTEGER -> STRING": "right({0}, {1})"}),
    function("trim", "Without spaces at both ends.", {"STRING -> STRING": "trim({0})"}),
    function("trim_start", "Without spaces at the beginning.", {"STRING -> STRING": "ltrim({0})"}),
    function("trim_end", "Without spaces at the end.", {"STRING -> STRING": "rtrim({0})"}),
    function(
        "pad_start",
        f"Filled at the beginning with a text up to a length, or cut to it; NULL where that is more than {MAX_TEXT}.",
        {"STRING, INTEGER, STRING -> STRING": f"CASE WHEN {{1}} <= {MAX_TEXT} THEN lpad({{0}}, {{1}}, {{2}}) END"},
    ),
    function(
        "pad_end",
        f"Filled at the end with a text up to a length, or cut to it; NULL where that is more than {MAX_TEXT}.",
        {"STRING, INTEGER, STRING -> STRING": f"CASE WHEN {{1}} <= {MAX_TEXT} THEN rpad({{0}}, {{1}}, {{2}}) END"},
    ),
    function(
        "replace",
        "With every occurrence of a text replaced by another.",
        {"STRING, STRING, STRING -> STRING": "replace({0}, {1}, {2})"},
    ),
    function(
        "translate",
        "With each character of the second argument replaced by the one at the same place of the third.",
        {"STRING, STRING, STRING -> STRING": "translate({0}, {1}, {2})"},
    ),
    function(
        "repeat",
        f"The text so many times; NULL where that is more than {MAX_TEXT} characters.",
        {
            "STRING, INTEGER -> STRING": (
                f"CASE WHEN CAST(length({{0}}) AS BIGINT) * {{1}} <= {MAX_TEXT} THEN repeat({{0}}, {{1}}) END"
            )
        },
    ),
    function(
        "reverse",
        "Backwards: a text or an array.",
        {"STRING -> STRING": "reverse({0})", "ARRAY<T> -> ARRAY<T>": "reverse({0})"},
    ),
    function(
        "split",
        "The parts between the occurrences of a delimiter.",
        {"STRING, STRING -> ARRAY<STRING>": f"split({{0}}, {_LITERAL})"},
    ),
    function(
        "split_part",
        "One of the parts between the occurrences of a delimiter, from 1; NULL when there are fewer.",
        {
            "STRING, STRING, INTEGER -> STRING": f"element_at(split({{0}}, {_LITERAL}), nullif({{2}}, 0))",
        },
    ),
    function(
        "concat_ws",
        "Texts one after the other with the first argument between them; NULLs are left out.",
        {"STRING, STRING... -> STRING": "concat_ws({*})"},
    ),
    function(
        "position",
        "Where a text first occurs in another, from 1; 0 when it does not.",
        {"STRING, STRING -> INTEGER": "instr({0}, {1})"},
    ),
    function(
        "starts_with", "Whether a text begins with another.", {"STRING, STRING -> BOOLEAN": "startswith({0}, {1})"}
    ),
    function("ends_with", "Whether a text ends with another.", {"STRING, STRING -> BOOLEAN": "endswith({0}, {1})"}),
    function(
        "regexp_like",
        "Whether a part of a text fits a regular expression (Java's).",
        {"STRING, STRING -> BOOLEAN": "({0} RLIKE {1})"},
        {1: regular_expression},
    ),
    function(
        "regexp_extract",
        "The part of a text that fits a regular expression, or one of its groups; empty when nothing does.",
        {
            "STRING, STRING -> STRING": "regexp_extract({0}, {1}, 0)",
            "STRING, STRING, INTEGER -> STRING": "regexp_extract({0}, {1}, {2})",
        },
        {1: regular_expression, 2: group},
        together=group_exists,
    ),
    function(
        "regexp_extract_all",
        "All parts of a text that fit a regular expression, or one of their groups.",
        {
            "STRING, STRING -> ARRAY<STRING>": "regexp_extract_all({0}, {1}, 0)",
            "STRING, STRING, INTEGER -> ARRAY<STRING>": "regexp_extract_all({0}, {1}, {2})",
        },
        {1: regular_expression, 2: group},
        together=group_exists,
    ),
    function(
        "regexp_replace",
        "With every part that fits a regular expression replaced; `$1` is its first group.",
        {"STRING, STRING, STRING -> STRING": "regexp_replace({0}, {1}, {2})"},
        {1: regular_expression, 2: replacement},
        together=replacement_groups_exist,
    ),
    function(
        "regexp_split",
        "The parts between what fits a regular expression.",
        {"STRING, STRING -> ARRAY<STRING>": "split({0}, {1})"},
        {1: regular_expression},
    ),
    function("encode_utf8", "A text's bytes in UTF-8.", {"STRING -> BYTES": "CAST({0} AS BINARY)"}),
    function(
        "decode_utf8",
        "The text that bytes are in UTF-8; what is none becomes U+FFFD.",
        {"BYTES -> STRING": "CAST({0} AS STRING)"},
    ),
    function("to_base64", "Bytes as base64.", {"BYTES -> STRING": "base64({0})"}),
    function(
        "from_base64", "The bytes of base64; NULL when it is none.", {"STRING -> BYTES": "try_to_binary({0}, 'base64')"}
    ),
    function("to_hex", "Bytes as hexadecimal digits.", {"BYTES -> STRING": "hex({0})"}),
    function(
        "from_hex", "The bytes of hexadecimal digits; NULL when they are none.", {"STRING -> BYTES": "unhex({0})"}
    ),
    function(
        "md5",
        "The MD5 of bytes or of a text's UTF-8, in hexadecimal.",
        {"BYTES -> STRING": "md5({0})", "STRING -> STRING": "md5(CAST({0} AS BINARY))"},
    ),
    function(
        "sha256",
        "The SHA-256 of bytes or of a text's UTF-8, in hexadecimal.",
        {"BYTES -> STRING": "sha2({0}, 256)", "STRING -> STRING": "sha2(CAST({0} AS BINARY), 256)"},
    ),
    function(
        "hash",
        "A 64-bit hash (xxHash64) of all arguments; NULLs count as values.",
        {"ANY... -> BIGINT": "xxhash64({*})"},
    ),
)
