"""On a terminal: colours unless NO_COLOR, questions before deletion, progress for what takes long."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest

from headrace.cli.output import patience
from tests.cli.conftest import Run

CTRL_C = "\x03"


def on_terminal(*arguments: str, answer: str = "", **environment: str) -> tuple[int, str]:
    """Exit code and everything that a command showed on a terminal; `answer` is typed once a question stands there."""
    ours, theirs = pty.openpty()
    given = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **environment}
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=given
    )
    os.close(theirs)
    shown, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                shown += os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
        if answer and b"[y/N]" in shown:
            # The terminal is not the controlling one of the process, so it would not turn Ctrl-C into the signal.
            process.send_signal(signal.SIGINT) if answer == CTRL_C else os.write(ours, answer.encode())
            answer = ""
    os.close(ours)
    return process.wait(10), shown.decode().replace("\r\n", "\n")


def test_colours_unless_told_otherwise() -> None:
    _, coloured = on_terminal()
    assert "\x1b[36mheadrace broker" in coloured
    _, plain = on_terminal(NO_COLOR="1")
    assert "\x1b[3" not in plain


def test_errors_have_a_red_label() -> None:
    code, shown = on_terminal("topics")
    assert code == 2
    assert shown.startswith("\x1b[1;31mError:\x1b[0m No such command 'topics'. Did you mean 'topic'?")
    assert on_terminal("topics", NO_COLOR="1")[1].startswith("Error: ")


@pytest.mark.parametrize(("answer", "code"), [("n\n", 1), (CTRL_C, 130), ("y\n", 0)])
def test_deletion_asks(cli: Run, bootstrap: str, topic: str, answer: str, code: int) -> None:
    ended, shown = on_terminal("topic", "delete", topic, answer=answer, HEADRACE_BOOTSTRAP=bootstrap)
    assert f"Delete {topic} and all records in it? [y/N]" in shown
    assert ended == code
    there = topic in [row["topic"] for row in cli("topic", "list", "--json").json]
    assert there == (code != 0)


def test_records_are_shown_with_where_and_when(cli: Run, bootstrap: str, topic: str) -> None:
    cli("produce", topic, "--key", "k", "--value", "v", "-H", "a=1")
    code, shown = on_terminal("consume", topic, HEADRACE_BOOTSTRAP=bootstrap)
    assert code == 0
    assert f"{topic}[" in shown
    assert "\x1b[36mk\x1b[0m  v" in shown
    assert "a=1" in shown
    assert "No records." in on_terminal("consume", topic, "--from", "end", HEADRACE_BOOTSTRAP=bootstrap)[1]


def test_patience_speaks_up_only_when_it_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.cli.output.PATIENCE_S", 0.05)
    with patience("Something quick"):
        pass
    assert capsys.readouterr().err == ""
    with patience("Something slow"):
        deadline = time.monotonic() + 10
        said = ""
        while not said and time.monotonic() < deadline:
            said = capsys.readouterr().err
    assert said == "Something slow ...\n"
