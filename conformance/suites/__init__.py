"""The suites of other projects, Kafka's own programs, and our comparison with Kafka; each module is one suite behind the same small face."""

from __future__ import annotations

from conformance.suites import differential, franz_go, kafka_python, librdkafka, programs
from conformance.suites.suite import Suite

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        librdkafka.LibrdkafkaSuite(),
        kafka_python.KafkaPythonSuite(),
        franz_go.FranzGoSuite(),
        programs.ProgramsSuite(),
        differential.DifferentialSuite(),
    )
}
