"""Log lines: text for people, one JSON object a line for machines, and no more of them than somebody wants to read."""

from __future__ import annotations

import io
import json
import logging
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace import logs
from tests.broker.raw import RawClient


@pytest.fixture(autouse=True)
def _loggers_as_before() -> Iterator[None]:
    named = [logging.getLogger(name) for name in ("headrace", *logs.OTHERS)]
    before = [(one, one.handlers[:], one.level, one.propagate) for one in named]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logger.propagate = propagate
    logging.captureWarnings(False)


def test_json_lines_have_the_fields_of_the_record_and_the_extras() -> None:
    stream = io.StringIO()
    logs.configure(json_lines=True, level="debug", stream=stream)
    log = logging.getLogger("headrace.broker.somewhere")
    log.debug("hello %s", "wörld\nand more", extra={"topic": "t", "path": Path("/x")})
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("it failed")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert first.pop("time").endswith("Z")
    assert first == {
        "level": "debug",
        "logger": "headrace.broker.somewhere",
        "message": "hello wörld\nand more",
        "topic": "t",
        "path": "/x",
    }
    assert "ValueError: broken" in second["exception"]


def test_text_lines() -> None:
    stream = io.StringIO()
    logs.configure(stream=stream)
    logging.getLogger("headrace.broker").info("ready")
    logging.getLogger("headrace.broker").debug("not shown")
    (line,) = stream.getvalue().splitlines()
    assert line.endswith("INFO    headrace.broker  ready")


@pytest.mark.parametrize("name", logs.OTHERS)
def test_what_others_say_is_in_the_same_form(name: str) -> None:
    stream = io.StringIO()
    logs.configure(json_lines=True, stream=stream)
    logging.getLogger(name).warning("Task exception was never retrieved")
    logging.getLogger(name).info("not interesting")
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["logger"] == name


@contextmanager
def running(data_dir: Path) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    command = [sys.executable, "-m", "headrace", "broker", "--data-dir", str(data_dir), "--port", "0", "--json"]
    command += ["--json-logs", "--log-level", "info", "--set", "background.threads=3"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield process, json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_broker_logs_json_and_malformed_frames_only_so_often(tmp_path: Path) -> None:
    with running(tmp_path / "d") as (process, started):
        for number in range(30):
            with RawClient(started["port"]) as client:
                # One connection, several frames: the first one is enough.
                client.socket.sendall(struct.pack(">ihhih", 10, 999, 0, number, -1) * 3)
                assert client.closed()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 0
    lines = [json.loads(line) for line in err.decode().splitlines()]
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    messages = [line["message"] for line in lines]
    assert sum("malformed request: " in message for message in messages) == 10
    assert sum("keeps sending malformed requests" in message for message in messages) == 1
    assert any("ready" in message for message in messages)
    assert any("stopped" in message for message in messages)
    assert [line["level"] for line in lines if "without effect" in line["message"]] == ["warning"]
