"""What can go wrong with a look-up, one class per thing that a caller would do next. Every text names the topic and that next step."""

from __future__ import annotations


class TableError(Exception):
    """The base of all of them."""


class TopicMissing(TableError):
    """The changelog topic does not exist, or does not exist any more."""


class TableLoading(TableError):
    """The table has not yet read what its topic held when reading began: an answer now could be wrong, not just old."""


class TableTimeout(TableError, TimeoutError):
    """What was waited for did not happen in time."""


class TableFailed(TableError):
    """The table has stopped for good, or cannot begin: its store cannot be read or written. The cause is attached."""


class TableClosed(TableError):
    """The table was closed by this process."""


class StoreInUse(TableError):
    """Another table, here or in another process, holds the store's directory."""


class RecordNotDecoded(TableError):
    """The record that was asked for is there, but the table's decode function refuses its bytes."""


class WrongLookup(TableError):
    """This kind of look-up does not fit this table: `get` on windows, `fetch` without, `prefix` over an order that keeps none."""
