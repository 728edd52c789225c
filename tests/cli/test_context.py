"""Named contexts, and the order in which a command looks for its broker."""

from __future__ import annotations

import stat

import pytest

from headrace.cli.cluster import resolve
from headrace.cli.contexts import config_file
from tests.cli.conftest import Run


def test_the_life_of_a_context(run: Run) -> None:
    assert "No contexts yet" in run("context", "list").out
    assert run("context", "add", "local", "-b", "127.0.0.1:1").code == 0
    assert (
        run("context", "add", 'odd "näme"', "-b", "h:2", "-X", "sasl.password=s3cret", "--json").json["current"]
        is False
    )
    assert stat.S_IMODE(config_file().stat().st_mode) == 0o600
    first, second = run("context", "list", "--json").json
    assert (first["context"], first["current"], second["properties"]) == ("local", True, ["sasl.password"])
    assert "s3cret" not in run("context", "list").out
    assert run("context", "use", 'odd "näme"').code == 0
    assert resolve(None, None, None).properties == {"sasl.password": "s3cret"}
    assert run("context", "remove", 'odd "näme"').code == 0
    assert run("context", "use", "lokal").err == "Error: There is no context 'lokal'. Did you mean 'local'?\n"


def test_flag_before_context_before_environment_before_current_before_default(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resolve(None, None, None).bootstrap_servers == "127.0.0.1:9092"
    run("context", "add", "current", "-b", "current:1")
    run("context", "add", "other", "-b", "other:1")
    assert resolve(None, None, None).bootstrap_servers == "current:1"
    monkeypatch.setenv("HEADRACE_BOOTSTRAP", "environment:1")
    assert resolve(None, None, None).bootstrap_servers == "environment:1"
    assert resolve(None, "other", None).bootstrap_servers == "other:1"
    assert resolve("flag:1", "other", ["a=b"]).bootstrap_servers == "flag:1"


def test_a_context_reaches_the_broker(run: Run, bootstrap: str) -> None:
    run("context", "add", "here", "-b", bootstrap)
    assert run("topic", "list", "--json").code == 0
    assert run("topic", "list", "--context", "nowhere").code == 1


def test_a_broken_file_is_named(run: Run) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("current = ")
    outcome = run("topic", "list")
    assert outcome.code == 1
    assert str(config_file()) in outcome.err
