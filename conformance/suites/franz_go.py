"""franz-go's own client tests (`pkg/kgo`), one process per test.

Most tests there need no broker. Those that do are found in the source: a test function that reaches `getSeedBrokers`
through any chain of functions of the test files. The verifiers of groups and of transactions run a second time, with more
records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from conformance import install
from conformance.apache_kafka import VERSION as KAFKA_VERSION
from conformance.results import Result
from conformance.suites.suite import Suite, run_to_end

TIMEOUT_S = 280.0
RECORDS = 20_000
LONG_TIMEOUT_S = 1200.0
LONG_RECORDS = 100_000
LONG = {f"{test} {LONG_RECORDS}": test for test in ("TestGroupETL", "TestTxnEtl")}


class FranzGoSuite(Suite):
    """Units are Go test names, and `TestTxnEtl 100000` for the long runs."""

    name = "franz-go"
    version = f"franz-go {install.FRANZ_GO_VERSION}, Apache Kafka {KAFKA_VERSION}, driver 1"
    jobs = 1

    def install(self) -> None:
        install.install_franz_go()

    def units(self) -> list[str]:
        return sorted([*_tests_with_broker(), *LONG])

    def settings(self, unit: str) -> Mapping[str, str]:
        return {"auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": "0"}

    def run(self, unit: str, bootstrap_servers: str, log_file: Path) -> Result:
        test = LONG.get(unit, unit)
        timeout = LONG_TIMEOUT_S if unit in LONG else TIMEOUT_S
        status, seconds, text = run_to_end(
            [
                str(install.FRANZ_GO_TEST_BINARY),
                "-test.v",
                "-test.run",
                f"^{test}$",
                f"-test.timeout={timeout - 20:.0f}s",
            ],
            cwd=install.FRANZ_GO / "pkg" / "kgo",
            environment={
                "KGO_SEEDS": bootstrap_servers,
                "KGO_TEST_RF": "1",
                "KGO_TEST_RECORDS": str(LONG_RECORDS if unit in LONG else RECORDS),
                "KGO_LOG_LEVEL": "none",
            },
            log_file=log_file,
            timeout=timeout,
        )
        if status is None:
            return Result(unit, "fail", seconds, f"not done after {timeout:.0f} s")
        if status != 0:
            why = re.findall(r"^\s+\w+_test\.go:\d+: (.*)|^(panic: .*)", text, flags=re.MULTILINE)
            return Result(unit, "fail", seconds, ("".join(why[0]) if why else f"exit status {status}")[:200])
        skipped = re.search(rf"^--- SKIP: {test}\b", text, flags=re.MULTILINE)
        reason = re.findall(r"_test\.go:\d+: (.*)", text) if skipped else []
        return Result(unit, "skip" if skipped else "pass", seconds, reason[-1][:200] if reason else "")


@cache
def _tests_with_broker() -> list[str]:
    bodies: dict[str, str] = {}
    for path in sorted((install.FRANZ_GO / "pkg" / "kgo").glob("*_test.go")):
        for match in re.finditer(
            r"^func (?:\([^)]*\) )?(\w+)\(.*?^}", path.read_text(), flags=re.MULTILINE | re.DOTALL
        ):
            bodies[match[1]] = bodies.get(match[1], "") + match[0]
    reach = {"getSeedBrokers"}
    while grown := {
        name for name, body in bodies.items() if name not in reach and reach & set(re.findall(r"\b(\w+)\(", body))
    }:
        reach |= grown
    return sorted(name for name in reach if name.startswith("Test"))
