"""Looks at what Spark needs and says what is missing, without mending anything. `headrace doctor` prints it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headrace.spark.runtime.class_data import archive
from headrace.spark.runtime.connectors import CONNECTORS, directory, missing
from headrace.spark.runtime.distribution import INSTALL, find_pyspark
from headrace.spark.runtime.errors import RuntimeUnavailable
from headrace.spark.runtime.installation import Installation
from headrace.spark.runtime.java import find_java
from headrace.spark.runtime.scala import classes_jar, sources

SETUP = "Run `headrace setup`"
_PYTHON_MINIMUM = (3, 11)
_PACKAGES = {"pandas": "pandas", "pyarrow": "pyarrow", "protobuf": "google.protobuf"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    name: str
    good: bool
    found: str
    next_step: str = ""
    needed: bool = True
    """Whether nothing runs without it; else it is advice."""


def checkup() -> Iterator[Finding]:
    """Every finding about Python, Java, PySpark and the cache."""
    for name, look in (
        ("Python", _python),
        ("Java", _java),
        ("PySpark", _pyspark),
        ("Python packages", _packages),
        ("Kafka connector", _connectors),
        ("Compiled Scala", _classes),
        ("Fast start", _archive),
    ):
        yield _finding(name, look)


def _finding(name: str, look: Callable[[], tuple[bool, str, str]]) -> Finding:
    needed = look is not _archive
    try:
        good, found, next_step = look()
    except RuntimeUnavailable as error:
        return Finding(name, False, error.message, error.next_step, needed)
    return Finding(name, good, found, "" if good else next_step, needed)


def _python() -> tuple[bool, str, str]:
    least = ".".join(map(str, _PYTHON_MINIMUM))
    return sys.version_info >= _PYTHON_MINIMUM, platform.python_version(), f"Install Python {least} or later"


def _java() -> tuple[bool, str, str]:
    java = find_java()
    return True, f"{java.version}, {java.executable} ({java.source})", ""


def _pyspark() -> tuple[bool, str, str]:
    return True, find_pyspark().version, ""


def _packages() -> tuple[bool, str, str]:
    absent = [name for name, module in _PACKAGES.items() if not _is_importable(module)]
    if absent:
        return False, f"without {', '.join(absent)}", INSTALL.replace("it", "them", 1)
    return True, ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES), ""


def _is_importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _connectors() -> tuple[bool, str, str]:
    absent = missing()
    if absent:
        return False, f"{len(absent)} of {len(CONNECTORS)} jars are not in {directory()}", SETUP
    return True, f"{len(CONNECTORS)} jars in {directory()}", ""


def _classes() -> tuple[bool, str, str]:
    jar = classes_jar(find_pyspark(), [directory() / one.file_name for one in CONNECTORS])
    if not jar.exists():
        return False, f"{len(sources())} files not compiled yet", f"{SETUP}; the first start would do it, too"
    return True, f"{len(sources())} files in {jar.name}", ""


def _archive() -> tuple[bool, str, str]:
    if missing():
        return False, "not made yet", SETUP
    connectors = tuple(directory() / one.file_name for one in CONNECTORS)
    spark = find_pyspark()
    made = archive(Installation(find_java(), spark, connectors, classes_jar(spark, connectors)))
    if not made.exists():
        return False, "not made yet; starts take a few seconds longer without", SETUP
    return True, f"{made.stat().st_size / 1e6:.0f} MB of class data", ""
