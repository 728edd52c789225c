"""A process that is killed while it fills a store on disk leaves one that is exactly as far as it says."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from random import Random

from headrace.tables import ChangelogTable
from headrace.tables.orders import BYTES
from headrace.tables.places import Places
from headrace.tables.sqlite_store import SqliteStore
from headrace.testing import LocalBroker, wait_until

CHILD = """
import sys
from headrace.tables import ChangelogTable
table = ChangelogTable(sys.argv[1], sys.argv[2], directory=sys.argv[3])
table._store.batch_records = table._store.load_records = 500  # many small writes: more moments to be killed in
print("open", flush=True)
sys.stdin.read()
"""
KEYS = 1_000
RECORDS = 60_000


def value_at(offset: int) -> bytes:
    return b"%d" % offset


def model(position: int) -> dict[bytes, bytes]:
    """What the first records leave: record n sets key n mod KEYS, and every seventh is a tombstone."""
    rows: dict[bytes, bytes] = {}
    for offset in range(position):
        key = b"%d" % (offset % KEYS)
        rows.pop(key, None) if offset % 7 == 0 else rows.update({key: value_at(offset)})
    return rows


def test_killed_at_any_moment(headrace_shared_broker: LocalBroker, tmp_path: Path) -> None:
    broker, random = headrace_shared_broker, Random(5)
    broker.create_topic("killed", cleanup_policy="compact")
    broker.produce(
        "killed", [(b"%d" % (n % KEYS), None if n % 7 == 0 else value_at(n)) for n in range(RECORDS)], linger_ms=50
    )
    reached = 0
    for _ in range(4):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, broker.bootstrap_servers, "killed", str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with child:
            assert child.stdout is not None and child.stdout.readline() == b"open\n"
            try:
                child.wait(random.uniform(0.02, 0.12))
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
        store = SqliteStore(tmp_path, "killed", Places(BYTES, None))
        pairs, position = store.scan((b"", None), None)
        store.close()
        assert position.get(0, 0) >= reached
        reached = position.get(0, 0)
        assert {key: packed[8:] for key, packed in pairs} == model(reached)
    with ChangelogTable[bytes, bytes](broker.bootstrap_servers, "killed", directory=tmp_path) as table:
        table.wait_until_current(20)
        assert {row.key: row.value for row in table.all().rows} == model(RECORDS)
        wait_until(lambda: table.status.records == RECORDS - reached)
