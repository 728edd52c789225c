"""Functions of dates and times. A TIMESTAMP is a moment, in milliseconds; without a zone, texts and parts are in UTC.

Patterns are those of Java's DateTimeFormatter as Spark takes them. A text that does not fit its pattern is NULL.
"""

from __future__ import annotations

from headrace.functions.constants import time_pattern, zone
from headrace.functions.declaration import Function, function
from headrace.functions.sql_text import date_sql, timestamp_sql


def _part(name: str, doc: str, sql: str) -> Function:
    return function(name, doc, {"TIMESTAMP -> INTEGER": sql, "DATE -> INTEGER": sql})


def _time_part(name: str, doc: str) -> Function:
    return function(name, doc, {"TIMESTAMP -> INTEGER": f"{name}({{0}})"})


_UNITS = "MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER, YEAR"
_STEP = (
    "CASE upper({1}) WHEN 'MILLISECOND' THEN 1L WHEN 'SECOND' THEN 1000L WHEN 'MINUTE' THEN 60000L "
    "WHEN 'HOUR' THEN 3600000L WHEN 'DAY' THEN 86400000L WHEN 'WEEK' THEN 604800000L END"
)

FUNCTIONS = (
    function(
        "timestamp_of_millis",
        "The moment so many milliseconds after 1970.",
        {"BIGINT -> TIMESTAMP": timestamp_sql("{0}")},
    ),
    function(
        "millis_of_timestamp", "Milliseconds from 1970 to the moment.", {"TIMESTAMP -> BIGINT": "unix_millis({0})"}
    ),
    function("date_of_days", "The day so many days after 1970-01-01.", {"INTEGER -> DATE": date_sql("{0}")}),
    function("days_of_date", "Days from 1970-01-01 to the day.", {"DATE -> INTEGER": "unix_date({0})"}),
    function(
        "format_timestamp",
        "A moment as text, by a pattern, in a zone if one is named.",
        {
            "TIMESTAMP, STRING -> STRING": "date_format({0}, {1})",
            "TIMESTAMP, STRING, STRING -> STRING": "date_format(from_utc_timestamp({0}, {2}), {1})",
        },
        {1: time_pattern, 2: zone},
    ),
    function(
        "parse_timestamp",
        "The moment a text names, by a pattern, in a zone if one is named; NULL when it does not fit.",
        {
            "STRING, STRING -> TIMESTAMP": "try_to_timestamp({0}, {1})",
            "STRING, STRING, STRING -> TIMESTAMP": "to_utc_timestamp(try_to_timestamp({0}, {1}), {2})",
        },
        {1: time_pattern, 2: zone},
    ),
    function(
        "format_date",
        "A day as text, by a pattern.",
        {"DATE, STRING -> STRING": "date_format({0}, {1})"},
        {1: time_pattern},
    ),
    function(
        "parse_date",
        "The day a text names, by a pattern; NULL when it does not fit.",
        {"STRING, STRING -> DATE": "CAST(try_to_timestamp({0}, {1}) AS DATE)"},
        {1: time_pattern},
    ),
    function(
        "date_trunc",
        f"The beginning of the {_UNITS} (first argument) that a moment lies in.",
        {"STRING, TIMESTAMP -> TIMESTAMP": "date_trunc({0}, {1})"},
    ),
    function(
        "add_time",
        "A moment and so many MILLISECOND, SECOND, MINUTE, HOUR, DAY or WEEK (second argument) later.",
        {
            "TIMESTAMP, STRING, BIGINT -> TIMESTAMP": timestamp_sql(
                f"try_add(unix_millis({{0}}), try_multiply({{2}}, {_STEP}))"
            ),
        },
    ),
    function(
        "add_days",
        "A day and so many days later.",
        {"DATE, INTEGER -> DATE": date_sql("(CAST(unix_date({0}) AS BIGINT) + {1})")},
    ),
    function(
        "add_months",
        "A day and so many months later; the month's last day at most.",
        {"DATE, INTEGER -> DATE": "CASE WHEN {1} BETWEEN -120000 AND 120000 THEN add_months({0}, {1}) END"},
    ),
    function("days_between", "Days from the second day to the first.", {"DATE, DATE -> INTEGER": "datediff({0}, {1})"}),
    _part("year", "The year.", "year({0})"),
    _part("month", "The month, 1 to 12.", "month({0})"),
    _part("day", "The day of the month, from 1.", "day({0})"),
    _part("day_of_week", "The day of the week, Monday is 1.", "(weekday({0}) + 1)"),
    _part("day_of_year", "The day of the year, from 1.", "dayofyear({0})"),
    _part("week_of_year", "The week of the year by ISO 8601.", "weekofyear({0})"),
    _time_part("hour", "The hour, 0 to 23."),
    _time_part("minute", "The minute."),
    _time_part("second", "The second."),
    function(
        "in_zone",
        "The moment whose UTC text is what the clocks of a zone show at this one.",
        {"TIMESTAMP, STRING -> TIMESTAMP": "from_utc_timestamp({0}, {1})"},
        {1: zone},
    ),
)
