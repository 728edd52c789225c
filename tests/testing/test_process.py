"""`headrace.testing.broker_process`: a broker that can be killed, and never outlives its test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.testing import BrokerDied, broker_process, wait_until


def test_what_was_acknowledged_survives_kill_9() -> None:
    with broker_process(num_partitions=2) as b:
        pid, port = b.pid, b.port
        b.create_topic("orders")
        b.produce("orders", [f"{n}" for n in range(100)])
        b.kill()
        assert not b.running
        b.restart()
        assert (b.port, b.pid == pid) == (port, False)
        assert [message.value() for message in b.records("orders", 100)] == [str(n).encode() for n in range(100)]


def test_stop_is_clean_and_exit_code_0() -> None:
    with broker_process() as b:
        assert b.started["start_ms"] < 30_000
        assert b.stop() == 0
        assert (b.data_dir / ".kafka_cleanshutdown").exists()


def test_a_start_that_fails_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(BrokerDied, match="--data-dir"), broker_process(data_dir=tmp_path / "file"):
        pass
    with pytest.raises(BrokerDied, match=r"num\.partitoins"), broker_process(num_partitoins=1):
        pass


def test_a_broker_does_not_outlive_a_parent_that_was_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time; from headrace.testing import broker_process\n"
        "with broker_process() as b: print(b.pid, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    wait_until(lambda: not _alive(pid), timeout_s=30, message="the broker's end")


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
