"""librdkafka's own broker tests, full mode, one process per test number.

One process each, because a test that hangs aborts the runner. Never the runner's quick mode: it returns early from most
subtests. Numbers of the scenario `noautocreate` run on a broker of their own. One number mixes what Headrace does not have
yet (ACLs and SCRAM) with what it has, so its subtests are units too: those count. Some numbers want three brokers only to
put their topics there; a preloaded shim gives them topics of one replica, on both brokers alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from conformance import install
from conformance.apache_kafka import LIBS as KAFKA_LIBS
from conformance.apache_kafka import VERSION as KAFKA_VERSION
from conformance.cache import PROJECT
from conformance.results import Result
from conformance.suites.suite import Suite, run_to_end

TIMEOUT_S = 200.0
# These count rebalances, so their consumers must meet in one generation: they want Kafka's own delay before the first one.
WITH_INITIAL_DELAY = ("0102", "0113")
SLOW_TIMEOUT_S = 900.0
# Starts a Java program for each of its many cases.
WITH_JAVA = ("0098",)
# These ask for three replicas, which nothing else in them rests on.
THREE_REPLICAS = ("0098", "0103", "0107 noautocreate", "0111 noautocreate")
SHIMS = PROJECT / "conformance" / "shims"
SETTINGS = {"auto.create.topics.enable": "true", "num.partitions": "4"}
# As librdkafka's own test cluster has it: an authorizer that allows whatever no ACL speaks of.
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:admin",
}
# By number, the parts of subtests' names that the runner is to match.
SUBTESTS = {
    "0081": (
        "do_test_unclean_destroy",
        "do_test_CreateTopics",
        "do_test_DeleteTopics",
        "do_test_CreatePartitions",
        "do_test_AlterConfigs",
        "do_test_IncrementalAlterConfigs",
        "do_test_DescribeConfigs",
        "do_test_DeleteRecords",
        "do_test_ListConsumerGroups",
        "do_test_DescribeConsumerGroups",
        "do_test_DescribeTopics",
        "do_test_DescribeCluster",
        "do_test_DeleteGroups",
        "do_test_DeleteConsumerGroupOffsets",
        "do_test_ListOffsets",
        "do_test_AlterConsumerGroupOffsets",
        "do_test_ListConsumerGroupOffsets",
    ),
}


class LibrdkafkaSuite(Suite):
    """Units are `0011`, `0107 noautocreate` (number and scenario) and `0081 do_test_ListOffsets` (number and subtest)."""

    name = "librdkafka"
    version = f"librdkafka {install.LIBRDKAFKA_VERSION}, Apache Kafka {KAFKA_VERSION}, driver 2"

    def install(self) -> None:
        install.install_librdkafka()
        install.install_one_replica()

    def units(self) -> list[str]:
        default, without_auto_create = declared_tests()
        units = [*default, *(f"{number} noautocreate" for number in without_auto_create)]
        return sorted(units + [f"{number} {subtest}" for number, subtests in SUBTESTS.items() for subtest in subtests])

    def settings(self, unit: str) -> Mapping[str, str]:
        auto_create = "false" if unit.endswith("noautocreate") else "true"
        delay_ms = "3000" if unit in WITH_INITIAL_DELAY else "0"
        return {**SETTINGS, "auto.create.topics.enable": auto_create, "group.initial.rebalance.delay.ms": delay_ms}

    def kafka_settings(self, unit: str) -> Mapping[str, str]:
        return {**self.settings(unit), **AUTHORIZER}

    def run(self, unit: str, bootstrap_servers: str, log_file: Path) -> Result:
        number, _, part = unit.partition(" ")
        # A file for each unit: the runner reads it again for every client, and another unit must not be writing it then.
        conf = log_file.with_suffix(".conf")
        conf.write_text(f"bootstrap.servers={bootstrap_servers}\n")
        environment = {
            "LD_LIBRARY_PATH": "../src:../src-cpp",
            "RDKAFKA_TEST_CONF": str(conf),
            "KAFKA_VERSION": KAFKA_VERSION,
            "BROKERS": bootstrap_servers,
            "KAFKA_PATH": str(SHIMS),
            "TESTS": number,
        }
        if part == "noautocreate":
            environment["TEST_SCENARIO"] = part
        elif part:
            environment["SUBTESTS"] = part
        if unit in THREE_REPLICAS:
            environment["LD_PRELOAD"] = str(install.ONE_REPLICA)
            environment["KAFKA_JARS"] = str(KAFKA_LIBS)
        timeout = SLOW_TIMEOUT_S if unit in (*WITH_INITIAL_DELAY, *WITH_JAVA) else TIMEOUT_S
        status, seconds, text = run_to_end(
            ["./test-runner", "-L", "-p1"],
            cwd=install.LIBRDKAFKA_TESTS,
            environment=environment,
            log_file=log_file,
            timeout=timeout,
        )
        outcome, reason = _judge(number, status, text)
        return Result(unit, outcome, seconds, reason)


def _judge(number: str, status: int | None, text: str) -> tuple[str, str]:
    if status is None:
        return "fail", "not done in time"
    if status != 0:
        why = re.findall(r'### Test "[^"]+" failed at .*?: ###\n(.*)', text)
        return "fail", (why[0] if why else f"exit status {status}")[:200]
    if re.search(rf"^\| {number}_\w+\s+\|\s+PASSED", text, flags=re.MULTILINE):
        return "pass", ""
    why = re.findall(rf"{number}_\w+\s*:? .*?(?:SKIPPING TEST|[Ss]kipp\w*):? ?(.*)", text)
    return "skip", (why[0] if why else "")[:200]


@cache
def declared_tests() -> tuple[list[str], list[str]]:
    """The numbers that touch a broker, read from the runner's own table: default scenario, and `noautocreate`."""
    source = re.sub(r"/\*.*?\*/", "", (install.LIBRDKAFKA_TESTS / "test.c").read_text(), flags=re.DOTALL)
    table = source[source.index("struct test tests[] = {") :]
    default: set[str] = set()
    without_auto_create: set[str] = set()
    for entry in re.split(r"\b_TEST\(", table)[1:]:
        match = re.match(r"(\d{4})_\w+\s*,\s*([A-Z0-9_| \n]+?)\s*[,)]", entry)
        if match is None or "LOCAL" in match[2] or "MANUAL" in match[2]:
            continue
        if '"noautocreate"' in entry:
            without_auto_create.add(match[1])
        else:
            default.add(match[1])
    return sorted(default), sorted(without_auto_create)
