"""Log lines: readable text, or one JSON object a line for machines."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import TextIO

OTHERS = ("asyncio", "py.warnings", "uvicorn")
"""Loggers of others whose warnings belong into the same stream."""
RESERVED = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class TextFormatter(logging.Formatter):
    """`2026-01-31T12:00:00.123Z INFO  headrace.broker  broker 1 is ready`"""

    converter = time.gmtime

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)-7s %(name)s  %(message)s", "%Y-%m-%dT%H:%M:%S")


class JsonFormatter(logging.Formatter):
    """One object a line; what was passed as `extra` becomes fields of it."""

    converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in RESERVED}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def configure(*, json_lines: bool = False, level: str = "INFO", stream: TextIO | None = None) -> None:
    """Send Headrace's log to a stream, standard error by default; what the event loop and the web server say, too."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if json_lines else TextFormatter())
    for name in ("headrace", *OTHERS):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
    logging.getLogger("headrace").setLevel(level.upper())
    for name in OTHERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)
