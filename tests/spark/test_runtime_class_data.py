"""Archives of class data: where they are, when they are used, and that a Java from PyPI can make and use one."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from headrace.spark.runtime.class_data import archive, archive_options, base_of, recording_options
from headrace.spark.runtime.distribution import find_pyspark
from headrace.spark.runtime.installation import Installation
from headrace.spark.runtime.java import Java, find_java


@pytest.fixture
def installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Installation:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return Installation(find_java(), find_pyspark(), (), None)


@pytest.fixture
def from_pypi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installation: Installation) -> Installation:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return dataclasses.replace(installation, java=find_java())


def run(java: Java, *options: str) -> str:
    done = subprocess.run([java.executable, *options, "-version"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_without_an_archive_nothing_is_asked_of_java(installation: Installation) -> None:
    assert archive_options(installation) == []


def test_an_archive_is_for_one_java_and_one_set_of_jars(installation: Installation, tmp_path: Path) -> None:
    other_java = dataclasses.replace(installation.java, version="99")
    jar = tmp_path / "one.jar"
    jar.write_bytes(b"1")
    places = [
        archive(installation),
        archive(dataclasses.replace(installation, java=other_java)),
        archive(dataclasses.replace(installation, connectors=(jar,))),
    ]
    jar.write_bytes(b"12")
    places.append(archive(dataclasses.replace(installation, connectors=(jar,))))
    assert len(set(places)) == len(places)
    # Whatever our own classes are, the same archive serves.
    assert archive(dataclasses.replace(installation, classes=jar)) == places[0]


def test_the_java_from_pypi_gets_an_archive_of_its_own_classes_first(from_pypi: Installation) -> None:
    target = archive(from_pypi)
    run(from_pypi.java, *recording_options(from_pypi, target))
    assert target.exists() and base_of(target).exists()
    options = archive_options(from_pypi)
    assert options == [f"-XX:SharedArchiveFile={base_of(target)}:{target}", "-Xshare:auto"]
    assert "sharing" in run(from_pypi.java, *options[:1], "-Xshare:on")
