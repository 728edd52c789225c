"""Apache Kafka's own programs, unchanged: those for system tests, a Kafka Streams application, a Kafka Connect worker.

Each unit is one of our tests in `tests/clients/`, which starts the programs, kills some, and compares what they did record by
record; here it is pointed at a broker that is there already.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from conformance import apache_kafka, install
from conformance.cache import PROJECT
from conformance.results import Result
from conformance.suites.suite import Suite, run_to_end

TIMEOUT_S = 480.0
UNITS = {
    "VerifiableProducer and VerifiableConsumer": "test_verifiable.py::test_consumers_come_and_go_while_a_producer_writes",
    "TransactionalMessageCopier, two in a group": "test_verifiable.py::test_copiers_of_one_group",
    "TransactionalMessageCopier, killed": "test_verifiable.py::test_a_killed_copier_starts_again",
    "Kafka Streams, killed": "test_kafka_streams.py::test_word_count",
    "Kafka Connect, killed": "test_connect.py::test_file_to_topic_to_file",
}


class ProgramsSuite(Suite):
    """Units are programs and what happens to them."""

    name = "programs"
    title = "Apache Kafka's programs"
    version = f"Apache Kafka {apache_kafka.VERSION}, driver 1"
    jobs = 1

    def install(self) -> None:
        apache_kafka.install()
        install.install_javac()

    def units(self) -> list[str]:
        return list(UNITS)

    def settings(self, unit: str) -> Mapping[str, str]:
        """Both brokers look often for what is to be aborted or compacted, so that nobody waits for it."""
        return {
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
            "log.cleaner.backoff.ms": "300",
            "group.initial.rebalance.delay.ms": "0",
        }

    def run(self, unit: str, bootstrap_servers: str, log_file: Path) -> Result:
        status, seconds, text = run_to_end(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/clients/{UNITS[unit]}"],
            cwd=PROJECT,
            environment={"HEADRACE_TESTS_ON": bootstrap_servers, "HEADRACE_REQUIRE_PEERS": "1"},
            log_file=log_file,
            timeout=TIMEOUT_S,
        )
        if status == 0:
            return Result(unit, "pass", seconds)
        why = re.findall(r"^E\s+(\S.*)", text, flags=re.MULTILINE)
        reason = why[0] if why else "not done in time" if status is None else f"exit status {status}"
        return Result(unit, "fail", seconds, reason[:200])
