"""`headrace broker` and `headrace up` as processes: ready, signals, and one line for whatever stops a start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace import client
from headrace.admin.errors import UsageMistake
from headrace.cli.commands.broker import server_properties
from headrace.testing import LocalBroker

Spawn = Callable[..., subprocess.Popen[bytes]]


def ready(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize(
    "command", [("broker",), ("up", "--no-engine", "--no-registry", "--no-console")], ids=["broker", "up"]
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_that_it_is_ready_and_stops_cleanly_on_a_signal(
    spawn: Spawn, tmp_path: Path, command: tuple[str, ...], number: signal.Signals
) -> None:
    process = spawn(*command, "--data-dir", str(tmp_path / "d"), "--port", "0", "--json", with_broker=False)
    started = ready(process)
    assert started["event"] == "started"
    assert client.admin(started["bootstrap_servers"]).list_topics(timeout=10).cluster_id == started["cluster_id"]
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, b"")


def test_people_get_a_few_lines(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn("broker", "--data-dir", str(tmp_path / "d"), "--port", "0", "--http-port", "0", with_broker=False)
    assert process.stderr is not None
    lines = [process.stderr.readline().decode() for _ in range(4)]
    assert "is ready at 127.0.0.1:" in lines[0]
    assert str(tmp_path / "d") in lines[1]
    address = lines[2].split()[1]
    with urllib.request.urlopen(address, timeout=10) as answer:
        assert b"headrace_partitions" in answer.read()
    assert "Ctrl-C" in lines[3]


def test_a_start_loads_only_what_a_broker_needs(tmp_path: Path) -> None:
    """That is what makes it fast; the clock of a shared machine would be a poor witness."""
    code = (
        "import sys; from headrace.cli.main import main; "
        "main(['broker', '--data-dir', 'd', '--port', '0', '--stop-with-stdin']); print(*sys.modules)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        assert process.stderr is not None
        assert "is ready at" in process.stderr.readline()
        loaded = set(process.communicate(timeout=30)[0].split())
    finally:
        process.kill()
    assert "headrace.broker.server" in loaded
    for heavy in ("confluent_kafka", "prometheus_client", "pydantic", "rich", "starlette", "uvicorn"):
        assert heavy not in loaded
    commands = {name for name in loaded if name.startswith("headrace.cli.commands.")}
    assert commands == {"headrace.cli.commands.broker"}


def test_settings_from_a_file_and_from_set(spawn: Spawn, tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(
        "# ours\nnum.partitions=4\nlog.retention.hours = 24\nbackground.threads=10\n"
    )
    arguments = [
        "--config",
        "server.properties",
        "--set",
        "num.partitions=6",
        "--set",
        "listeners=PLAINTEXT://127.0.0.1:0",
    ]
    process = spawn("broker", *arguments, "--data-dir", "d", "--json", with_broker=False)
    address = ready(process)["bootstrap_servers"]
    from confluent_kafka.admin import ConfigResource, ResourceType

    admin = client.admin(address)
    (future,) = admin.describe_configs([ConfigResource(ResourceType.BROKER, "1")]).values()
    described = future.result(10)
    assert described["num.partitions"].value == "6"
    assert described["log.retention.hours"].value == "24"


def one_line(process: subprocess.Popen[bytes]) -> str:
    out, err = process.communicate(timeout=30)
    lines = err.decode().splitlines()
    assert (process.returncode, out, len(lines)) == (1, b"", 1), err.decode()
    assert lines[0].startswith("Error: ")
    return lines[0]


def test_a_port_in_use(spawn: Spawn, tmp_path: Path, headrace_shared_broker: LocalBroker) -> None:
    port = str(headrace_shared_broker.port)
    line = one_line(spawn("broker", "--data-dir", str(tmp_path / "d"), "--port", port, with_broker=False))
    assert port in line
    assert "--port" in line


def test_a_directory_that_another_broker_holds(
    spawn: Spawn, tmp_path: Path, headrace_shared_broker: LocalBroker
) -> None:
    directory = str(headrace_shared_broker.data_dir)
    line = one_line(spawn("broker", "--data-dir", directory, "--port", "0", with_broker=False))
    assert directory in line
    assert str(os.getpid()) in line


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission(spawn: Spawn, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    assert "--data-dir" in one_line(spawn("broker", "-d", str(tmp_path / "closed" / "d"), "-p", "0", with_broker=False))


def test_a_file_where_the_directory_should_be(spawn: Spawn, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "--data-dir" in one_line(spawn("broker", "-d", str(tmp_path / "file"), "-p", "0", with_broker=False))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "num.partitoins=3"], "did you mean num.partitions"),
        (["--set", "num.partitions=three"], "num.partitions"),
        (["--config", "missing.properties"], "missing.properties"),
    ],
)
def test_bad_settings(spawn: Spawn, tmp_path: Path, arguments: list[str], said: str) -> None:
    assert said in one_line(spawn("broker", "-d", str(tmp_path / "d"), "-p", "0", *arguments, with_broker=False))


def test_what_the_options_mean_together() -> None:
    assert server_properties(None, None, None, None, None) == {
        "log.dirs": "headrace-data",
        "listeners": "PLAINTEXT://127.0.0.1:9092",
    }
    given = server_properties(Path("d"), 0, 5, None, ["log.dir=other", "a=b"])
    assert given == {"log.dirs": "d", "listeners": "PLAINTEXT://127.0.0.1:0", "headrace.http.port": "5", "a": "b"}
    with pytest.raises(UsageMistake):
        server_properties(None, 9093, None, None, ["listeners=PLAINTEXT://:1"])
