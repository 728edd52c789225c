"""Tables: a compacted changelog topic becomes a local store with look-ups in microseconds.

Reads the topic through a Kafka client, so it works on Headrace and on Apache Kafka alike. Owns local copies only: it never
writes to a topic, and everything it keeps can be read again from there. It knows bytes and a caller's functions, no formats.
"""

from headrace.tables.answers import Count, Lookup, Position, Row, Rows, Window
from headrace.tables.errors import (
    RecordNotDecoded,
    StoreInUse,
    TableClosed,
    TableError,
    TableFailed,
    TableLoading,
    TableTimeout,
    TopicMissing,
    WrongLookup,
)
from headrace.tables.orders import BYTES, DOUBLE, SIGNED, KeyOrder, by_value
from headrace.tables.progress import State, Status
from headrace.tables.table import ChangelogTable
from headrace.tables.windows import SessionWindows, TimeWindows, session_windowed, time_windowed

__all__ = [
    "BYTES",
    "DOUBLE",
    "SIGNED",
    "ChangelogTable",
    "Count",
    "KeyOrder",
    "Lookup",
    "Position",
    "RecordNotDecoded",
    "Row",
    "Rows",
    "SessionWindows",
    "State",
    "Status",
    "StoreInUse",
    "TableClosed",
    "TableError",
    "TableFailed",
    "TableLoading",
    "TableTimeout",
    "TimeWindows",
    "TopicMissing",
    "Window",
    "WrongLookup",
    "by_value",
    "session_windowed",
    "time_windowed",
]
