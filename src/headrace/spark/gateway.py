"""The Java process behind a session: started by us, not by PySpark's script, so that heap, flags and class path are ours.

It ends when its standard input closes, and the kernel closes that when this process ends, even by kill -9. Whatever Java prints
goes to a file. PySpark's own launcher asks for a module that a Java from PyPI does not have, and starts two Javas to start one.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.spark.runtime.errors import RuntimeUnavailable
from headrace.spark.runtime.installation import Installation

START_TIMEOUT_S = 120.0
_POLL_S = 0.01
_LAST_LINES = 15

# What Spark reaches into; its own launcher has the same list (JavaModuleOptions).
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
_MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
)
# Settings of other Spark installations on this machine, which would get in the way.
_FOREIGN = ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_LOCAL_DIRS", "SPARK_REMOTE")


@dataclass(frozen=True)
class Gateway:
    """A running Java that PySpark can connect to."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str

    def stop(self, timeout_s: float = 20.0) -> None:
        """Close its input, which ends it, and wait; kill it when it takes too long."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_gateway(
    installation: Installation,
    configuration: Mapping[str, str],
    java_options: Sequence[str],
    *,
    scratch: Path,
    output: Path,
) -> Gateway:
    """Start Java and wait until it says where to connect. `output` takes what it prints."""
    info = scratch / "connection"
    command = [
        str(installation.java.executable),
        *_MODULE_OPTIONS,
        *java_options,
        *("-cp", ":".join(map(str, installation.class_path))),
        *_main(configuration, scratch / "spark.properties"),
    ]
    with output.open("ab") as printed:
        process = subprocess.Popen(  # noqa: S603 (our own command line)
            command,
            stdin=subprocess.PIPE,
            stdout=printed,
            stderr=printed,
            env=_environment(installation, configuration, info),
            # Not in the terminal's foreground group: Ctrl-C is for Python, which stops Spark in its own order.
            process_group=0,
        )
    try:
        port, secret = _connection(process, info, output)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return Gateway(process, port, secret)


def _main(configuration: Mapping[str, str], properties: Path) -> list[str]:
    """On this machine Spark's Python gateway is enough, and PySpark hands it the configuration. For a cluster SparkSubmit first
    prepares what its manager wants. It reads a file, because everybody can read a command line, and settings may hold passwords.
    """
    if configuration["spark.master"].startswith("local"):
        return ["org.apache.spark.api.python.PythonGatewayServer"]
    properties.touch(mode=0o600)
    properties.write_text("".join(f"{name} = {_escaped(value)}\n" for name, value in configuration.items()))
    options = ["--properties-file", str(properties), "--load-spark-defaults"]
    return ["org.apache.spark.deploy.SparkSubmit", *options, "pyspark-shell"]


def _escaped(value: str) -> str:
    """The value as Java's properties files spell it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _environment(installation: Installation, configuration: Mapping[str, str], info: Path) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    environment |= {
        "SPARK_HOME": str(installation.spark.home),
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(info),
        # RocksDB and its threads would otherwise spread over an arena of the C library each.
        "MALLOC_ARENA_MAX": "2",
    }
    if configuration["spark.master"].startswith("local"):
        environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(_own_paths())}
    return environment


def _own_paths() -> list[str]:
    """Where this process finds modules beyond what its interpreter brings, so that Python workers find the same."""
    installed = tuple(str(Path(prefix)) + os.sep for prefix in (sys.prefix, sys.base_prefix))
    entries = [str(Path(entry).absolute()) for entry in sys.path]
    return [entry for entry in dict.fromkeys(entries) if not entry.startswith(installed)]


def _connection(process: subprocess.Popen[bytes], info: Path, output: Path) -> tuple[int, str]:
    """Wait for the file with port and secret, which Java renames into place when it is complete."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while not info.exists():
        if process.poll() is not None:
            raise _did_not_start(f"Java ended with code {process.returncode}", output)
        if time.monotonic() > deadline:
            raise _did_not_start(f"Java did not answer within {START_TIMEOUT_S:.0f} s", output)
        time.sleep(_POLL_S)
    data = info.read_bytes()
    info.unlink()
    port, length = struct.unpack_from(">ii", data)
    return port, data[8 : 8 + length].decode()


def _did_not_start(reason: str, output: Path) -> RuntimeUnavailable:
    lines = output.read_text(errors="replace").splitlines()[-_LAST_LINES:]
    return RuntimeUnavailable(
        f"Spark did not start: {reason}", f"See {output}; `headrace doctor` looks for causes", detail="\n".join(lines)
    )
