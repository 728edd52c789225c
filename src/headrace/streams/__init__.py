"""Streams and tables in Python: KStream, KTable, GlobalKTable, which write a plan that Spark runs.

    from headrace.streams import App, tumbling

    app = App("fraud")
    payments = app.stream("payments", key=str, value=Payment)
    payments.filter(lambda p: p.amount > 100).to("large-payments")
    payments.group_by_key().windowed_by(tumbling(minutes=1)).count(store="per-minute")
    app.run()

Functions are called once, with columns instead of values, so that they run in the JVM; what columns cannot do makes a function a Python
function, and `app.explain()` says so. Imports `plan`, `functions` and `formats` only; engine and tables are reached when an app runs.
"""

from headrace.plan.processing import Context, KeyValue, Processor, State
from headrace.plan.python_code import Record
from headrace.streams import agg, fn
from headrace.streams.app import App
from headrace.streams.errors import StreamsError
from headrace.streams.fn import cast, length, literal, rowtime, when, window_end, window_start
from headrace.streams.grouped import KGroupedStream, KGroupedTable, TimeWindowedKStream
from headrace.streams.kstream import KStream
from headrace.streams.ktable import GlobalKTable, KTable
from headrace.streams.lookups import TableRow
from headrace.streams.python_functions import python_function
from headrace.streams.running import RunningApp
from headrace.streams.windows import (
    count_window,
    days,
    hopping,
    hours,
    minutes,
    seconds,
    session,
    sliding,
    tumbling,
    until,
    within,
)

__all__ = [
    "App",
    "Context",
    "GlobalKTable",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "KeyValue",
    "Processor",
    "Record",
    "RunningApp",
    "State",
    "StreamsError",
    "TableRow",
    "TimeWindowedKStream",
    "agg",
    "cast",
    "count_window",
    "days",
    "fn",
    "hopping",
    "hours",
    "length",
    "literal",
    "minutes",
    "python_function",
    "rowtime",
    "seconds",
    "session",
    "sliding",
    "tumbling",
    "until",
    "when",
    "window_end",
    "window_start",
    "within",
]
