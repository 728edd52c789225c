"""Our Scala is compiled by PySpark's own compiler, once for each content."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from headrace.spark.runtime import cache as cache_module
from headrace.spark.runtime.distribution import Distribution, find_pyspark
from headrace.spark.runtime.errors import RuntimeUnavailable
from headrace.spark.runtime.java import Java, find_java
from headrace.spark.runtime.scala import classes_jar, provide_classes, sources


@pytest.fixture
def jvm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory for Scala files of the test's own, and an empty cache."""
    directory = tmp_path / "jvm"
    directory.mkdir()
    monkeypatch.setenv("HEADRACE_JVM_SOURCES", str(directory))
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return directory


@pytest.fixture(scope="module")
def parts() -> tuple[Java, Distribution]:
    return find_java(), find_pyspark()


def test_the_package_brings_its_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_JVM_SOURCES", raising=False)
    assert "NoForkFileSystem.scala" in [path.name for path in sources()]


def test_sources_are_compiled_once(jvm: Path, parts: tuple[Java, Distribution]) -> None:
    (jvm / "Greeting.scala").write_text('package example\nobject Greeting { def hello: String = "hello" }\n')
    said: list[str] = []
    jar = provide_classes(*parts, (), said.append)
    assert said == ["compiling 1 Scala files"]
    assert {"example/Greeting.class", "example/Greeting$.class"} <= set(zipfile.ZipFile(jar).namelist())
    assert provide_classes(*parts, (), said.append) == jar
    assert len(said) == 1
    assert sorted(path.name for path in jar.parent.iterdir()) == [".lock", jar.name]


def test_what_is_compiled_has_the_name_of_all_that_went_into_it(jvm: Path, parts: tuple[Java, Distribution]) -> None:
    _, spark = parts
    (jvm / "A.scala").write_text("class A")
    names = [classes_jar(spark, ())]
    names.append(classes_jar(spark, (Path("kafka-clients-3.9.2.jar"),)))
    names.append(classes_jar(Distribution(spark.home, "9.9.9"), ()))
    (jvm / "A.scala").write_text("class A2")
    names.append(classes_jar(spark, ()))
    (jvm / "B.scala").write_text("class B")
    names.append(classes_jar(spark, ()))
    assert len(set(names)) == len(names)


def test_a_mistake_is_shown_with_its_line(jvm: Path, parts: tuple[Java, Distribution]) -> None:
    (jvm / "Broken.scala").write_text("class Broken {\n  val number: Int = missing\n}\n")
    with pytest.raises(RuntimeUnavailable) as error:
        provide_classes(*parts, ())
    assert "Broken.scala:2: error: not found: value missing" in error.value.detail
    assert not classes_jar(parts[1], ()).exists()


def test_what_nothing_has_used_for_a_month_is_forgotten(tmp_path: Path) -> None:
    old, fresh = tmp_path / "headrace-old.jar", tmp_path / "headrace-new.jar"
    for path in (old, fresh):
        path.touch()
    os.utime(old, (0, 0))
    cache_module.forget_unused(tmp_path, "headrace-*.jar")
    assert [path.name for path in tmp_path.iterdir()] == [fresh.name]


def test_the_cache_is_where_the_user_wants_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "mine"))
    assert cache_module.folder("x") == tmp_path / "mine" / "x"
    assert (tmp_path / "mine" / "x").stat().st_mode & 0o077 == 0
    monkeypatch.delenv("HEADRACE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_module.cache_directory() == tmp_path / "xdg" / "headrace"
