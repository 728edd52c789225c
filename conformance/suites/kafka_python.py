"""kafka-python's integration tests, one process per test.

The sdist leaves out `test/service.py` and `test/__init__.py`; with an external broker only the class `ExternalService` of the
former is used, so `install` puts a small one of ours there. The SASL and TLS files start an Apache Kafka of their own and
cannot be pointed at another broker.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from conformance import install
from conformance.apache_kafka import VERSION as KAFKA_VERSION
from conformance.results import Result
from conformance.suites.suite import Suite, run_to_end

TIMEOUT_S = 150.0
FILES = ("test_admin_integration.py", "test_consumer_integration.py", "test_producer_integration.py")
SERVICE = '''\
"""Stands in for the file that the sdist leaves out; the broker is started elsewhere."""


class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    def close(self):
        pass


class SpawnedService:
    def __init__(self, *_):
        raise RuntimeError("these tests run against a broker that is there already")
'''
PYTEST = [
    sys.executable,
    "-m",
    "pytest",
    "-o",
    "log_level=ERROR",
    "-o",
    "addopts=",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:headrace",
]


class KafkaPythonSuite(Suite):
    """Units are `test_admin_integration.py::test_create_topics`."""

    name = "kafka-python"
    version = f"kafka-python {install.KAFKA_PYTHON_VERSION}, Apache Kafka {KAFKA_VERSION}, driver 1"
    jobs = 1  # two of its tests share a transactional id and a topic

    def install(self) -> None:
        install.install_kafka_python()
        (install.KAFKA_PYTHON / "test" / "service.py").write_text(SERVICE)
        (install.KAFKA_PYTHON / "test" / "__init__.py").touch()

    def units(self) -> list[str]:
        return _collected()

    def settings(self, unit: str) -> Mapping[str, str]:
        """As its own fixtures start Kafka: broker 0, four partitions, short sessions allowed."""
        return {
            "node.id": "0",
            "num.partitions": "4",
            "auto.create.topics.enable": "true",
            "group.min.session.timeout.ms": "1000",
            "group.initial.rebalance.delay.ms": "0",
        }

    def kafka_settings(self, unit: str) -> Mapping[str, str]:
        authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        return {
            **self.settings(unit),
            "authorizer.class.name": authorizer,
            "allow.everyone.if.no.acl.found": "true",
        }

    def run(self, unit: str, bootstrap_servers: str, log_file: Path) -> Result:
        timeout = ["--timeout", str(int(TIMEOUT_S - 10)), "--timeout-method=signal"]
        status, seconds, text = run_to_end(
            [*PYTEST, *timeout, "-rs", f"test/integration/{unit}"],
            cwd=install.KAFKA_PYTHON,
            environment=_environment(bootstrap_servers),
            log_file=log_file,
            timeout=TIMEOUT_S,
        )
        if status is None:
            return Result(unit, "fail", seconds, f"not done after {TIMEOUT_S:.0f} s")
        if status != 0:
            why = re.findall(r"^E\s+(\S.*)", text, flags=re.MULTILINE)
            return Result(unit, "fail", seconds, (why[-1] if why else f"exit status {status}")[:200])
        skipped = re.search(r"^SKIPPED \[\d+\] \S+ (.*)", text, flags=re.MULTILINE)
        return Result(unit, "skip" if skipped else "pass", seconds, skipped[1][:200] if skipped else "")


@cache
def _collected() -> list[str]:
    files = [f"test/integration/{file}" for file in FILES]
    done = subprocess.run(
        [*PYTEST, "--collect-only", "-q", *files],
        cwd=install.KAFKA_PYTHON,
        env=_environment("127.0.0.1:1"),
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.removeprefix("test/integration/") for line in done.stdout.splitlines() if "::" in line]


def _environment(bootstrap_servers: str) -> dict[str, str]:
    return {
        **os.environ,
        "KAFKA_URI": f"kafka://{bootstrap_servers}",
        "KAFKA_VERSION": KAFKA_VERSION,
        "KAFKA_ROOT": str(install.KAFKA_PYTHON),
    }
