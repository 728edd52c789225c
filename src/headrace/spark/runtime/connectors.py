"""The jars that PySpark lacks to speak Kafka: pinned here, fetched once through the Ivy that PySpark carries, checked by SHA-256.

They match no single Spark release, because no release from 4.1 on can be had whole from Maven Central; this set was run on PySpark
4.3.0. Everything else that they depend on is in PySpark already. Nothing is fetched when a session starts.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headrace.spark.runtime.cache import Progress, exclusive, folder, scratch, silent
from headrace.spark.runtime.distribution import Distribution
from headrace.spark.runtime.errors import RuntimeUnavailable
from headrace.spark.runtime.java import Java


@dataclass(frozen=True)
class Connector:
    organisation: str
    artifact: str
    revision: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.artifact}-{self.revision}.jar"


CONNECTORS = (
    Connector(
        "org.apache.spark",
        "spark-sql-kafka-0-10_2.13",
        "4.2.0",
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    ),
    Connector(
        "org.apache.spark",
        "spark-token-provider-kafka-0-10_2.13",
        "4.0.0",
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
    ),
    Connector(
        "org.apache.kafka",
        "kafka-clients",
        "3.9.2",
        "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    ),
    Connector(
        "org.apache.commons",
        "commons-pool2",
        "2.12.1",
        "5273c8bc8c0dca2211175c0d27efbd7228efae99689aac001a8e1ef8e872e9ef",
    ),
)


def directory() -> Path:
    return folder("connectors")


def missing(connectors: tuple[Connector, ...] = CONNECTORS) -> list[Connector]:
    """Those that are not in the cache. One whose hash is wrong is an error: it was whole when it was put there."""
    absent = []
    for connector in connectors:
        path = directory() / connector.file_name
        if not path.exists():
            absent.append(connector)
        else:
            _check(path, connector, f"Delete it and fetch it again: `rm '{path}' && headrace setup`")
    return absent


def provide_connectors(
    java: Java,
    spark: Distribution,
    progress: Progress = silent,
    connectors: tuple[Connector, ...] = CONNECTORS,
) -> tuple[Path, ...]:
    """The jars, from the cache if they are there, else from Maven Central."""
    if missing(connectors):
        with exclusive(directory(), progress):
            wanted = missing(connectors)
            if wanted:
                _fetch(java, spark, wanted, progress)
    return tuple(directory() / connector.file_name for connector in connectors)


def _fetch(java: Java, spark: Distribution, wanted: list[Connector], progress: Progress) -> None:
    with scratch(directory()) as made:
        (made / "ivy.xml").write_text(_ivy_module(wanted))
        _run_ivy(java, spark, made, len(wanted), progress)
        for connector in wanted:
            path = made / "jars" / connector.file_name
            if not path.exists():
                raise _not_fetched(f"{connector.file_name} did not come")
            again = "Try `headrace setup` again; if it stays so, the repository that answers is not Maven Central"
            _check(path, connector, again)
        for connector in wanted:
            (made / "jars" / connector.file_name).rename(directory() / connector.file_name)


def _ivy_module(wanted: list[Connector]) -> str:
    lines = [
        f'<dependency org="{one.organisation}" name="{one.artifact}" rev="{one.revision}" transitive="false" conf="default->master"/>'
        for one in wanted
    ]
    info = '<info organisation="headrace" module="connectors"/>'
    return f'<ivy-module version="2.0">{info}<dependencies>{"".join(lines)}</dependencies></ivy-module>'


def _run_ivy(java: Java, spark: Distribution, made: Path, count: int, progress: Progress) -> None:
    settings = os.environ.get("HEADRACE_IVY_SETTINGS")
    command = [
        str(java.executable),
        *java.network_options(),
        *("-cp", str(spark.jar("ivy-")), "org.apache.ivy.Main"),
        *(("-settings", settings) if settings else ()),
        *("-cache", str(made / "ivy"), "-ivy", str(made / "ivy.xml"), "-types", "jar", "bundle", "-notransitive"),
        *("-retrieve", str(made / "jars" / "[artifact]-[revision].[ext]")),
    ]
    progress(f"looking up {count} connector jars at Maven Central")
    said: list[str] = []

    def hear(line: str) -> None:
        said.append(line)
        name = re.match(r"downloading .*/([^/ ]+\.jar)", line)
        if name:
            progress(f"downloading {name[1]}")

    if _run(command, hear) != 0:
        raise _not_fetched(_reason(said))


def _run(command: list[str], hear: Callable[[str], None]) -> int:
    """Run a program, hand on each line that it prints, and return its exit code."""
    with subprocess.Popen(  # noqa: S603 (our own command line)
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                hear(line.rstrip())
            return process.wait()
        except BaseException:
            process.kill()
            raise


def _reason(said: list[str]) -> str:
    """The first line of Ivy's report that tells what went wrong."""
    for mark in ("Server access error", "UnknownHostException", "not found", "FAILED"):
        for line in said:
            if mark in line:
                return line.strip(" \t:")
    return said[-1].strip() if said else "Ivy said nothing"


def _not_fetched(reason: str) -> RuntimeUnavailable:
    names = ", ".join(one.file_name for one in CONNECTORS)
    return RuntimeUnavailable(
        "The Kafka connector for Spark could not be fetched from Maven Central",
        "With a network, `headrace setup` fetches it once and for all. Behind a mirror, name an Ivy settings file in HEADRACE_IVY_SETTINGS. "
        f"Without a network, copy these files from a machine that has them into {directory()}: {names}",
        detail=reason,
    )


def _check(path: Path, connector: Connector, next_step: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != connector.sha256:
        raise RuntimeUnavailable(
            f"{path.name} is not the file that it should be: its SHA-256 is {found[:16]}…, not {connector.sha256[:16]}…",
            next_step,
        )
