"""The program itself: overview, help, typing mistakes, exit codes, and how little it loads to say so."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from headrace import __version__
from headrace.admin.errors import did_you_mean
from headrace.cli.errors import CliError
from headrace.cli.reference import commands
from tests.cli.conftest import Run


def test_alone_it_shows_what_it_can_do(run: Run) -> None:
    outcome = run()
    assert outcome.code == 0
    for word in ("The first minute", "headrace broker", "headrace produce", "headrace consume", "--help"):
        assert word in outcome.out


def test_the_overview_names_every_command(run: Run) -> None:
    shown = run().out
    for path, _, _ in commands():
        if path.count(" ") == 1:
            assert path in shown


def test_versions(run: Run) -> None:
    assert run("--version").out == f"headrace {__version__}\n"
    assert run("version", "--json").json["headrace"] == __version__
    assert f"headrace {__version__}" in run("version").out


@pytest.mark.parametrize("path", [path for path, _, _ in commands()])
def test_every_command_has_help_and_examples(run: Run, path: str) -> None:
    arguments = path.split()[1:]
    outcome = run(*arguments, "--help")
    assert outcome.code == 0
    assert "Usage: " + path in outcome.out
    is_group = "Commands:" in outcome.out
    assert is_group or "Examples:\n" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["prodcue"], "Did you mean 'produce'? See `headrace --help`"),
        (["topic", "lst"], "Did you mean 'list'? See `headrace topic --help`"),
        (["topic", "create"], "Missing argument 'TOPIC'. See `headrace topic create --help`"),
        (["topic", "list", "--jsn"], "--jsn"),
        (["consume", "t", "--count", "many"], "--count"),
        (["topic", "list", "-b", "nowhere"], "'nowhere' is not HOST:PORT"),
        (["topic", "list", "-X", "novalue"], "-X 'novalue' is not KEY=VALUE"),
    ],
)
def test_mistakes_in_the_command_line_are_one_line_and_exit_code_2(run: Run, arguments: list[str], said: str) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("Error: ")
    assert said in outcome.err


def test_no_broker_says_how_to_start_one(run: Run) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        outcome = run("topic", "list", "-b", f"127.0.0.1:{reserved.getsockname()[1]}")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "connection refused" in outcome.err
    assert "`headrace broker`" in outcome.err


def test_a_bug_is_one_line_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("headrace.cli.contexts.config_file", broken)
    monkeypatch.setattr("headrace.cli.commands.context.load_contexts", broken)
    outcome = run("context", "list")
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "RuntimeError: boom" in outcome.err
    monkeypatch.setenv("HEADRACE_DEBUG", "1")
    with pytest.raises(RuntimeError):
        run("context", "list")


def test_help_loads_neither_client_nor_broker_nor_rich() -> None:
    """That is what makes it fast; the clock of a shared machine would be a poor witness."""
    code = (
        "import sys; from headrace.cli.main import main; main(['--help']); "
        "heavy = {'confluent_kafka', 'rich', 'headrace.broker', 'uvloop', 'asyncio'} & set(sys.modules); "
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run: Run, shell: str) -> None:
    outcome = run("completion", shell)
    assert outcome.code == 0
    assert "_HEADRACE_COMPLETE" in outcome.out


def test_shells_really_complete() -> None:
    environment = {
        **os.environ,
        "_HEADRACE_COMPLETE": "complete_bash",
        "COMP_WORDS": "headrace topic ",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        [sys.executable, "-m", "headrace"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert {"create", "list", "describe"} <= set(done.stdout.split())


def test_names_complete(cli: Run, topic: str) -> None:
    from headrace.cli import completing

    assert completing.topics(topic) == [topic]
    cli("produce", topic, "--value", "x")
    cli("consume", topic, "--group", topic + "-g")
    assert completing.groups(topic) == [topic + "-g"]
    cli("context", "add", "somewhere", "-b", "127.0.0.1:1")
    assert completing.contexts("some") == ["somewhere"]


def test_completion_without_a_broker_is_empty_and_silent(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    from headrace.cli import completing

    run("context", "add", "nowhere", "-b", "127.0.0.1:1")
    assert completing.topics("") == []
    assert capsys.readouterr().err == ""


def test_no_colour_in_pipes(run: Run) -> None:
    assert "\x1b" not in run().out


def test_errors_read_as_sentences() -> None:
    assert CliError("It broke", "Mend it").line() == "It broke. Mend it"
    assert CliError("It\nbroke.").line() == "It broke."
    assert did_you_mean("ordrs", ["orders", "x"]) == "Did you mean 'orders'?"
    assert did_you_mean("zzz", ["orders"]) == ""


@pytest.mark.parametrize(
    ("message", "next_step", "line"),
    [
        ("Which one?", "Name it", "Which one? Name it"),
        ("It is gone", "Make it", "It is gone. Make it"),
        ("It is gone.", "", "It is gone."),
    ],
)
def test_an_error_is_one_line_of_whole_sentences(message: str, next_step: str, line: str) -> None:
    assert CliError(message, next_step).line() == line
