"""What `headrace doctor` looks at beside Spark: ports, disks, limits. Looks only."""

from __future__ import annotations

import errno
import resource
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from headrace.spark.runtime.checkup import Finding

PORTS = {9092: "broker", 8080: "console", 8081: "registry", 8083: "connect", 8084: "engine"}
FREE_BYTES = 2_000_000_000
OPEN_FILES = 4096


def machine_findings(directories: Mapping[str, Path]) -> Iterator[Finding]:
    yield from (_port(port, service) for port, service in PORTS.items())
    for name, path in directories.items():
        yield _disk(name, path)
    yield _disk("temporary files", Path(tempfile.gettempdir()))
    yield _open_files()


def _port(port: int, service: str) -> Finding:
    name = f"Port {port} ({service})"
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            taken = "in use" if error.errno == errno.EADDRINUSE else error.strerror
            next_step = f"Fine if it is Headrace; else end what listens there (`ss -ltnp sport = :{port}`) or choose another port"
            return Finding(name, False, str(taken), next_step, needed=False)
    return Finding(name, True, "free", needed=False)


def _disk(name: str, path: Path) -> Finding:
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    free = shutil.disk_usage(there).free
    found = f"{free / 1e9:.1f} GB free at {path}"
    return Finding(f"Disk, {name}", free >= FREE_BYTES, found, "" if free >= FREE_BYTES else "Free 2 GB there")


def _open_files() -> Finding:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    good = limit == resource.RLIM_INFINITY or limit >= OPEN_FILES
    found = "without limit" if limit == resource.RLIM_INFINITY else str(limit)
    step = f"Many topics and state stores need more: `ulimit -n {OPEN_FILES}` in the shell that starts Headrace"
    return Finding("Open files", good, found, "" if good else step, needed=False)
