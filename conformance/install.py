"""Installs the peers by package name into the cache: `python -m conformance.install [NAME ...]`.

Each peer is one entry in `PEERS`: is it here, and how does it get here. `make test` asks only the first question; `make
conformance` asks the second. What a package manager of this machine cannot do is said in one line, never half done.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from conformance import apache_kafka
from conformance.cache import CACHE, PROJECT, MissingPeer

LIBRDKAFKA_CRATE = "4.10.0"
LIBRDKAFKA_VERSION = "2.12.1"
LIBRDKAFKA = CACHE / f"librdkafka-{LIBRDKAFKA_VERSION}"
LIBRDKAFKA_TESTS = LIBRDKAFKA / "tests"
RDKAFKA_PERFORMANCE = LIBRDKAFKA / "examples" / "rdkafka_performance"
ONE_REPLICA = CACHE / "bin" / "one_replica.so"
ONE_REPLICA_SOURCE = PROJECT / "conformance" / "shims" / "one_replica.c"
LIBRDKAFKA_PACKAGES = (
    "libssl-dev",
    "libcurl4-openssl-dev",
    "libsasl2-dev",
    "zlib1g-dev",
    "libzstd-dev",
    "liblz4-dev",
    "rapidjson-dev",
)
KAFKA_PYTHON_VERSION = "3.0.12"
KAFKA_PYTHON = CACHE / f"kafka_python-{KAFKA_PYTHON_VERSION}"
FRANZ_GO_VERSION = "v1.22.2"
FRANZ_GO = CACHE / f"franz-go-{FRANZ_GO_VERSION}"
FRANZ_GO_TEST_BINARY = FRANZ_GO / "kgo.test"
FRANZ_GO_CLIENT = CACHE / "bin" / "franz-go-client"
FRANZ_GO_CLIENT_SOURCE = PROJECT / "tests" / "clients" / "franz_go"
FRANZ_GO_WORKER = CACHE / "bin" / "franz-go-worker"
FRANZ_GO_WORKER_SOURCE = PROJECT / "tests" / "verify" / "franz_go_worker"
KAFKAJS_VERSION = "2.2.4"
KAFKAJS = CACHE / "kafkajs"
SCHEMAREGISTRY_NODE_VERSION = "1.10.1"
SCHEMAREGISTRY_NODE = CACHE / f"schemaregistry-node-{SCHEMAREGISTRY_NODE_VERSION}"


@dataclass(frozen=True)
class Peer:
    """A program or suite of others: `present` looks without touching anything, `install` brings it or raises MissingPeer."""

    name: str
    present: Callable[[], bool]
    install: Callable[[], object]


def install_librdkafka() -> None:
    """Source from the Rust crate that carries it, then its own configure and make: tests and the performance client."""
    if _librdkafka_present():
        return
    _require("cargo", "librdkafka's source comes from the crate rdkafka-sys (Debian: cargo, or rustup)")
    _require("make", "building librdkafka (Debian: build-essential)")
    _install_debian_packages(LIBRDKAFKA_PACKAGES)
    _copy_writable(_fetch_crate() / "librdkafka", LIBRDKAFKA)
    # The build log lies outside: librdkafka's configure takes every file called configure.* for a module of its own.
    with open(CACHE / "librdkafka-build.log", "wb") as log:
        for command in (
            ["./configure"],
            ["make", "-j2", "libs"],
            ["make", "-j2", "-C", "tests", "build"],
            ["make", "-C", "examples", "rdkafka_performance"],
        ):
            subprocess.run(["nice", *command], cwd=LIBRDKAFKA, stdout=log, stderr=log, check=True)


def install_one_replica() -> None:
    """The shim for those of librdkafka's tests that expect a cluster of three."""
    if ONE_REPLICA.exists() and ONE_REPLICA.stat().st_mtime >= ONE_REPLICA_SOURCE.stat().st_mtime:
        return
    _require("cc", "the shim for librdkafka's tests (Debian: build-essential)")
    ONE_REPLICA.parent.mkdir(parents=True, exist_ok=True)
    command = ["cc", "-shared", "-fPIC", "-o", str(ONE_REPLICA), str(ONE_REPLICA_SOURCE), "-ldl"]
    subprocess.run(command, check=True)


