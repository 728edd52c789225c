"""The connector jars: fetched by the real Ivy, here from a repository on disk, checked, and put in place whole."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from headrace.spark.runtime import connectors as connectors_module
from headrace.spark.runtime.connectors import CONNECTORS, Connector, missing, provide_connectors
from headrace.spark.runtime.distribution import find_pyspark
from headrace.spark.runtime.errors import RuntimeUnavailable
from headrace.spark.runtime.java import find_java

SETTINGS = """<ivysettings><settings defaultResolver="here"/><resolvers>
<ibiblio name="here" m2compatible="true" root="{root}"/></resolvers></ivysettings>"""

POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>org.example</groupId><artifactId>thing</artifactId><version>1.0</version></project>"""


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "connectors"


@pytest.fixture
def connector(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Connector:
    """A jar in a Maven repository on this disk, which Ivy is told to use."""
    folder = tmp_path / "repository" / "org" / "example" / "thing" / "1.0"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "thing-1.0.jar", "w") as jar:
        jar.writestr("hello.txt", "hello")
    (folder / "thing-1.0.pom").write_text(POM)
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(SETTINGS.format(root=(tmp_path / "repository").as_uri() + "/"))
    monkeypatch.setenv("HEADRACE_IVY_SETTINGS", str(settings))
    return Connector("org.example", "thing", "1.0", sha256((folder / "thing-1.0.jar").read_bytes()).hexdigest())


def provide(*wanted: Connector) -> tuple[tuple[Path, ...], list[str]]:
    said: list[str] = []
    return provide_connectors(find_java(), find_pyspark(), said.append, wanted), said


def test_the_pinned_jars_are_named_once_each() -> None:
    assert len({one.file_name for one in CONNECTORS}) == len(CONNECTORS) == 4
    assert all(len(one.sha256) == 64 for one in CONNECTORS)


def test_a_jar_is_fetched_once(cache: Path, connector: Connector) -> None:
    paths, said = provide(connector)
    assert paths == (cache / "thing-1.0.jar",)
    assert any("downloading" in line for line in said)
    again, said = provide(connector)
    assert (again, said) == (paths, [])
    assert sorted(path.name for path in cache.iterdir()) == [".lock", "thing-1.0.jar"]


def test_a_jar_that_is_not_the_pinned_one_is_refused_and_not_kept(cache: Path, connector: Connector) -> None:
    with pytest.raises(RuntimeUnavailable, match=r"thing-1.0.jar is not the file that it should be"):
        provide(dataclasses.replace(connector, sha256="0" * 64))
    assert [path.name for path in cache.iterdir()] == [".lock"]


def test_a_jar_that_changed_in_the_cache_is_refused(cache: Path, connector: Connector) -> None:
    provide(connector)
    (cache / "thing-1.0.jar").write_bytes(b"something else")
    with pytest.raises(RuntimeUnavailable) as error:
        missing((connector,))
    assert error.value.next_step.endswith("&& headrace setup`")


def test_what_cannot_be_reached_is_said_with_the_ways_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path
) -> None:
    settings = tmp_path / "nowhere.xml"
    settings.write_text(SETTINGS.format(root="http://127.0.0.1:1/"))
    monkeypatch.setenv("HEADRACE_IVY_SETTINGS", str(settings))
    with pytest.raises(RuntimeUnavailable) as error:
        provide(CONNECTORS[0])
    assert "headrace setup" in error.value.next_step
    assert "HEADRACE_IVY_SETTINGS" in error.value.next_step
    assert str(cache) in error.value.next_step
    assert error.value.detail
    assert [path.name for path in cache.iterdir()] == [".lock"]


def test_two_processes_at_once_fetch_it_once(cache: Path, connector: Connector) -> None:
    program = (
        "import sys; from tests.spark.test_runtime_connectors import *; "
        "print(provide(Connector('org.example', 'thing', '1.0', sys.argv[1]))[1])"
    )
    command = [sys.executable, "-c", program, connector.sha256]
    root = Path(__file__).parents[2]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(2)]
    said = [process.communicate(timeout=100)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("downloading" in text for text in said) == 1


def test_a_machine_without_a_network_can_be_given_the_files(
    monkeypatch: pytest.MonkeyPatch, cache: Path, connector: Connector, tmp_path: Path
) -> None:
    provide(connector)
    shutil.copytree(cache, tmp_path / "other" / "connectors")
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr(connectors_module, "_run_ivy", lambda *_: pytest.fail("nothing is to be fetched"))
    assert provide(connector)[0] == (tmp_path / "other" / "connectors" / "thing-1.0.jar",)
