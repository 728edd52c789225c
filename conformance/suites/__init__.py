"""The suites of other projects, and our comparison with Kafka; each module is one suite behind the same small face."""

from __future__ import annotations

from conformance.suites import differential, franz_go, kafka_python, librdkafka
from conformance.suites.suite import Suite

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        librdkafka.LibrdkafkaSuite(),
        kafka_python.KafkaPythonSuite(),
        franz_go.FranzGoSuite(),
        differential.DifferentialSuite(),
    )
}