def _librdkafka_present() -> bool:
    return (LIBRDKAFKA_TESTS / "test-runner").exists() and RDKAFKA_PERFORMANCE.exists()


def _fetch_crate() -> Path:
    """Let cargo fetch the crate through a package of no code that depends on it; returns where its source is."""
    package = CACHE / "fetch-rdkafka-sys"
    (package / "src").mkdir(parents=True, exist_ok=True)
    (package / "src" / "lib.rs").touch()
    (package / "Cargo.toml").write_text(
        '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n\n'
        f'[dependencies]\nrdkafka-sys = "={LIBRDKAFKA_CRATE}"\n'
    )
    subprocess.run(["cargo", "fetch", "--quiet"], cwd=package, check=True)
    listing = subprocess.run(
        ["cargo", "metadata", "--format-version", "1"], cwd=package, check=True, capture_output=True, text=True
    )
    packages = json.loads(listing.stdout)["packages"]
    return next(Path(each["manifest_path"]).parent for each in packages if each["name"] == "rdkafka-sys")


def install_kafka_python() -> None:
    """The sdist, because the wheel that our own tests use carries no tests."""
    if (KAFKA_PYTHON / "test").exists():
        return
    sdist = CACHE / "sdist"
    package = f"kafka-python=={KAFKA_PYTHON_VERSION}"
    command = [
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-binary",
        "kafka-python",
        package,
    ]
    subprocess.run([sys.executable, "-m", "pip", *command, "-d", str(sdist)], check=True)
    with tarfile.open(sdist / f"kafka_python-{KAFKA_PYTHON_VERSION}.tar.gz") as archive:
        archive.extractall(CACHE, filter="data")


def install_franz_go() -> None:
    """The module as a writable copy, with the tests of `pkg/kgo` compiled into one program."""
    if FRANZ_GO_TEST_BINARY.exists():
        return
    _require("go", "franz-go needs Go 1.26 or newer (go.dev, or Debian's golang)")
    module = f"github.com/twmb/franz-go@{FRANZ_GO_VERSION}"
    done = subprocess.run(["go", "mod", "download", "-json", module], check=True, capture_output=True, text=True)
    _copy_writable(Path(json.loads(done.stdout)["Dir"]), FRANZ_GO)
    subprocess.run(["nice", "go", "test", "-c", "-o", str(FRANZ_GO_TEST_BINARY), "./pkg/kgo"], cwd=FRANZ_GO, check=True)


def install_franz_go_client() -> None:
    """A small program of ours on franz-go, for the client tests."""
    if _franz_go_client_present():
        return
    _require("go", "franz-go needs Go 1.26 or newer (go.dev, or Debian's golang)")
    FRANZ_GO_CLIENT.parent.mkdir(parents=True, exist_ok=True)
    build = ["nice", "go", "build", "-o", str(FRANZ_GO_CLIENT), "."]
    subprocess.run(build, cwd=FRANZ_GO_CLIENT_SOURCE, check=True)


def _franz_go_client_present() -> bool:
    source = FRANZ_GO_CLIENT_SOURCE / "main.go"
    return FRANZ_GO_CLIENT.exists() and FRANZ_GO_CLIENT.stat().st_mtime >= source.stat().st_mtime


def install_franz_go_worker() -> None:
    """Transactional workers of the history checker on franz-go."""
    if _franz_go_worker_present():
        return
    _require("go", "franz-go needs Go 1.26 or newer (go.dev, or Debian's golang)")
    FRANZ_GO_WORKER.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["nice", "go", "build", "-o", str(FRANZ_GO_WORKER), "."], cwd=FRANZ_GO_WORKER_SOURCE, check=True)


