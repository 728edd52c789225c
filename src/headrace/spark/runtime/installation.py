"""Everything that a Spark session needs, put together: `prepare` provides what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headrace.spark.runtime.cache import Progress, silent
from headrace.spark.runtime.connectors import provide_connectors
from headrace.spark.runtime.distribution import Distribution, find_pyspark
from headrace.spark.runtime.java import Java, find_java
from headrace.spark.runtime.scala import provide_classes


@dataclass(frozen=True)
class Installation:
    java: Java
    spark: Distribution
    connectors: tuple[Path, ...]
    classes: Path | None
    """Our own; None where only Spark's are wanted."""

    @property
    def class_path(self) -> tuple[Path, ...]:
        """Ours last: an archive of class data holds for any class path that begins with the one it was made with."""
        return (*self.spark.jars, *self.sent)

    @property
    def sent(self) -> tuple[Path, ...]:
        """What a cluster does not have."""
        return (*self.connectors, *([self.classes] if self.classes else []))


def prepare(progress: Progress = silent) -> Installation:
    """Find or make everything. The first time needs a network and some ten seconds, later times take a moment."""
    spark = find_pyspark()
    java = find_java()
    connectors = provide_connectors(java, spark, progress)
    classes = provide_classes(java, spark, connectors, progress)
    return Installation(java, spark, connectors, classes)
