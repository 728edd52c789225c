"""The process in which compaction runs: `python -m headrace.storage.compaction.worker`.

A line on standard input is a task. The answers are lines of JSON on standard output:

    {"cleaned": {...}}    a segment is on disk, to be put in its place
    {"finished": {...}}   the end of the round
    {"failed": "...", "corrupt": true}   its end as well: the log is damaged
    {"failed": "...", "errno": 28}       its end as well: the disk refused something

The end of the input ends the process at once, whatever it does: then the broker is gone or has changed its mind.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
from dataclasses import asdict

from headrace.storage.batches import CorruptLog
from headrace.storage.compaction.cleaning import Finished, Round, Task
from headrace.storage.compaction.target import Cleaned
from headrace.wire.errors import WireError

# Serving clients comes first.
NICENESS = 10


def encode(outcome: Cleaned | Finished) -> str:
    if isinstance(outcome, Finished):
        return json.dumps({"finished": asdict(outcome)})
    return json.dumps({"cleaned": outcome._asdict()})


def decode(line: str) -> Cleaned | Finished:
    """What the process said; RoundFailed if the round came to nothing."""
    message = json.loads(line)
    if "cleaned" in message:
        fields = message["cleaned"]
        return Cleaned(**{**fields, "replaces": tuple(fields["replaces"])})
    if "finished" in message:
        return Finished(**message["finished"])
    raise RoundFailed(message["failed"], corrupt=message.get("corrupt", False), errno=message.get("errno"))


class RoundFailed(Exception):
    """A round that did not end; `corrupt` when it will not do so next time either, `errno` when that is what a file said."""

    def __init__(self, message: str, *, corrupt: bool = False, errno: int | None = None) -> None:
        super().__init__(message)
        self.corrupt = corrupt
        self.errno = errno


def main() -> None:
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    tasks: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    while True:
        task = Task.from_json(tasks.get())
        try:
            for outcome in Round(task).run():
                _say(encode(outcome))
        except (CorruptLog, WireError) as error:
            _say(json.dumps({"failed": str(error), "corrupt": True}))
        except OSError as error:
            _say(json.dumps({"failed": str(error), "errno": error.errno}))


def _listen(tasks: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        tasks.put(line)
    os._exit(0)


def _say(line: str) -> None:
    try:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
