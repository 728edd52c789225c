"""`headrace verify`: exit codes and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.verify.notebook import Notebook

QUICK = ("verify", "--seconds", "1", "--producers", "1", "--writers", "1", "--transformers", "0")


def kept(history: Notebook, path: Path) -> str:
    path.write_text("".join(json.dumps(event) + "\n" for event in history.events))
    return str(path)


def test_a_good_broker(cli: Run, tmp_path: Path) -> None:
    outcome = cli(*QUICK, "--faults", "cut", "--history", str(tmp_path / "h.jsonl"), "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["good"] and outcome.json["complete"]
    assert outcome.json["operations"]["send"]["ok"] > 0
    again = cli("verify", "--check", str(tmp_path / "h.jsonl"))
    assert again.code == 0
    assert "No promise was broken." in again.out
    assert not [row for row in cli("topic", "list", "--json").json if row["topic"].startswith("headrace-verify")]


def test_a_broken_promise(run: Run, tmp_path: Path) -> None:
    history = Notebook()
    history.send("a", 0)
    history.final()
    path = kept(history, tmp_path / "h.jsonl")
    outcome = run("verify", "--check", path)
    assert outcome.code == 1
    assert "lost write: a was acknowledged as in/0@0" in outcome.out
    assert "1 broken promise." in outcome.out
    assert run("verify", "--check", path, "--json").json["anomalies"][0]["kind"] == "lost write"


def test_no_history(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_text("{}\n")
    outcome = run("verify", "--check", str(path))
    assert outcome.code == 1
    assert "--history" in outcome.err


@pytest.mark.parametrize(("faults", "hint"), [("kill", "--own-broker"), ("pause", "--pid"), ("flood", "silence")])
def test_faults_that_cannot_be(cli: Run, faults: str, hint: str) -> None:
    outcome = cli("verify", "--faults", faults)
    assert outcome.code == 2
    assert hint in outcome.err
