"""PySpark as it is installed here, found without importing it: importing takes longer than looking."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from headrace.spark.runtime.errors import RuntimeUnavailable

VERSION = "4.3.0"
INSTALL = 'Install it with `pip install "headrace[spark]"`'


@dataclass(frozen=True)
class Distribution:
    """Where PySpark is, and the jars that it brings."""

    home: Path
    version: str

    @cached_property
    def jars(self) -> tuple[Path, ...]:
        """All of them, in one order: Java's class data archives hold only for the class path that they were made with."""
        return tuple(sorted((self.home / "jars").glob("*.jar")))

    def jar(self, prefix: str) -> Path:
        """The one jar whose name starts with `prefix` and goes on with its version."""
        found = [path for path in self.jars if path.name.startswith(prefix) and path.name[len(prefix)].isdigit()]
        if len(found) != 1:
            raise RuntimeUnavailable(
                f"PySpark at {self.home} has {len(found)} jars named {prefix}*",
                f"Install it anew: `pip install --force-reinstall pyspark=={VERSION}`",
            )
        return found[0]


def find_pyspark() -> Distribution:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise RuntimeUnavailable("PySpark is not installed", INSTALL)
    version = importlib.metadata.version("pyspark")
    if version != VERSION:
        raise RuntimeUnavailable(
            f"PySpark {version} is installed, and Headrace runs on {VERSION}", f"`pip install pyspark=={VERSION}`"
        )
    return Distribution(Path(spec.origin).parent, version)
