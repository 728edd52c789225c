"""Java's archives of class data: classes as they lie in memory, so that a start maps them instead of reading 15,000 anew.

An archive holds for one Java and for class paths that begin with the jars that it was made with; Java itself checks that and
starts without it where it does not fit. Optional: without one a session takes about three seconds longer. `fast_start` makes them.

    archives/<key>.jsa        what Spark uses
    archives/<key>.base.jsa   what Java itself uses, for a Java from PyPI, which comes without
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from headrace.spark.runtime.cache import folder, used
from headrace.spark.runtime.errors import RuntimeUnavailable
from headrace.spark.runtime.installation import Installation


def archive(installation: Installation) -> Path:
    """Where the archive for this Java and these jars is, or will be."""
    digest = hashlib.sha256(f"{installation.java.executable}\0{installation.java.version}\0".encode())
    for path in (*installation.spark.jars, *installation.connectors):
        status = path.stat()
        digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return folder("archives") / f"{digest.hexdigest()[:24]}.jsa"


def archive_options(installation: Installation) -> list[str]:
    """Java options that use the archive, if there is one."""
    made = archive(installation)
    if not made.exists():
        return []
    parts = [used(path) for path in (base_of(made), made) if path.exists()]
    return [f"-XX:SharedArchiveFile={':'.join(map(str, parts))}", "-Xshare:auto"]


def recording_options(installation: Installation, target: Path) -> list[str]:
    """Java options that write an archive of all classes in use to `target` when Java ends, on top of the one of Java itself."""
    base = base_of(target)
    if not _has_own_base(installation):
        _dump_base(installation, base)
    return [*([f"-XX:SharedArchiveFile={base}"] if base.exists() else []), f"-XX:ArchiveClassesAtExit={target}"]


def base_of(path: Path) -> Path:
    return path.with_suffix(".base.jsa")


def _has_own_base(installation: Installation) -> bool:
    home = installation.java.executable.resolve().parent.parent
    return (home / "lib" / "server" / "classes.jsa").exists()


def _dump_base(installation: Installation, target: Path) -> None:
    done = subprocess.run(  # noqa: S603 (our own command line)
        [installation.java.executable, "-Xshare:dump", f"-XX:SharedArchiveFile={target}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeUnavailable(
            f"{installation.java.executable} cannot archive its classes",
            "Starts are slower without; `headrace setup --no-fast-start` leaves it out",
            detail=(done.stdout + done.stderr)[-500:],
        )
