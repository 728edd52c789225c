"""Our Scala, compiled by the compiler that PySpark carries into one jar, which is kept under the hash of all that went into it.

No JDK, no build tool and no binary in the repository. The sources are `spark/jvm/*.scala`; whoever works on them can name another
directory in `HEADRACE_JVM_SOURCES`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from headrace.spark.runtime.cache import Progress, exclusive, folder, forget_unused, scratch, silent, used
from headrace.spark.runtime.distribution import Distribution
from headrace.spark.runtime.errors import RuntimeUnavailable
from headrace.spark.runtime.java import Java

OPTIONS = ("-deprecation:false", "-nowarn", "-encoding", "UTF-8")
# A compilation is over before the optimising compiler of Java pays.
_JAVA_OPTIONS = ("-Xss8m", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_SHOWN_LINES = 40


def sources() -> list[Path]:
    given = os.environ.get("HEADRACE_JVM_SOURCES")
    directory = Path(given) if given else Path(__file__).resolve().parent.parent / "jvm"
    return sorted(directory.glob("*.scala"))


def classes_jar(spark: Distribution, connectors: Sequence[Path]) -> Path:
    """Where the compiled sources are, or will be."""
    digest = hashlib.sha256()
    stamps = [spark.version, *OPTIONS, *(path.name for path in connectors)]
    for part in stamps:
        digest.update(part.encode() + b"\0")
    for path in sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return folder("classes") / f"headrace-{digest.hexdigest()[:24]}.jar"


def provide_classes(
    java: Java,
    spark: Distribution,
    connectors: Sequence[Path],
    progress: Progress = silent,
) -> Path:
    """The jar of our classes; compiles it when no process has done so before."""
    jar = classes_jar(spark, connectors)
    if jar.exists():
        return used(jar)
    with exclusive(jar.parent, progress):
        if not jar.exists():
            progress(f"compiling {len(sources())} Scala files")
            _compile(java, spark, connectors, sources(), jar)
            forget_unused(jar.parent, "headrace-*.jar")
    return jar


def _compile(java: Java, spark: Distribution, connectors: Sequence[Path], files: list[Path], jar: Path) -> None:
    compiler = [spark.jar(name) for name in ("scala-compiler-", "scala-library-", "scala-reflect-")]
    with scratch(jar.parent) as made:
        command = [
            *(str(java.executable), *_JAVA_OPTIONS, "-cp", _path(compiler), "scala.tools.nsc.Main"),
            *(*OPTIONS, "-d", str(made / jar.name), "-classpath", _path([*spark.jars, *connectors])),
            *map(str, files),
        ]
        done = subprocess.run(  # noqa: S603 (our own command line)
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
        if done.returncode != 0:
            raise RuntimeUnavailable(
                "The Scala of Headrace does not compile",
                "The installation may be damaged: `pip install --force-reinstall headrace`",
                detail="\n".join((done.stdout + done.stderr).splitlines()[:_SHOWN_LINES]),
            )
        (made / jar.name).rename(jar)


def _path(jars: Sequence[Path]) -> str:
    return ":".join(map(str, jars))
