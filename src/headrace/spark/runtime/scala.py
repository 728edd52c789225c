"""Our Scala, compiled by the compiler that PySpark carries into one jar, which is kept under the hash of all that went into it.

No JDK, no build tool and no binary in the repository. The sources are `spark/jvm/*.scala`; whoever works on them can name another
directory in `HEADRACE_JVM_SOURCES`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
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
    return _jar_of(_contents(), spark, connectors)


def provide_classes(
    java: Java,
    spark: Distribution,
    connectors: Sequence[Path],
    progress: Progress = silent,
) -> Path:
    """The jar of our classes; compiles it when no process has done so before."""
    contents = _contents()
    jar = _jar_of(contents, spark, connectors)
    if jar.exists():
        return used(jar)
    with exclusive(jar.parent, progress):
        if not jar.exists():
            progress(f"compiling {len(contents)} Scala files")
            _compile(java, spark, connectors, contents, jar)
            forget_unused(jar.parent, "headrace-*.jar")
    return jar


def _contents() -> dict[str, bytes]:
    """Read once: what is hashed must be what is compiled, also while somebody is editing."""
    return {path.name: path.read_bytes() for path in sources()}


def _jar_of(contents: Mapping[str, bytes], spark: Distribution, connectors: Sequence[Path]) -> Path:
    digest = hashlib.sha256()
    for stamp in (spark.version, *OPTIONS, *(path.name for path in connectors)):
        digest.update(stamp.encode() + b"\0")
    for name, content in contents.items():
        digest.update(name.encode() + b"\0" + content + b"\0")
    return folder("classes") / f"headrace-{digest.hexdigest()[:24]}.jar"


def _compile(
    java: Java, spark: Distribution, connectors: Sequence[Path], contents: Mapping[str, bytes], jar: Path
) -> None:
    compiler = [spark.jar(name) for name in ("scala-compiler-", "scala-library-", "scala-reflect-")]
    with scratch(jar.parent) as made:
        for name, content in contents.items():
            (made / name).write_bytes(content)
        command = [
            *(str(java.executable), *_JAVA_OPTIONS, "-cp", _path(compiler), "scala.tools.nsc.Main"),
            *(*OPTIONS, "-d", str(made / jar.name), "-classpath", _path([*spark.jars, *connectors])),
            *(str(made / name) for name in contents),
        ]
        done = subprocess.run(  # noqa: S603 (our own command line)
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
        if done.returncode != 0:
            said = (done.stdout + done.stderr).replace(f"{made}{os.sep}", "")
            raise RuntimeUnavailable(
                "The Scala of Headrace does not compile",
                "The installation may be damaged: `pip install --force-reinstall headrace`",
                detail="\n".join(said.splitlines()[:_SHOWN_LINES]),
            )
        (made / jar.name).rename(jar)


def _path(jars: Sequence[Path]) -> str:
    return ":".join(map(str, jars))