def _franz_go_worker_present() -> bool:
    sources = FRANZ_GO_WORKER_SOURCE.glob("*.go")
    newest = max(source.stat().st_mtime for source in sources)
    return FRANZ_GO_WORKER.exists() and FRANZ_GO_WORKER.stat().st_mtime >= newest


def install_kafkajs() -> None:
    if _kafkajs_present():
        return
    _require("npm", "KafkaJS comes from npm (Debian: nodejs, npm)")
    KAFKAJS.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(KAFKAJS)]
    subprocess.run([*command, f"kafkajs@{KAFKAJS_VERSION}"], check=True)


def _kafkajs_present() -> bool:
    return shutil.which("node") is not None and (KAFKAJS / "node_modules" / "kafkajs").exists()


def install_schemaregistry_node() -> None:
    """Confluent's client and serializers of its schema registry for Node.js."""
    if _schemaregistry_node_present():
        return
    _require("npm", "@confluentinc/schemaregistry comes from npm (Debian: nodejs, npm)")
    SCHEMAREGISTRY_NODE.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(SCHEMAREGISTRY_NODE)]
    subprocess.run([*command, f"@confluentinc/schemaregistry@{SCHEMAREGISTRY_NODE_VERSION}"], check=True)


def _schemaregistry_node_present() -> bool:
    folder = SCHEMAREGISTRY_NODE / "node_modules" / "@confluentinc" / "schemaregistry"
    return shutil.which("node") is not None and folder.exists()


def install_kcat() -> None:
    if shutil.which("kcat") is None:
        _install_debian_packages(("kcat",))


def install_javac() -> None:
    if shutil.which("javac") is None:
        _install_debian_packages(("openjdk-17-jdk-headless",))


def _require(program: str, why: str) -> None:
    if shutil.which(program) is None:
        raise MissingPeer(f"`{program}` is not on this machine: {why}")


def _install_debian_packages(packages: tuple[str, ...]) -> None:
    """Install what is missing, as root on Debian; elsewhere say what is needed."""
    missing = [package for package in packages if not _debian_package_present(package)]
    if not missing:
        return
    names = " ".join(missing)
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise MissingPeer(f"install these packages first (Debian's names): {names}")
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    subprocess.run(["apt-get", "install", "-y", "-qq", *missing], check=True, env=environment)


def _debian_package_present(package: str) -> bool:
    if shutil.which("dpkg-query") is None:
        return False
    status = subprocess.run(["dpkg-query", "-W", "-f=${Status}", package], capture_output=True, text=True)
    return status.stdout == "install ok installed"


def _copy_writable(source: Path, target: Path) -> None:
    """Package caches are read-only; builds are not. A copy cut short is removed and made anew."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    for path in (target, *target.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer(
            "apache-kafka",
            lambda: apache_kafka.is_installed() and shutil.which("java") is not None,
            apache_kafka.install,
        ),
        Peer("javac", lambda: shutil.which("javac") is not None, install_javac),
        Peer("librdkafka", _librdkafka_present, install_librdkafka),
        Peer("kafka-python", lambda: (KAFKA_PYTHON / "test").exists(), install_kafka_python),
        Peer("franz-go", lambda: FRANZ_GO_TEST_BINARY.exists(), install_franz_go),
        Peer("franz-go-client", _franz_go_client_present, install_franz_go_client),
        Peer("franz-go-worker", _franz_go_worker_present, install_franz_go_worker),
        Peer("kafkajs", _kafkajs_present, install_kafkajs),
        Peer("schemaregistry-node", _schemaregistry_node_present, install_schemaregistry_node),
        Peer("kcat", lambda: shutil.which("kcat") is not None, install_kcat),
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.install", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PEERS)}; all by default")
    failed = False
    for name in parser.parse_args().names or PEERS:
        try:
            PEERS[name].install()
            print(f"{name}: installed", flush=True)
        except (MissingPeer, subprocess.CalledProcessError) as error:
            failed = True
            print(f"{name}: {error}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
